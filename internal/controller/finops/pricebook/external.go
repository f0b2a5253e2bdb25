// Package pricebook keeps one PriceBook in force and OpenCost on its prices.
//
// Every book is validated by itself. Any reconcile of any book holds the
// election over all of them (package election decides it) and moves the slot
// where it belongs, in such a way that no two books hold it at once, whoever else
// is at work (see move). Only the reconcile of the winner goes on to OpenCost, so
// what OpenCost is told does not depend on which book was looked at last.
//
// What is outside of a book, in the sense of the managed reconciler, is the slot
// and OpenCost's pricing document: Observe compares, Update moves and writes.
// Nothing is ever created or deleted. A book that is deleted needs no finalizer:
// the event of its end makes the next winner reconcile.
package pricebook

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/frame"
)

// connector makes the external client of one reconcile.
type connector struct {
	client   client.Client // Writes; reads from the cache.
	live     client.Reader // Reads from the server.
	statuses *frame.Statuses
	settings Settings
	clock    clock.PassiveClock
	record   event.Recorder
	again    *frame.Again

	// wake makes a book reconcile now.
	wake func(ctx context.Context, b *v1alpha1.PriceBook)
}

// Connect returns a client for one reconcile of one book.
func (c *connector) Connect(context.Context, *v1alpha1.PriceBook) (managed.TypedExternalClient[*v1alpha1.PriceBook], error) {
	return &external{connector: c, cache: c.client}, nil
}

type external struct {
	*connector

	cache client.Reader
	next  plan
}

// A plan is what this reconcile has to do.
type plan struct {
	outcome

	push  push
	ready bool // The book's own rates can be read.
}

// Observe validates the book, holds the election and compares OpenCost's
// pricing document.
func (e *external) Observe(ctx context.Context, b *v1alpha1.PriceBook) (managed.ExternalObservation, error) {
	if meta.WasDeleted(b) {
		// Somebody else's finalizer holds it. It is no candidate any more, and
		// there is nothing of ours to delete.
		return managed.ExternalObservation{}, e.resign(ctx, b)
	}
	ready := e.validate(b)
	o, err := e.elect(ctx)
	if err != nil {
		return managed.ExternalObservation{}, errors.Wrap(err, "cannot elect the active price book")
	}
	e.next = plan{outcome: o, ready: ready}

	if o.won(b) && ready && rendered(b) {
		if e.next.push, err = e.compare(ctx, b); err != nil {
			return managed.ExternalObservation{}, err
		}
	}
	e.reportSlot(b)

	return managed.ExternalObservation{
		ResourceExists:   true,
		ResourceUpToDate: e.next.settled() && e.next.push.settled(),
	}, nil
}

// Create does nothing: the slot and the document are always there to be
// observed.
func (e *external) Create(context.Context, *v1alpha1.PriceBook) (managed.ExternalCreation, error) {
	return managed.ExternalCreation{}, nil
}

// retryInterval is when to look again at what has changed under a decision.
const retryInterval = 50 * time.Millisecond

// Update moves the slot, and then tells OpenCost.
func (e *external) Update(ctx context.Context, b *v1alpha1.PriceBook) (managed.ExternalUpdate, error) {
	err := e.move(ctx, b)
	if err == nil && e.next.won(b) && !e.next.push.settled() {
		err = e.confirm(ctx, b)
	}
	if stale(err) {
		// The election was held on an older state of the books. Look again, and
		// do not trouble the user with it.
		e.again.In(b, retryInterval)
		return managed.ExternalUpdate{}, nil
	}
	if err != nil {
		return managed.ExternalUpdate{}, err
	}

	wait, err := e.carryOut(ctx, b, e.next.push)
	if kerrors.IsConflict(err) || kerrors.IsAlreadyExists(err) {
		wait, err = retryInterval, nil // Somebody else has written the document.
	}
	if wait > 0 {
		e.again.In(b, wait)
	}
	if err == nil && wait == 0 {
		e.next.push = e.next.push.done()
	}
	if e.next.won(b) {
		reportWinner(b, e.next)
	}

	return managed.ExternalUpdate{}, err
}

// Delete does nothing; see Observe.
func (e *external) Delete(context.Context, *v1alpha1.PriceBook) (managed.ExternalDelete, error) {
	return managed.ExternalDelete{}, nil
}

// Disconnect does nothing: the client is shared.
func (e *external) Disconnect(context.Context) error { return nil }

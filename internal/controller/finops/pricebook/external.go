// Package pricebook keeps one PriceBook in force and OpenCost on its prices.
//
// Every book is validated by itself. Any reconcile of any book holds the
// election over all of them (package election decides it) and moves the slot
// where it belongs, the losers first, so that no two books hold it at once. Only
// the reconcile of the winner goes on to OpenCost, so what OpenCost is told does
// not depend on which book was looked at last.
//
// What is outside of a book, in the sense of the managed reconciler, is the slot
// and OpenCost's pricing document: Observe compares, Update moves and writes.
// Nothing is ever created or deleted. A book that is deleted needs no finalizer:
// the event of its end makes the next winner reconcile.
package pricebook

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/frame"
	"github.com/provider-finops/provider-finops/internal/controller/opencost"
)

// connector makes the external client of one reconcile.
type connector struct {
	client   client.Client // Writes; reads from the cache.
	live     client.Reader // Reads from the server.
	statuses *frame.Statuses
	opencost opencost.Installation
	clock    clock.PassiveClock
	record   event.Recorder

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

	push push
}

// Observe validates the book, holds the election and compares OpenCost's
// pricing document.
func (e *external) Observe(ctx context.Context, b *v1alpha1.PriceBook) (managed.ExternalObservation, error) {
	if meta.WasDeleted(b) {
		// Somebody else's finalizer holds it. It is no candidate any more, and
		// there is nothing of ours to delete.
		return managed.ExternalObservation{}, nil
	}
	ready := e.validate(b)

	o, err := e.elect(ctx)
	if err != nil {
		return managed.ExternalObservation{}, errors.Wrap(err, "cannot elect the active price book")
	}
	e.next = plan{outcome: o}

	if won := o.winner != nil && o.winner.UID == b.UID; won && ready && rendered(b) {
		if e.next.push, err = e.compare(ctx, b); err != nil {
			return managed.ExternalObservation{}, err
		}
	}
	reportSlot(b, e.next)

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

// Update moves the slot, losers first, and then tells OpenCost.
func (e *external) Update(ctx context.Context, b *v1alpha1.PriceBook) (managed.ExternalUpdate, error) {
	switch err := e.move(ctx, b); {
	case kerrors.IsConflict(err):
		// The election was held on an older state of a book. Look again, and
		// do not trouble the user with it.
		e.wake(ctx, b)
		return managed.ExternalUpdate{}, nil
	case err != nil:
		return managed.ExternalUpdate{}, err
	}
	if err := e.carryOut(ctx, b, e.next.push); err != nil {
		return managed.ExternalUpdate{}, err
	}
	reportPricing(b, e.next.push)

	return managed.ExternalUpdate{}, nil
}

// Delete does nothing; see Observe.
func (e *external) Delete(context.Context, *v1alpha1.PriceBook) (managed.ExternalDelete, error) {
	return managed.ExternalDelete{}, nil
}

// Disconnect does nothing: the client is shared.
func (e *external) Disconnect(context.Context) error { return nil }

// move brings the slot to where the election wants it.
func (e *external) move(ctx context.Context, b *v1alpha1.PriceBook) error {
	for _, loser := range e.next.demote {
		if err := e.demote(ctx, own(b, loser)); err != nil {
			return err
		}
	}
	if e.next.promote {
		if err := e.promote(ctx, own(b, e.next.winner)); err != nil {
			return err
		}
	}
	if w := e.next.winner; !e.next.settled() && w != nil && w.UID != b.UID {
		e.wake(ctx, w) // BETTER-PB-2: not only when its status comes back as an event.
	}

	return nil
}

// demote takes the slot from a book.
func (e *external) demote(ctx context.Context, b *v1alpha1.PriceBook) error {
	b.Status.Active = false
	b.Status.ActivePricing = nil
	b.Report(v1alpha1.Demoted(messageDemoted))
	if err := e.statuses.Keep(ctx, b); err != nil {
		return errors.Wrapf(err, "cannot demote price book %q", key(b))
	}
	e.record.Event(b, demoted())

	return nil
}

// promote gives it to a book. The others have lost it before.
func (e *external) promote(ctx context.Context, b *v1alpha1.PriceBook) error {
	b.Status.Active = true
	b.Report(v1alpha1.Activated(messageActivated(b)))
	if err := e.statuses.Keep(ctx, b); err != nil {
		return errors.Wrapf(err, "cannot promote price book %q", key(b))
	}
	switches.Inc()
	e.record.Event(b, activated())
	if e.next.annotated > 1 {
		e.record.Event(b, severalAnnotated(e.next.annotated))
	}

	return nil
}

// own returns the object of this reconcile if the listed one is the same, so
// that its status in memory follows the one that is stored.
func own(b, listed *v1alpha1.PriceBook) *v1alpha1.PriceBook {
	if listed.UID == b.UID {
		return b
	}

	return listed.DeepCopy()
}

func key(b *v1alpha1.PriceBook) string {
	return types.NamespacedName{Namespace: b.Namespace, Name: b.Name}.String()
}

// Package offering keeps Offerings: it tests what each one requires, publishes
// its price once, mirrors its versions into the database, and holds a deleted
// one for as long as something depends on it.
//
// What is outside of an Offering, in the sense of the managed reconciler, is its
// row in the mirror. Whether it can be sold, at which price, and whether it may
// go is decided by package offer. Everything decided is stored in Observe, by a
// write of its own: no later write of the runtime can be relied on.
package offering

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/frame"
	"github.com/provider-finops/provider-finops/internal/controller/mirror"
	"github.com/provider-finops/provider-finops/internal/finops/offer"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

// connector makes the external client of one reconcile.
type connector struct {
	cache    client.Reader // Reads from the cache.
	live     client.Reader // Reads from the server.
	guard    offer.Guard
	statuses *frame.Statuses
	mirror   *mirror.Mirror // Nil without a database.
	clock    clock.PassiveClock
	record   event.Recorder
}

// Connect returns a client for one reconcile of one Offering.
func (c *connector) Connect(context.Context, *v1alpha1.Offering) (managed.TypedExternalClient[*v1alpha1.Offering], error) {
	return &external{connector: c}, nil
}

type external struct {
	*connector

	// objection is what stands against the deletion.
	objection offer.Verdict
}

// Observe decides about the Offering, stores what was decided, and compares its
// row in the mirror.
func (e *external) Observe(ctx context.Context, o *v1alpha1.Offering) (managed.ExternalObservation, error) {
	if meta.WasDeleted(o) {
		return e.observeDeletion(ctx, o)
	}

	d := offer.Decide(gather(ctx, e.cache, o))
	if d.Publish != nil {
		// A published price stays, so what it is made of is read from the server.
		d = offer.Decide(gather(ctx, e.live, o))
	}
	before := o.DeepCopy()
	report(o, d, e.clock.Now())
	if err := e.statuses.Keep(ctx, o); err != nil {
		return managed.ExternalObservation{}, errors.Wrap(err, "cannot store what was decided about the Offering")
	}
	e.announce(before, o)
	if d.Retry != nil {
		return managed.ExternalObservation{}, errors.Wrap(d.Retry, "cannot read what decides about the Offering")
	}
	return e.compare(ctx, o)
}

// observeDeletion tests whether the Offering may go. It exists, for the
// runtime, until nothing depends on it and its row is closed.
func (e *external) observeDeletion(ctx context.Context, o *v1alpha1.Offering) (managed.ExternalObservation, error) {
	objection, err := Deletable(ctx, e.cache, e.live, ref.Key{Namespace: o.Namespace, Name: o.Name}, e.guard)
	if err != nil {
		objection = offer.Verdict{Reason: offer.ValidationError, Message: err.Error()}
	}
	e.objection = objection

	before := o.DeepCopy()
	reportDeletion(o, objection)
	if err := e.statuses.Keep(ctx, o); err != nil {
		return managed.ExternalObservation{}, errors.Wrap(err, "cannot store what was decided about the deleted Offering")
	}
	e.announce(before, o)
	if err != nil {
		return managed.ExternalObservation{}, errors.Wrap(err, "cannot read what depends on the Offering")
	}
	if !objection.Passes() {
		return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, nil
	}
	return e.compare(ctx, o)
}

// compare holds the Offering against its row in the mirror, from memory.
func (e *external) compare(ctx context.Context, o *v1alpha1.Offering) (managed.ExternalObservation, error) {
	if e.mirror == nil {
		open := !meta.WasDeleted(o)
		return managed.ExternalObservation{ResourceExists: open, ResourceUpToDate: open}, nil
	}
	v, err := version(o)
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	hash, err := v.Hash()
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	stored, ok, err := e.mirror.Offering(ctx, v.UID)
	if err != nil {
		return managed.ExternalObservation{}, errors.Wrap(err, "cannot tell what is mirrored of the Offering")
	}
	return managed.ExternalObservation{ResourceExists: ok, ResourceUpToDate: stored.Hash == hash}, nil
}

// Create mirrors the first version.
func (e *external) Create(ctx context.Context, o *v1alpha1.Offering) (managed.ExternalCreation, error) {
	return managed.ExternalCreation{}, e.store(ctx, o)
}

// Update mirrors a further version.
func (e *external) Update(ctx context.Context, o *v1alpha1.Offering) (managed.ExternalUpdate, error) {
	return managed.ExternalUpdate{}, e.store(ctx, o)
}

// Delete closes the row, unless something depends on the Offering: that is an
// error, so that the runtime says so and comes back.
func (e *external) Delete(ctx context.Context, o *v1alpha1.Offering) (managed.ExternalDelete, error) {
	if !e.objection.Passes() {
		return managed.ExternalDelete{}, errors.New(e.objection.Message)
	}
	if err := e.mirror.CloseOffering(ctx, string(o.GetUID())); err != nil {
		mirrorErrors.Inc()
		return managed.ExternalDelete{}, errors.Wrap(err, "cannot close the Offering in the mirror")
	}
	return managed.ExternalDelete{}, nil
}

// Disconnect does nothing: what a reconcile uses is shared.
func (e *external) Disconnect(context.Context) error { return nil }

func (e *external) store(ctx context.Context, o *v1alpha1.Offering) error {
	v, err := version(o)
	if err != nil {
		return err
	}
	if err := e.mirror.StoreOffering(ctx, v); err != nil {
		mirrorErrors.Inc()
		return errors.Wrap(err, "cannot mirror the Offering")
	}
	return nil
}

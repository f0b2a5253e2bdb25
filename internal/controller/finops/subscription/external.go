// Package subscription keeps Subscriptions: it tests the gates on every look,
// activates each one once, ends each one once, and mirrors its versions into the
// database.
//
// What is outside of a Subscription, in the sense of the managed reconciler, is
// its row in the mirror. Whether it is billed or has to end is decided by package
// gate, and stored in Observe, by a write of its own and on the resourceVersion
// that was decided on: no later write of the runtime can be relied on. A decision
// that cannot be taken back is made twice: on what the cache holds, and again on
// what the server itself says.
//
// A database that is away keeps nothing from being decided. A deleted
// Subscription is released by the charge collector; if there is none, and that is
// asked for, from here, by the same steps.
package subscription

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/controller/frame"
	"github.com/provider-finops/provider-finops/internal/controller/mirror"
	"github.com/provider-finops/provider-finops/internal/finops/gate"
)

// connector makes the external client of one reconcile.
type connector struct {
	cached   view // Reads from the cache.
	live     view // Reads from the server.
	targets  targets
	removed  *removed
	replaced *replaced
	evidence *evidence
	terms    *recordedTerms
	rules    gate.Rules
	statuses *frame.Statuses
	mirror   *mirror.Mirror // Nil without a database.
	clock    clock.PassiveClock
	record   event.Recorder
	said     once
	builtin  *builtin // Nil if it is switched off.
}

// Connect returns a client for one reconcile of one Subscription.
func (c *connector) Connect(context.Context, *v1alpha1.Subscription) (managed.TypedExternalClient[*v1alpha1.Subscription], error) {
	return &external{connector: c}, nil
}

type external struct {
	*connector

	// next is the version to be mirrored.
	next postgres.Subscription

	// retry says what could not be read.
	retry error
}

// Observe decides about the Subscription, stores what was decided, and compares
// its row in the mirror.
func (e *external) Observe(ctx context.Context, s *v1alpha1.Subscription) (managed.ExternalObservation, error) {
	before := s.DeepCopy()
	note := e.recall(ctx, s)
	in := e.gather(ctx, s, e.cached)
	d := gate.Decide(in)
	if d.Final() {
		in = e.gather(ctx, s, e.live)
		d = gate.Decide(in)
	}
	e.retry = errors.Wrap(d.Retry, "cannot read what decides about the Subscription")

	report(s, d)
	remark(s, note)
	if s.GetCondition(xpv2.TypeSynced).Reason == "" && d.Retry == nil && e.mirror.Usable() {
		// The first look will very likely succeed. To say so now saves every new
		// Subscription a write; a failure is written as such.
		s.SetConditions(xpv2.ReconcileSuccess())
	}
	if err := e.statuses.Keep(ctx, s); err != nil {
		return managed.ExternalObservation{}, errors.Wrap(err, "cannot store what was decided about the Subscription")
	}
	e.announce(ctx, before, s, d, in.Unserved)
	e.announceTerms(before, s, in)
	e.replaced.set(member(s), d.Replaced)
	e.builtin.consider(s)

	o, err := e.compare(ctx, s, d)
	if err == nil && o.ResourceUpToDate {
		err = e.retry // Otherwise the mirror comes first, and the error after it.
	}
	if err == nil && meta.WasDeleted(s) && !o.ResourceExists {
		err = e.settleSynced(ctx, s)
	}
	return o, err
}

// settleSynced takes back what an attempt that failed has said of a deleted
// Subscription: after the last one the runtime writes no status any more.
func (e *external) settleSynced(ctx context.Context, s *v1alpha1.Subscription) error {
	if s.GetCondition(xpv2.TypeSynced).Status != corev1.ConditionFalse {
		return nil
	}
	s.SetConditions(xpv2.ReconcileSuccess())
	return errors.Wrap(e.statuses.Keep(ctx, s), "cannot store that the Subscription is synced")
}

// compare holds the Subscription against its row in the mirror, from memory. A
// deleted one is gone, for the runtime, as soon as its end is mirrored.
func (e *external) compare(ctx context.Context, s *v1alpha1.Subscription, d gate.Decision) (managed.ExternalObservation, error) {
	if e.mirror == nil {
		open := !meta.WasDeleted(s)
		return managed.ExternalObservation{ResourceExists: open, ResourceUpToDate: open}, nil
	}
	stored, ok, err := e.mirror.Subscription(ctx, string(s.UID))
	if err != nil {
		return managed.ExternalObservation{}, errors.Wrap(err, "cannot tell what is mirrored of the Subscription")
	}
	if e.next, err = e.version(ctx, s, d, stored); err != nil {
		return managed.ExternalObservation{}, err
	}
	hash, err := e.next.Hash()
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	current := ok && stored.Hash == hash
	if meta.WasDeleted(s) {
		if !current && len(s.Finalizers) > 1 {
			// The runtime waits until the others' finalizers are gone. The end is
			// not to wait: charges read it from the mirror.
			return managed.ExternalObservation{ResourceExists: true}, e.store(ctx)
		}
		return managed.ExternalObservation{ResourceExists: !current, ResourceUpToDate: current}, nil
	}
	return managed.ExternalObservation{ResourceExists: ok, ResourceUpToDate: current}, nil
}

// Create mirrors the first version.
func (e *external) Create(ctx context.Context, _ *v1alpha1.Subscription) (managed.ExternalCreation, error) {
	return managed.ExternalCreation{}, e.store(ctx)
}

// Update mirrors a further version.
func (e *external) Update(ctx context.Context, _ *v1alpha1.Subscription) (managed.ExternalUpdate, error) {
	return managed.ExternalUpdate{}, e.store(ctx)
}

// Delete mirrors the end. The object stays until the charge collector has
// settled it.
func (e *external) Delete(ctx context.Context, _ *v1alpha1.Subscription) (managed.ExternalDelete, error) {
	return managed.ExternalDelete{}, e.store(ctx)
}

// Disconnect does nothing: what a reconcile uses is shared.
func (e *external) Disconnect(context.Context) error { return nil }

func (e *external) store(ctx context.Context) error {
	if err := e.mirror.StoreSubscription(ctx, e.next); err != nil {
		mirrorErrors.Inc()
		return errors.Wrap(err, "cannot mirror the Subscription")
	}
	if !e.tellsItsLife(ctx, e.next.UID) {
		return errors.New("the database knows more of the life of the Subscription than its object does: it is told at the next look")
	}
	return e.retry
}

package subscription

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/finops/family"
	"github.com/provider-finops/provider-finops/internal/finops/gate"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
	"github.com/provider-finops/provider-finops/internal/objects"
)

// gather reads everything that decides about a Subscription, and then the clock:
// a large family may take seconds, and what ends now does not end in an hour that
// was over, and charged for good, meanwhile.
func (e *external) gather(ctx context.Context, s *v1alpha1.Subscription, from view) gate.Input {
	in := e.read(ctx, s, from)
	in.Now = e.clock.Now()
	return in
}

// read reads everything. A read that failed becomes part of the input as such: it
// does not keep the rest from deciding.
func (e *external) read(ctx context.Context, s *v1alpha1.Subscription, from view) gate.Input {
	in := gate.Input{Self: self(s), Rules: e.rules}
	reads := in.Self.Target != nil && gate.TargetPermitted(in).Passes()
	if in.Self.Deleting || in.Self.DeactivatedAt != nil || !reads {
		e.targets.watches.release(ctx, s.UID)
	}
	if in.Self.Deleting {
		in.NoCollector = noCollector(ctx, from)
		in.Unserved = e.builtin.unserved(ctx, s, in.NoCollector)
		return in
	}
	if in.Self.DeactivatedAt != nil {
		return in // It is not tested any more.
	}

	in.Offering = readOffering(ctx, from, s.Spec.OfferingRef)
	in.Recorded = e.recorded(ctx, s, in.Offering)
	in.Parent = readParent(ctx, from, in.Self)
	in.ParentLoop = parentLoop(ctx, from, in)
	if in.Self.Root == "" {
		in.Root = e.readRoot(ctx, from, in.Self)
	}
	in.Family = e.readFamily(ctx, from, in)
	if reads {
		in.Target = e.targets.read(ctx, s, in.Self)
	}
	return in
}

// self is the Subscription as the gates see it.
func self(s *v1alpha1.Subscription) gate.Subscription {
	g := gate.Subscription{
		UID:      string(s.UID),
		Key:      ref.Key{Namespace: s.Namespace, Name: s.Name},
		Offering: key(s.Spec.OfferingRef),
		Deleting: s.DeletionTimestamp != nil,
		Root:     s.Status.CompatibilityRoot,
	}
	if s.Spec.Parent != nil {
		parent := key(s.Spec.Parent.SubscriptionRef)
		g.Parent = &parent
	}
	if l := s.Spec.Lifecycle; l != nil {
		policy := gate.Policy(l.OnParentDeactivate)
		g.OnParentEnd = &policy
		g.Target = Target(l.TargetRef)
	}
	g.TargetGate = gate.TargetGate(s.Annotations[v1alpha1.AnnotationTargetGate])
	if at := s.Status.ActivatedAt; at != nil {
		g.ActivatedAt = &at.Time
	}
	if at := s.Status.DeactivatedAt; at != nil {
		g.DeactivatedAt = &at.Time
	}
	g.ChargedTo = objects.ChargedTo(s)
	g.SoldAt = objects.SoldAt(s)
	return g
}

// Target is a target reference as the gates see it.
func Target(r *v1alpha1.TargetReference) *gate.Target {
	if r == nil {
		return nil
	}
	return &gate.Target{APIVersion: r.APIVersion, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

// member is a Subscription as its family sees it.
func member(s *v1alpha1.Subscription) family.Member { return self(s).Member() }

func key(r v1alpha1.ObjectReference) ref.Key { return ref.Key{Namespace: r.Namespace, Name: r.Name} }

// get reads one object. False means that the server, or the cache, says that it
// does not exist. A reference without namespace reads nothing: older releases
// may have stored one, and it is never filled in (OPEN-API-1).
func get(ctx context.Context, from client.Reader, field string, k ref.Key, into client.Object) (bool, error) {
	if k.Namespace == "" {
		return false, errors.Errorf("%s %q has no namespace", field, k.Name)
	}
	err := from.Get(ctx, client.ObjectKey{Namespace: k.Namespace, Name: k.Name}, into)
	if isGone(err) {
		return false, nil
	}
	return err == nil, errors.Wrapf(err, "cannot read %s %s", field, k)
}

func readParent(ctx context.Context, from client.Reader, self gate.Subscription) gate.Read[gate.Parent] {
	if self.Parent == nil || *self.Parent == self.Key {
		return gate.Read[gate.Parent]{} // Nobody asks.
	}
	p := &v1alpha1.Subscription{}
	ok, err := get(ctx, from, "parent", *self.Parent, p)
	switch {
	case err != nil:
		return gate.Failed[gate.Parent](err)
	case !ok:
		return gate.Gone[gate.Parent]()
	}
	return gate.Found(gate.Parent{Ready: p.Status.Ready == "True", Deactivated: p.Status.DeactivatedAt != nil})
}

// noCollector tells whether it is certain that nothing in the cluster releases
// deleted Subscriptions.
func noCollector(ctx context.Context, from client.Reader) bool {
	jobs := &v1alpha1.CostJobList{}
	if err := from.List(ctx, jobs); err != nil {
		return false
	}
	for i := range jobs.Items {
		if objects.CollectsCharges(&jobs.Items[i]) {
			return false
		}
	}
	return true
}

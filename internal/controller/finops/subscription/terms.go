package subscription

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/gate"
)

func readOffering(ctx context.Context, from client.Reader, r v1alpha1.ObjectReference) gate.Read[gate.Offering] {
	o := &v1alpha1.Offering{}
	ok, err := get(ctx, from, "offeringRef", key(r), o)
	switch {
	case err != nil:
		return gate.Failed[gate.Offering](err)
	case !ok:
		return gate.Gone[gate.Offering]()
	}
	text, err := json.Marshal(o.Spec)
	if err != nil {
		return gate.Failed[gate.Offering](errors.Wrapf(err, "cannot encode the spec of offering %s", key(r)))
	}
	return gate.Found(gate.Offering{
		UID:       string(o.UID),
		CreatedAt: o.CreationTimestamp.Time,
		Ready:     o.Status.Ready == "True",
		SoldTo:    soldTo(o),
		Metered:   len(o.Spec.Pricing.ResourcePricing) > 0,
		SpecHash:  string(text),
		Terms:     terms(o.Spec),
	})
}

// soldTo are the namespaces that an Offering is sold to, nil if to all
// (BETTER-SEC-3). An annotation that names nobody sells to nobody.
func soldTo(o *v1alpha1.Offering) []string {
	list, ok := o.Annotations[v1alpha1.AnnotationAllowedNamespaces]
	if !ok {
		return nil
	}
	names := strings.Split(list, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}

// terms are what an Offering says about the life of its Subscriptions.
func terms(spec v1alpha1.OfferingSpec) gate.Terms {
	var t gate.Terms
	if spec.Compatibility != nil {
		for _, r := range spec.Compatibility.RequiredOfferings {
			t.Requires = append(t.Requires, key(r))
		}
	}
	if spec.Lifecycle != nil {
		policy := gate.Policy(spec.Lifecycle.OnParentDeactivate)
		t.OnParentEnd = &policy
		t.ForbidsOverride = spec.Lifecycle.AllowOverride != nil && !*spec.Lifecycle.AllowOverride
	}
	return t
}

// recorded are the terms that an active Subscription was recorded with. As long
// as the Offering is the one that was recorded they are its own, and nothing is
// read for them.
func (e *external) recorded(ctx context.Context, s *v1alpha1.Subscription, current gate.Read[gate.Offering]) gate.Read[gate.Recorded] {
	if e.mirror == nil || s.Status.ActivatedAt == nil {
		return gate.Gone[gate.Recorded]()
	}
	stored, ok, err := e.mirror.Subscription(ctx, string(s.UID))
	if err != nil {
		return gate.Failed[gate.Recorded](err)
	}
	if !ok || stored.OfferingUID == "" {
		return gate.Gone[gate.Recorded]()
	}
	if o, err := current.Get(); err == nil && o != nil && o.UID == stored.OfferingUID {
		return gate.Found(gate.Recorded{OfferingUID: o.UID, SpecHash: o.SpecHash, Terms: o.Terms, Active: stored.ActivatedAt != nil})
	}
	terms, err := e.terms.of(ctx, stored.OfferingUID).Get()
	switch {
	case err != nil:
		return gate.Failed[gate.Recorded](err)
	case terms == nil:
		return gate.Gone[gate.Recorded]()
	}
	terms.Active = stored.ActivatedAt != nil
	return gate.Found(*terms)
}

// recordedTerms remembers the terms of Offerings that are gone or have lost
// their name. A spec never changes, so what was read once stays true.
type recordedTerms struct {
	load func(context.Context, postgres.OfferingKey) (postgres.RecordedOffering, bool, error)

	mu    sync.Mutex
	known map[string]gate.Recorded
}

func (r *recordedTerms) of(ctx context.Context, uid string) gate.Read[gate.Recorded] {
	if t, ok := r.remembered(uid); ok {
		return gate.Found(t)
	}

	row, ok, err := r.load(ctx, postgres.OfferingKey{UID: uid})
	if err != nil {
		return gate.Failed[gate.Recorded](errors.Wrap(err, "cannot read the recorded terms"))
	}
	if !ok {
		return gate.Gone[gate.Recorded]()
	}
	var spec v1alpha1.OfferingSpec
	if err := json.Unmarshal(row.Spec, &spec); err != nil {
		return gate.Failed[gate.Recorded](errors.Wrapf(err, "cannot decode the recorded terms of offering %q", uid))
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return gate.Failed[gate.Recorded](errors.Wrapf(err, "cannot encode the recorded terms of offering %q", uid))
	}
	t := gate.Recorded{OfferingUID: uid, SpecHash: string(text), Terms: terms(spec)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known[uid] = t
	return gate.Found(t)
}

func (r *recordedTerms) remembered(uid string) (gate.Recorded, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, ok := r.known[uid]
	return t, ok
}

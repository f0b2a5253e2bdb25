package charge

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/charge"
	"github.com/provider-finops/provider-finops/internal/finops/money"
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
	"github.com/provider-finops/provider-finops/internal/finops/tick"
)

// An offering is terms that Subscriptions are charged on, from the object or
// from what was recorded of it.
type offering struct {
	uid       string
	versionID int64 // Zero while no mirror row is known.
	spec      v1alpha1.OfferingSpec
	terms     charge.Terms
	err       error // The terms cannot be used.
}

func newOffering(uid string, spec v1alpha1.OfferingSpec) *offering {
	o := &offering{uid: uid, spec: spec}
	o.terms, o.err = termsOf(spec.Pricing)
	return o
}

// termsOf translates the pricing of an Offering.
func termsOf(p v1alpha1.Pricing) (charge.Terms, error) {
	var fee *tick.Terms
	if f := p.SubscriptionFee; f != nil {
		var minPeriods int64
		if f.MinPeriods != nil {
			minPeriods = int64(*f.MinPeriods)
		}
		terms, err := tick.ParseTerms(tick.Alignment(f.TickAlignment), f.Period, money.Micros(f.PriceMicros), minPeriods)
		if err != nil {
			return charge.Terms{}, err
		}
		fee = &terms
	}
	var meters []charge.Meter
	for _, m := range p.ResourcePricing {
		meter := charge.Meter{Name: pricing.Meter(m.Name)}
		if m.Margins != nil {
			meter.Margin = money.Margin{AbsoluteMicros: m.Margins.AbsoluteMicros, FactorMilli: m.Margins.FactorMilli}
		}
		meters = append(meters, meter)
	}
	return charge.NewTerms(fee, meters)
}

// resolve finds the terms and the versions of everybody who is billed. Whose
// terms cannot be told has that recorded against it, and is neither charged nor
// let go.
func (r *run) resolve(ctx context.Context, w world) error {
	var billed []*subject
	for _, s := range w.subjects {
		if s.billed() {
			billed = append(billed, s)
		}
	}
	uids := make([]string, len(billed))
	for i, s := range billed {
		uids[i] = s.uid
	}
	newest, err := postgres.NewestSubscriptions(ctx, r.pool, r.ClusterID, uids)
	if err != nil {
		return err
	}
	recorded := make(map[string]postgres.RecordedSubscription, len(newest))
	for _, n := range newest {
		recorded[n.UID] = n
	}

	catalogue, err := r.catalogue(ctx, w, billed, recorded)
	if err != nil {
		return err
	}
	for _, s := range billed {
		r.bind(s, catalogue.termsFor(s, recorded[s.uid].OfferingUID))
	}
	return r.versions(ctx, w, billed, recorded)
}

// bind applies terms to a Subscription.
func (r *run) bind(s *subject, o *offering) {
	switch {
	case o == nil:
		s.fail(fmt.Errorf("cannot find offering %q, nor a record of it", s.offering))
	case o.err != nil:
		s.fail(fmt.Errorf("cannot use the terms of offering %q: %w", s.offering, o.err))
	default:
		bill := charge.NewBill(o.terms, s.life, len(s.sources) > 0)
		s.bill, s.offeringVersionID = &bill, o.versionID
	}
}

// A catalogue holds every Offering that may be charged on.
type catalogue struct {
	current map[ref.Key]*offering
	byUID   map[string]*offering
	byName  map[ref.Key]*offering // What was recorded last under a name that is gone.
	log     func(s *subject, message string)
}

// catalogue puts together the Offerings as they are and the recorded ones that
// somebody needs: those that are gone, and those whose name another one took. A
// current Offering without a row in the mirror gets one.
func (r *run) catalogue(ctx context.Context, w world, billed []*subject, recorded map[string]postgres.RecordedSubscription) (catalogue, error) {
	c := catalogue{
		current: make(map[ref.Key]*offering, len(w.offerings)),
		byUID:   map[string]*offering{},
		byName:  map[ref.Key]*offering{},
		log: func(s *subject, message string) {
			r.log.Info(message, "subscription", s.key, "offering", s.offering.String())
		},
	}
	wanted := map[postgres.OfferingKey]bool{}
	for _, s := range billed {
		was := recorded[s.uid].OfferingUID
		if o, exists := w.offerings[s.offering]; exists {
			wanted[postgres.OfferingKey{UID: string(o.UID)}] = true
			if c.current[s.offering] == nil {
				c.current[s.offering] = newOffering(string(o.UID), o.Spec)
			}
		}
		switch {
		case was != "":
			wanted[postgres.OfferingKey{UID: was}] = true
		case w.offerings[s.offering] == nil:
			wanted[postgres.OfferingKey{Namespace: s.offering.Namespace, Name: s.offering.Name}] = true
		}
	}
	keys := make([]postgres.OfferingKey, 0, len(wanted))
	for k := range wanted {
		keys = append(keys, k)
	}
	rows, err := postgres.RecordedOfferings(ctx, r.pool, r.ClusterID, keys...)
	if err != nil {
		return catalogue{}, err
	}
	for _, row := range rows { // In the order of ids, so the newest under a name stays.
		o := recordedOffering(row)
		c.byUID[row.UID] = o
		c.byName[ref.Key{Namespace: row.Namespace, Name: row.Name}] = o
	}
	return c, r.mirrorOfferings(ctx, w, c)
}

// recordedOffering reads an Offering from the mirror.
func recordedOffering(row postgres.RecordedOffering) *offering {
	var spec v1alpha1.OfferingSpec
	if err := json.Unmarshal(row.Spec, &spec); err != nil {
		return &offering{uid: row.UID, versionID: row.ID, err: fmt.Errorf("cannot read the recorded terms: %w", err)}
	}
	o := newOffering(row.UID, spec)
	o.versionID = row.ID
	return o
}

// mirrorOfferings gives every current Offering the id of its newest mirror row,
// whatever that says, and a row to those that have none.
func (r *run) mirrorOfferings(ctx context.Context, w world, c catalogue) error {
	var missing []postgres.Offering
	for key, o := range c.current {
		if row := c.byUID[o.uid]; row != nil {
			o.versionID = row.versionID
			continue
		}
		object := w.offerings[key]
		spec, err := json.Marshal(object.Spec)
		if err != nil {
			return fmt.Errorf("cannot encode offering %q: %w", key, err)
		}
		v := postgres.Offering{Object: postgres.Object{
			Namespace: key.Namespace, Name: key.Name, UID: o.uid, Generation: object.Generation,
			Spec: spec, Labels: object.Labels, Annotations: object.Annotations,
		}}
		if p := object.Status.ResolvedPricing; p != nil {
			if v.ResolvedPricing, err = json.Marshal(p); err != nil {
				return fmt.Errorf("cannot encode the price of offering %q: %w", key, err)
			}
		}
		missing = append(missing, v)
	}
	stored, err := postgres.StoreMissingOfferings(ctx, r.pool, r.ClusterID, r.now, missing...)
	if err != nil {
		return err
	}
	ids := make(map[string]int64, len(stored))
	for _, v := range stored {
		ids[v.UID] = v.ID
	}
	for _, o := range c.current {
		if o.versionID == 0 {
			o.versionID = ids[o.uid]
		}
	}
	return nil
}

// termsFor gives the terms a Subscription is charged on. They are those of its
// Offering as it is, unless another one with other terms has taken the name
// (BETTER-OFF-5). Of an Offering that is gone the record stands (BETTER-SUB-5).
// Nil means that there is neither.
func (c catalogue) termsFor(s *subject, recordedUID string) *offering {
	current, record := c.current[s.offering], c.byUID[recordedUID]
	switch {
	case current == nil && record == nil && recordedUID == "":
		record = c.byName[s.offering]
		fallthrough
	case current == nil:
		if record != nil {
			c.log(s, "using recorded offering terms")
		}
		return record
	case record == nil || record.uid == current.uid || equality.Semantic.DeepEqual(record.spec, current.spec):
		return current
	default:
		c.log(s, "offering was replaced; recorded terms apply")
		return record
	}
}

// versions finds the mirror row that the charges of each Subscription name. Only
// one without any row gets one here, and all of them in one statement (design
// R7): what makes a version the controller knows better.
func (r *run) versions(ctx context.Context, w world, billed []*subject, recorded map[string]postgres.RecordedSubscription) error {
	missing := map[string]*subject{}
	for _, s := range billed {
		if s.versionID = recorded[s.uid].ID; s.versionID == 0 {
			missing[s.uid] = s
		}
	}
	if len(missing) == 0 {
		return nil
	}

	var versions []postgres.Subscription
	var failed error
	err := pages(ctx, r, func(list *v1alpha1.SubscriptionList) {
		for i := range list.Items {
			o := &list.Items[i]
			if missing[string(o.UID)] == nil {
				continue
			}
			spec, err := json.Marshal(o.Spec)
			if err != nil {
				failed = fmt.Errorf("cannot encode subscription \"%s/%s\": %w", o.Namespace, o.Name, err)
				return
			}
			var offeringUID string
			if current := w.offerings[ref.Key{Namespace: o.Spec.OfferingRef.Namespace, Name: o.Spec.OfferingRef.Name}]; current != nil {
				offeringUID = string(current.UID)
			}
			versions = append(versions, version(o, spec, offeringUID))
		}
	})
	if err != nil {
		return fmt.Errorf("cannot list Subscriptions: %w", err)
	}
	if failed != nil {
		return failed
	}
	stored, err := postgres.StoreMissingSubscriptions(ctx, r.pool, r.ClusterID, r.now, versions...)
	if err != nil {
		return err
	}
	for _, v := range stored {
		if s := missing[v.UID]; s != nil {
			s.versionID = v.ID
		}
	}
	for _, s := range missing {
		if s.versionID == 0 {
			s.fail(fmt.Errorf("subscription %q is gone since the run began", s.key))
		}
	}
	return nil
}

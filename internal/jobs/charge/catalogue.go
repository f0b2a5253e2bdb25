package charge

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/gate"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
	"github.com/provider-finops/provider-finops/internal/jobs/inputs"
)

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
func (r *run) catalogue(ctx context.Context, w world, billed []*subject, recorded map[string]record) (catalogue, error) {
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
		was := recorded[s.uid].offeringUID
		if o, exists := w.offerings[s.offering]; exists {
			wanted[postgres.OfferingKey{UID: string(o.UID)}] = true
			if c.current[s.offering] == nil {
				c.current[s.offering] = newOffering(string(o.UID), o.Spec)
				c.current[s.offering].created = o.CreationTimestamp.Time
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
	spec, err := inputs.RecordedSpec(row)
	if err != nil {
		return &offering{uid: row.UID, versionID: row.ID, err: err}
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
func (c catalogue) termsFor(s *subject, newest record) *offering {
	current, recorded := c.current[s.offering], c.byUID[newest.offeringUID]
	switch {
	case current == nil && recorded == nil && newest.offeringUID == "":
		recorded = c.byName[s.offering]
		fallthrough
	case current == nil:
		if recorded != nil {
			c.log(s, "using recorded offering terms")
		}
		return recorded
	case recorded == nil || recorded.uid == current.uid || equality.Semantic.DeepEqual(recorded.spec, current.spec):
		return current
	case gate.OvertakenBySale(newest.active, current.created, s.soldAt):
		return current
	default:
		c.log(s, "offering was replaced; recorded terms apply")
		return recorded
	}
}

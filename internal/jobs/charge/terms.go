package charge

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/charge"
	"github.com/provider-finops/provider-finops/internal/jobs/inputs"
)

// An offering is terms that Subscriptions are charged on, from the object or
// from what was recorded of it.
type offering struct {
	uid       string
	created   time.Time
	versionID int64 // Zero while no mirror row is known.
	spec      v1alpha1.OfferingSpec
	terms     charge.Terms
	err       error // The terms cannot be used.
}

func newOffering(uid string, spec v1alpha1.OfferingSpec) *offering {
	o := &offering{uid: uid, spec: spec}
	o.terms, o.err = inputs.Terms(spec.Pricing)
	return o
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
	recorded, err := r.records(ctx, w.subjects)
	if err != nil {
		return err
	}
	// Who was let go, and is kept by somebody else's finalizer, is settled. Rows of
	// hours that go on would be left open when it goes at last.
	billed = slices.DeleteFunc(billed, func(s *subject) bool { return s.leaving && recorded[s.uid].gone })
	catalogue, err := r.catalogue(ctx, w, billed, recorded)
	if err != nil {
		return err
	}
	for _, s := range billed {
		r.bind(s, catalogue.termsFor(s, recorded[s.uid]))
	}
	for _, s := range w.subjects {
		if !s.billed() && recorded[s.uid].active {
			billed = append(billed, s) // To be looked at once more.
		}
	}
	return r.versions(ctx, billed, recorded)
}

// A record is what a run has to know of the newest mirror row of a Subscription.
type record struct {
	versionID   int64
	offeringUID string // Empty if it was recorded before its Offering was known.
	active      bool   // It was recorded after it had been activated.
	current     bool   // It says what the Subscription is charged by.
	gone        bool   // It was settled and let go.

	// differs is what it tells of a life, and the object does not: that was restored
	// from an earlier copy.
	differs string
}

// records reads the newest mirror rows, by uid. Who has none is not in it.
func (r *run) records(ctx context.Context, subjects []*subject) (map[string]record, error) {
	uids := make([]string, len(subjects))
	byUID := make(map[string]*subject, len(subjects))
	for i, s := range subjects {
		uids[i], byUID[s.uid] = s.uid, s
	}
	recorded := make(map[string]record, len(subjects))
	err := postgres.NewestSubscriptions(ctx, r.pool, r.ClusterID, uids, func(newest postgres.RecordedSubscription) {
		if s := byUID[newest.UID]; s != nil {
			if s.recall(newest) {
				r.log.Info("a Subscription tells another life than is recorded, which stands", "subscription", s.key)
			}
			recorded[s.uid] = record{
				versionID: newest.ID, offeringUID: newest.OfferingUID, active: newest.ActivatedAt != nil, current: s.isRecorded(newest),
				gone: newest.Gone, differs: s.knownOtherwise(newest),
			}
		}
	})
	return recorded, err
}

// bind applies terms to a Subscription.
func (r *run) bind(s *subject, o *offering) {
	switch {
	case o == nil:
		s.fail(fmt.Errorf("cannot find offering %q, nor a record of it", s.offering))
	case o.err != nil:
		s.fail(fmt.Errorf("cannot use the terms of offering %q: %w", s.offering, o.err))
	default:
		bill := charge.NewBill(o.terms, s.life, s.sources.some())
		s.bill, s.offeringUID, s.offeringVersionID = &bill, o.uid, o.versionID
	}
}

// versions finds the mirror row that the charges of each Subscription name. One
// without any row gets one here, and so does one that is charged by what its
// newest row does not say: the controller may not have come to it yet, and an
// audit reads nothing else. All of them in one statement (design R7); what else
// makes a version the controller knows better.
func (r *run) versions(ctx context.Context, billed []*subject, recorded map[string]record) error {
	behind := map[string]*subject{}
	for _, s := range billed {
		newest := recorded[s.uid]
		if s.versionID = newest.versionID; !newest.current {
			behind[s.uid] = s
		}
	}
	if len(behind) == 0 {
		return nil
	}

	if err := r.record(ctx, behind, recorded); err != nil {
		return err
	}
	for _, s := range behind {
		if s.versionID == 0 {
			s.overtaken = true // It is gone by now.
		}
	}
	return nil
}

// record adds the rows of Subscriptions in one statement. What the database refuses
// of one of them would keep everybody from being charged, so their halves are tried
// then: nobody is left out but whose fault it is.
func (r *run) record(ctx context.Context, behind map[string]*subject, recorded map[string]record) error {
	err := pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error {
		versions := r.versionsOf(ctx, behind, recorded)
		return postgres.AddMissingSubscriptions(ctx, tx, r.ClusterID, r.now, versions, func(uid string, id int64) {
			if s := behind[uid]; s != nil {
				s.versionID = id
			}
		})
	})
	if !postgres.IsRefusedData(err) {
		return err
	}
	if len(behind) == 1 {
		for _, s := range behind {
			s.fail(err)
		}
		return nil
	}
	for uids := range slices.Chunk(slices.Sorted(maps.Keys(behind)), (len(behind)+1)/2) {
		half := make(map[string]*subject, len(uids))
		for _, uid := range uids {
			half[uid] = behind[uid]
		}
		if err := r.record(ctx, half, recorded); err != nil {
			return err
		}
	}
	return nil
}

// versionsOf reads the objects once more, a page at a time.
func (r *run) versionsOf(ctx context.Context, wanted map[string]*subject, recorded map[string]record) iter.Seq2[postgres.Subscription, error] {
	return func(yield func(postgres.Subscription, error) bool) {
		for o, err := range r.subscriptions(ctx) {
			if err != nil {
				yield(postgres.Subscription{}, fmt.Errorf("cannot list Subscriptions: %w", err))
				return
			}
			s := wanted[string(o.UID)]
			if s == nil {
				continue
			}
			if !s.isChargedAs(o) {
				s.overtaken = true
				continue
			}
			if known := recorded[s.uid].differs; known != "" {
				s.fail(fmt.Errorf("subscription %q was restored from an earlier copy: %s, as the database knows; the controller will say so on the object", s.key, known))
				continue
			}
			spec, err := json.Marshal(o.Spec)
			if err != nil {
				yield(postgres.Subscription{}, fmt.Errorf("cannot encode subscription \"%s/%s\": %w", o.Namespace, o.Name, err))
				return
			}
			if !yield(version(o, spec, s.life, s.offeringUID), nil) {
				return
			}
		}
	}
}

package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/charge"
	"github.com/provider-finops/provider-finops/internal/finops/hour"
	"github.com/provider-finops/provider-finops/internal/finops/tick"
	"github.com/provider-finops/provider-finops/internal/jobs/inputs"
)

// A tenure is a part of a Subscription's life in which its charges name the same
// versions, so that they come from the same sources and terms.
type tenure struct {
	uid, name  string
	first, end time.Time // The hours it speaks for, end not included.

	versionID, offeringVersionID int64 // Zero if there is none.

	life  tick.Life
	bill  charge.Bill
	usage int // Its place among the metered ones, or negative.

	// settled is the end of the hours that the watermark vouches for. Final rows
	// beyond it were closed out: a fee, and nothing else.
	settled time.Time

	// overtaken says, once it was asked for, whether the watermark has advanced
	// since.
	asked, overtaken bool
}

// tenures are read in the order of uid and hour. There are a few of them for
// every Subscription, however long it was charged.
func tenures(ctx context.Context, db postgres.DB, clusterID, uid string, hours postgres.Hours) ([]*tenure, error) {
	subjects, err := postgres.AuditSubjects(ctx, db, clusterID, uid)
	if err != nil {
		return nil, err
	}
	changes, err := postgres.VersionChanges(ctx, db, clusterID, uid, hours)
	if err != nil {
		return nil, err
	}

	var all []*tenure
	for _, s := range subjects {
		own := 0
		for own < len(changes) && changes[own].UID == s.UID {
			own++
		}
		all = append(all, tenuresOf(s, changes[:own], hours)...)
		changes = changes[own:]
	}
	if len(changes) > 0 {
		return nil, fmt.Errorf("cannot find subscription uid %q, which has charges", changes[0].UID)
	}
	return all, bind(ctx, db, clusterID, all)
}

// tenuresOf cuts the life of a Subscription at the hours from which on its
// charges name other versions. Hours without any row belong to the rows before
// them, those before the first row to that, and without any row at all what was
// recorded last is assumed. One that was never recorded has a single tenure, in
// which nothing is expected.
func tenuresOf(s postgres.AuditSubject, changes []postgres.VersionChange, hours postgres.Hours) []*tenure {
	if s.VersionID == 0 {
		return []*tenure{{uid: s.UID, name: "unrecorded", first: hours.First, end: hours.End, usage: -1}}
	}
	if len(changes) == 0 {
		changes = []postgres.VersionChange{{SubscriptionVersionID: s.VersionID, OfferingVersionID: s.OfferingVersionID}}
	}
	var settled time.Time
	if s.FinalizedThrough != nil {
		settled = s.FinalizedThrough.Add(hour.Length)
	}

	parts := make([]*tenure, len(changes))
	for i, c := range changes {
		t := &tenure{
			uid: s.UID, name: s.Namespace + "/" + s.Name, first: c.FirstWindow, end: hours.End,
			versionID: c.SubscriptionVersionID, offeringVersionID: c.OfferingVersionID, settled: settled, usage: -1,
		}
		if s.ActivatedAt != nil {
			t.life.ActivatedAt = s.ActivatedAt.UTC()
		}
		if s.DeactivatedAt != nil {
			t.life.DeactivatedAt = s.DeactivatedAt.UTC()
		}
		if i == 0 {
			t.first = hours.First
		} else {
			parts[i-1].end = t.first
		}
		parts[i] = t
	}
	return parts
}

// bind gives every tenure the terms of its versions. Whether they have any source is
// all that is kept of those: a cluster may have millions, and the usage is selected
// where they are recorded.
func bind(ctx context.Context, db postgres.DB, clusterID string, all []*tenure) error {
	subscriptions, offerings := make([]int64, 0, len(all)), make([]int64, 0, len(all))
	for _, t := range all {
		subscriptions = append(subscriptions, t.versionID)
		offerings = append(offerings, t.offeringVersionID)
	}

	some := map[int64]bool{}
	err := eachSources(ctx, db, clusterID, subscriptions, func(id int64, sources []charge.Source) { some[id] = len(sources) > 0 })
	if err != nil {
		return err
	}

	slices.Sort(offerings)
	versions, err := postgres.OfferingVersions(ctx, db, clusterID, slices.Compact(offerings))
	if err != nil {
		return err
	}
	terms := make(map[int64]charge.Terms, len(versions))
	for _, v := range versions {
		if terms[v.ID], err = inputs.RecordedTerms(v); err != nil {
			return fmt.Errorf("cannot use version %d of offering \"%s/%s\": %w", v.ID, v.Namespace, v.Name, err)
		}
	}
	place := 0
	for _, t := range all {
		t.bill = charge.NewBill(terms[t.offeringVersionID], t.life, some[t.versionID])
		if t.bill.Metered() {
			t.usage = place
			place++
		}
	}
	return nil
}

// eachSources calls each with the usage sources of every version asked for, one
// after another.
func eachSources(ctx context.Context, db postgres.DB, clusterID string, versions []int64, each func(id int64, sources []charge.Source)) error {
	return postgres.SubscriptionSources(ctx, db, clusterID, versions, func(id int64, text []byte) error {
		var given []v1alpha1.UsageSource
		if err := json.Unmarshal(text, &given); err != nil {
			return fmt.Errorf("cannot read the usage sources of version %d: %w", id, err)
		}
		each(id, inputs.Sources(given))
		return nil
	})
}

// windows are the hours of a batch that have to hold the rows the bill asks for.
func (t *tenure) windows(hours postgres.Hours) charge.Windows {
	if t.life.ActivatedAt.IsZero() {
		return charge.Windows{}
	}
	return t.bill.Windows(charge.Run{Hour: t.settled, SettledBefore: t.settled}, time.Time{}).
		Within(t.first, t.end).Within(hours.First, hours.End)
}

// overtaken reports whether the rows of an hour were made final while others were
// compared, so that what is known of the Subscription may be older than they are.
// They lie beyond its watermark as it was, and were not closed out.
func (v *verification) overtaken(ctx context.Context, t *tenure, window time.Time, rows []postgres.RecordedCharge) (bool, error) {
	if window.Before(t.settled) {
		return false, nil
	}
	late := false
	for _, row := range rows {
		details, err := detailsOf(row)
		if err != nil {
			return false, err
		}
		late = late || !details.CloseOut
	}
	if !late {
		return false, nil
	}
	if !t.asked {
		watermarks, err := postgres.Watermarks(ctx, v.pool, v.ClusterID, []string{t.uid})
		if err != nil {
			return false, err
		}
		through, some := watermarks[t.uid]
		t.asked, t.overtaken = true, some && !through.Before(t.settled)
	}
	return t.overtaken, nil
}

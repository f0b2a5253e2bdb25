package charge

import (
	"context"
	"fmt"
	"time"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/charge"
	"github.com/provider-finops/provider-finops/internal/finops/hour"
)

// maxCatchUpYears is how far back hours are written. An activation that lies
// further back was not written by any controller.
const maxCatchUpYears = 50

// plan finds out which hours are left to write for whom, and makes the months
// they lie in.
func (r *run) plan(ctx context.Context) error {
	var uids []string
	for _, s := range r.world.subjects {
		if s.served() {
			uids = append(uids, s.uid)
		}
	}
	watermarks, err := postgres.Watermarks(ctx, r.pool, r.ClusterID, uids)
	if err != nil {
		return err
	}

	oldest := r.pinned.Hour
	limit := oldest.AddDate(-maxCatchUpYears, 0, 0)
	for _, s := range r.world.subjects {
		if !s.served() {
			continue
		}
		s.windows = s.bill.Windows(r.pinned, watermarks[s.uid])
		s.departing = s.deleting && charge.Departing.Hold(s.departure(r.pinned)) == charge.Hold{}
		if s.windows.Count() > 0 && s.windows.First.Before(limit) {
			s.fail(fmt.Errorf("cannot catch up with hour %s: that is more than %d years", s.windows.First.Format(time.RFC3339), maxCatchUpYears))
			continue
		}
		if s.windows.Count() > 0 && s.windows.First.Before(oldest) {
			oldest = s.windows.First
		}
	}
	_, err = postgres.EnsureMonths(ctx, r.pool, oldest, r.pinned.Hour.Add(hour.Length))
	return err
}

// A pass is what a batch of hours writes.
type pass struct {
	hours postgres.Hours
	final bool // It may make hours final.

	// windows are the hours of a Subscription that the pass writes.
	windows func(*subject) charge.Windows

	// rows computes one of them.
	rows func(*subject, time.Time, []charge.Usage) ([]charge.Row, error)
}

// closed is a pass over closed hours.
func (r *run) closed(hours postgres.Hours) pass {
	return pass{
		hours:   hours,
		final:   true,
		windows: func(s *subject) charge.Windows { return s.windows.Within(hours.First, hours.End) },
		rows: func(s *subject, window time.Time, usage []charge.Usage) ([]charge.Row, error) {
			return s.bill.Closed(r.pinned, window, usage, r.books, r.world.feeCurrency)
		},
	}
}

// current is the pass over the hour in progress. One that the run lets go has
// ended before it, and nobody would be there to finish its row.
func (r *run) current() pass {
	hours := postgres.Hours{First: r.pinned.Hour, End: r.pinned.Hour.Add(hour.Length)}
	return pass{
		hours: hours,
		windows: func(s *subject) charge.Windows {
			if !s.windows.Current || s.departing {
				return charge.Windows{First: hours.End, End: hours.End}
			}
			return charge.Windows{First: hours.First, End: hours.End}
		},
		rows: func(s *subject, _ time.Time, usage []charge.Usage) ([]charge.Row, error) {
			return s.bill.Current(r.pinned, usage, r.books, r.world.feeCurrency)
		},
	}
}

package charge

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/charge"
	"github.com/provider-finops/provider-finops/internal/finops/hour"
)

// closeOut finds the deleted Subscriptions that may go, writes what nobody will
// be there to write once they are gone, and returns them. Everybody else is
// held, which is no error: the next run asks again.
func (r *run) closeOut(ctx context.Context) []*subject {
	var leaving []*subject
	rows := map[*subject][]charge.Row{}
	for _, s := range r.world.subjects {
		if !s.deleting {
			continue
		}
		if hold := charge.Departing.Hold(s.departure(r.pinned)); hold != (charge.Hold{}) {
			r.log.Info(hold.Reason, "subscription", s.key, "gate", hold.Gate)
			continue
		}
		if s.bill != nil {
			last, err := s.bill.CloseOut(r.pinned, r.world.feeCurrency)
			if err == nil {
				err = s.bill.Plausible(last, len(last), r.MaxAmount)
			}
			if err != nil {
				s.refuse(err)
				continue
			}
			rows[s] = last
		}
		leaving = append(leaving, s)
	}

	if err := r.writeCloseOut(ctx, leaving, rows); err != nil {
		for _, s := range leaving {
			s.fail(fmt.Errorf("cannot close out: %w", err))
		}
		return nil
	}
	return leaving
}

// forever is when no hour has begun yet.
var forever = time.Date(9999, time.January, 1, 0, 0, 0, 0, time.UTC)

// writeCloseOut stores the last rows of all who leave, in one transaction, and
// clears away what is open after their ends: a row of an hour that was in progress
// when an earlier run could not let them go yet.
func (r *run) writeCloseOut(ctx context.Context, leaving []*subject, rows map[*subject][]charge.Row) error {
	if len(rows) == 0 {
		return nil // Nobody of them was ever billed.
	}
	hours, months := spanOf(rows)
	for _, month := range months { // They may lie years apart, and ahead.
		if _, err := postgres.EnsureMonths(ctx, r.pool, month, month); err != nil {
			return err
		}
	}

	writer, err := r.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("cannot connect to write charges: %w", err)
	}
	defer writer.Release()

	return pgx.BeginFunc(ctx, writer, func(tx pgx.Tx) error {
		if err := postgres.PrepareCharges(ctx, tx); err != nil {
			return err
		}
		if _, err := postgres.StageCharges(ctx, tx, lastCharges(leaving, rows)); err != nil {
			return err
		}
		if err := postgres.StageWindows(ctx, tx, endings(leaving)); err != nil {
			return err
		}
		deleted, err := postgres.DeleteVanishedCharges(ctx, tx, r.ClusterID, postgres.Hours{First: earliestEnding(leaving), End: forever})
		if err != nil {
			return err
		}
		written, err := postgres.MergeCharges(ctx, tx, r.ClusterID, hours, r.now)
		r.written += written
		r.deleted += deleted
		return err
	})
}

// endings say that nothing is open from the ends of lives on.
func endings(leaving []*subject) iter.Seq[postgres.ChargedWindow] {
	return func(yield func(postgres.ChargedWindow) bool) {
		for _, s := range leaving {
			if s.bill == nil {
				continue
			}
			if !yield(postgres.ChargedWindow{SubscriptionUID: s.uid, First: hour.Of(s.life.DeactivatedAt)}) {
				return
			}
		}
	}
}

func earliestEnding(leaving []*subject) time.Time {
	first := forever
	for _, s := range leaving {
		if ended := hour.Of(s.life.DeactivatedAt); s.bill != nil && ended.Before(first) {
			first = ended
		}
	}
	return first
}

func lastCharges(leaving []*subject, rows map[*subject][]charge.Row) iter.Seq2[postgres.Charge, error] {
	return func(yield func(postgres.Charge, error) bool) {
		for _, s := range leaving {
			for _, row := range rows[s] {
				c, err := s.charge(row)
				if !yield(c, err) || err != nil {
					return
				}
			}
		}
	}
}

// spanOf is the span of hours of some rows, and the months they lie in.
func spanOf(rows map[*subject][]charge.Row) (postgres.Hours, []time.Time) {
	var hours postgres.Hours
	var months []time.Time
	for _, of := range rows {
		for _, row := range of {
			if hours.First.IsZero() || row.Window.Before(hours.First) {
				hours.First = row.Window
			}
			if end := row.Window.Add(hour.Length); end.After(hours.End) {
				hours.End = end
			}
			month, _ := charge.Month.Span(row.Window)
			if !slices.Contains(months, month) {
				months = append(months, month)
			}
		}
	}
	slices.SortFunc(months, time.Time.Compare)
	return hours, months
}

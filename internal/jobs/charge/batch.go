package charge

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/charge"
	"github.com/provider-finops/provider-finops/internal/finops/hour"
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
)

// batchHours is how many closed hours one transaction holds at most. It is below
// the 168 of OPEN-CJ-18, so that a run that is cut off keeps most of its work.
const batchHours = 24

// charge writes the closed hours, oldest first, and then the hour in progress.
// What goes wrong with a batch is recorded against everybody in it; the others
// go on.
func (r *run) charge(ctx context.Context) error {
	desk, err := r.openDesk(ctx)
	if err != nil {
		return err
	}
	defer desk.close(ctx)

	for _, p := range append(r.closedPasses(), r.current()) {
		if err := desk.settle(ctx, p); err != nil {
			r.fail(p, err)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("cannot go on charging: %w", context.Cause(ctx))
		}
	}
	return nil
}

// closedPasses cuts the closed hours into batches, leaving out those in which
// nobody has any.
func (r *run) closedPasses() []pass {
	first := r.pinned.Hour
	for _, s := range r.world.subjects {
		if s.served() && s.windows.Count() > 0 && s.windows.First.Before(first) {
			first = s.windows.First
		}
	}
	var passes []pass
	for ; first.Before(r.pinned.Hour); first = first.Add(batchHours * hour.Length) {
		end := first.Add(batchHours * hour.Length)
		if end.After(r.pinned.Hour) {
			end = r.pinned.Hour
		}
		p := r.closed(postgres.Hours{First: first, End: end})
		for _, s := range r.world.subjects {
			if s.served() && p.windows(s).Count() > 0 {
				passes = append(passes, p)
				break
			}
		}
	}
	return passes
}

// fail records an error of a batch against everybody who has an hour in it.
func (r *run) fail(p pass, err error) {
	for _, s := range r.world.subjects {
		if s.served() && p.windows(s).Count() > 0 {
			s.fail(err)
		}
	}
}

// settle writes one batch, in one transaction. Hours that nobody has a row in
// take the short way into the table; the lock of the run keeps them so.
func (d *desk) settle(ctx context.Context, p pass) error {
	var written, deleted int64
	d.tally.hours = map[time.Time]charge.Claims{}
	err := pgx.BeginFunc(ctx, d.writer, func(tx pgx.Tx) error {
		known, err := postgres.HasCharges(ctx, tx, d.ClusterID, p.hours)
		if err != nil {
			return err
		}
		if known {
			written, deleted, err = d.merge(ctx, tx, p)
		} else {
			written, err = postgres.AddCharges(ctx, tx, d.ClusterID, d.now, d.charges(ctx, p))
		}
		if err != nil || !p.final {
			return err
		}
		if err := d.storeTally(ctx, tx); err != nil {
			return err
		}
		return d.advance(ctx, tx, p, known)
	})
	if err != nil {
		return fmt.Errorf("cannot settle the hours from %s to %s: %w", p.hours.First.Format(time.RFC3339), p.hours.End.Format(time.RFC3339), err)
	}
	d.written += written
	d.deleted += deleted
	d.tally.close()
	return nil
}

// merge brings the batch together with the rows that stand.
func (d *desk) merge(ctx context.Context, tx pgx.Tx, p pass) (written, deleted int64, err error) {
	if _, err = postgres.StageCharges(ctx, tx, d.charges(ctx, p)); err != nil {
		return 0, 0, err
	}
	if err = postgres.StageWindows(ctx, tx, d.charged(p)); err != nil {
		return 0, 0, err
	}
	if err = postgres.ExpectMany(ctx, tx); err != nil {
		return 0, 0, err
	}
	if deleted, err = postgres.DeleteVanishedCharges(ctx, tx, d.ClusterID, p.hours); err != nil {
		return 0, 0, err
	}
	written, err = postgres.MergeCharges(ctx, tx, d.ClusterID, p.hours, d.now)
	return written, deleted, err
}

// advance raises the watermarks to what the batch has made final.
func (d *desk) advance(ctx context.Context, tx pgx.Tx, p pass, staged bool) error {
	if !staged {
		if err := postgres.StageWindows(ctx, tx, d.charged(p)); err != nil {
			return err
		}
	}
	return postgres.AdvanceWatermarks(ctx, tx, d.ClusterID, d.now)
}

// charges computes the rows of a batch, Subscription by Subscription, while the
// usage they need arrives in the same order. A Subscription with a row that
// cannot be computed, or is not believed, has none in the batch.
func (d *desk) charges(ctx context.Context, p pass) iter.Seq2[postgres.Charge, error] {
	return func(yield func(postgres.Charge, error) bool) {
		usage := d.usage(ctx, p)
		defer usage.Close()

		meter := 0 // The place of the Subscription among the metered ones.
		for _, s := range d.world.subjects {
			place := -1
			if meter < len(d.metered) && d.metered[meter] == s {
				place = meter
				meter++
			}
			if !s.served() {
				continue
			}
			rows, err := d.rowsOf(s, p, func(window time.Time) []charge.Usage { return usage.Take(place, window) })
			if err := usage.Err(); err != nil {
				yield(postgres.Charge{}, err)
				return
			}
			if err != nil {
				s.refuse(err)
				continue
			}
			for _, row := range rows {
				c, err := s.charge(row)
				if !yield(c, err) || err != nil {
					return
				}
			}
		}
	}
}

// rowsOf computes the rows of one Subscription in a batch. They are good until it
// is asked for the next one's.
func (d *desk) rowsOf(s *subject, p pass, usage func(time.Time) []charge.Usage) ([]charge.Row, error) {
	all := d.rows[:0]
	var failed error
	windows := p.windows(s)
	windows.Each(func(window time.Time) bool {
		measured := usage(window)
		d.noteUnrated(s, p, window, measured)
		rows, err := p.rows(s, window, measured)
		all, failed = append(all, rows...), err
		return err == nil
	})
	d.rows = all
	if failed != nil {
		return nil, failed
	}
	return all, s.bill.Plausible(all, windows.Count(), d.MaxAmount)
}

// charged says what the batch speaks for: the hours of everybody who was not
// left out, and how far they are final now.
func (d *desk) charged(p pass) iter.Seq[postgres.ChargedWindow] {
	return func(yield func(postgres.ChargedWindow) bool) {
		for _, s := range d.world.subjects {
			if !s.served() || !s.windows.First.Before(p.hours.End) {
				continue
			}
			w := postgres.ChargedWindow{SubscriptionUID: s.uid, First: s.windows.First}
			if through, some := s.bill.FinalThrough(d.pinned, p.windows(s)); some {
				w.FinalizedThrough = through
			}
			if !yield(w) {
				return
			}
		}
	}
}

// charge is a row as the database stores it.
func (s *subject) charge(row charge.Row) (postgres.Charge, error) {
	c := postgres.Charge{
		SubscriptionUID:       s.uid,
		WindowStart:           row.Window,
		Source:                string(row.Source),
		AmountMicros:          int64(row.Amount),
		QuantityCoefficient:   charge.DecimalQuantity(row.Quantity),
		QuantityDigits:        charge.QuantityDigits,
		Currency:              row.Currency,
		Finalized:             row.Finalized,
		OfferingVersionID:     s.offeringVersionID,
		SubscriptionVersionID: s.versionID,
		PricebookID:           row.BookID,
	}
	if row.Source == pricing.MeterSubscription {
		c.QuantityCoefficient, c.QuantityDigits = row.Quantity.Num(), 0 // Ticks are whole.
	}
	if row.UnitPrice != nil {
		price := int64(*row.UnitPrice)
		c.UnitPriceMicros = &price
	}
	if row.Details.IsZero() {
		return c, nil
	}
	details, err := json.Marshal(row.Details)
	if err != nil {
		return postgres.Charge{}, fmt.Errorf("cannot encode the details of a charge: %w", err)
	}
	c.Details = details
	return c, nil
}

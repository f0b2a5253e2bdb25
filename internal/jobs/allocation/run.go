package allocation

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/collection"
)

// progressEvery is after how many hours of a long catch-up the log says how far
// it has come.
const progressEvery = 12

// A run is one pass over the hours that are due. It holds the lock.
type run struct {
	*Job

	pool    *pgxpool.Pool
	scope   postgres.Scope
	costJob *v1alpha1.CostJob
	book    *postgres.PriceBookRow // Nil while no book is known: rows are priced later.
	pinned  time.Time
	now     time.Time // When the run began; the one reading of the clock.

	ledger collection.Ledger
	done   tally

	filterIgnored sync.Once // Said in the log.
}

// A tally is what a run did, in numbers.
type tally struct {
	hours, rows, added, removed, finalized, late int64
	corrections                                  collection.Corrections
	failed                                       []failedHour
}

type failedHour struct {
	hour time.Time
	err  error
}

// do collects the hours that are due, oldest first, and settles what is left
// over. An error ends the run; an hour that fails does not.
func (r *run) do(ctx context.Context) error {
	plan, err := r.gather(ctx)
	if err != nil {
		return err
	}

	fetcher := r.fetch(ctx, slices.Concat(plan.CatchUp, plan.Window))
	defer fetcher.close()

	// Catch-up hours are committed one by one, so that a long catch-up that is
	// cut off keeps what it has (BETTER-CJ-8).
	for n := range plan.CatchUp {
		if err := r.collect(ctx, fetcher, 1); err != nil {
			return err
		}
		if n++; n%progressEvery == 0 {
			r.Log.Info("Catching up", "hours", n, "of", len(plan.CatchUp), "rows", r.done.rows, "failed", len(r.done.failed))
		}
	}
	// The documented window is one transaction with a savepoint per hour.
	if err := r.collect(ctx, fetcher, len(plan.Window)); err != nil {
		return err
	}

	if err := r.settle(ctx); err != nil {
		return err
	}
	r.report()
	return r.done.err()
}

// gather reads the ledger and makes sure that the months of the run exist.
func (r *run) gather(ctx context.Context) (collection.Plan, error) {
	oldest := r.Settings.Limits.Oldest(r.pinned)
	if _, err := postgres.EnsureMonths(ctx, r.pool, oldest, r.pinned); err != nil {
		return collection.Plan{}, err
	}
	evidence, err := postgres.CollectionEvidence(ctx, r.pool, r.scope, oldest, r.pinned)
	if err != nil {
		return collection.Plan{}, err
	}

	r.ledger = evidence.Ledger
	plan := r.Settings.Limits.Plan(r.pinned, r.ledger)
	r.Log.Info("Fetching the hours that are due", "catchUp", len(plan.CatchUp), "window", len(plan.Window))
	return plan, nil
}

// collect stores the next hours in one transaction, which begins when all of
// them are there.
func (r *run) collect(ctx context.Context, from *fetcher, count int) error {
	hours := make([]*fetched, 0, count)
	defer func() {
		for _, f := range hours {
			f.close()
		}
	}()
	for range count {
		f, err := from.next(ctx)
		if err != nil {
			return fmt.Errorf("cannot fetch all hours: %w", err)
		}
		hours = append(hours, f)
	}
	return r.transact(ctx, hours)
}

// transact stores hours in one transaction.
func (r *run) transact(ctx context.Context, hours []*fetched) error {
	if len(hours) == 0 {
		return nil
	}

	done := r.done
	err := pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error {
		for _, f := range hours {
			if err := r.keepHour(ctx, tx, f, &done); err != nil {
				return err
			}
		}
		return postgres.FoldDays(ctx, tx)
	})
	if err != nil {
		return fmt.Errorf("cannot collect the hours from %q to %q: %w",
			hours[0].batch.Hour.Format(time.RFC3339), hours[len(hours)-1].batch.Hour.Format(time.RFC3339), err)
	}
	r.done = done
	return nil
}

// keepHour stores one hour, and writes down what became of it. An hour that
// fails leaves nothing behind but that note. It returns an error only if the
// transaction cannot go on.
func (r *run) keepHour(ctx context.Context, tx pgx.Tx, f *fetched, done *tally) error {
	limits, h := r.Settings.Limits, f.batch.Hour

	var stored postgres.Stored
	err := f.err
	if err == nil {
		stored, err = r.storeHour(ctx, tx, f)
		if err != nil && !postgres.IsRefusedData(err) {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx) // The fetch was cut off, and failed for no other reason.
	}

	before := r.ledger.At(h)
	answer := collection.Answer{Failed: err != nil, Items: stored.Rows, Began: r.now}
	late := collection.Late(before, answer, stored.Late)
	record := postgres.HourRecord{Hour: h, State: limits.Conclude(before, answer, r.pinned, r.now), Late: late, Err: err}
	if err := postgres.RecordHour(ctx, tx, r.scope, record, r.now); err != nil {
		return err
	}

	done.hours++
	if err != nil {
		r.Log.Error(err, "An hour could not be collected; the next run fetches it again", "hour", h.Format(time.RFC3339))
		done.failed = append(done.failed, failedHour{h, err})
		return nil
	}
	done.rows += stored.Rows
	done.added += stored.Added
	done.removed += stored.Removed
	if done.late += late; late > 0 {
		r.Log.Info("OpenCost tells a final hour otherwise; what is final stays as it is", "hour", h.Format(time.RFC3339), "rows", late)
	}
	done.corrections.Add(f.corrections)
	return nil
}

// storeHour writes an hour in a savepoint. The bound is a wide one: cutting off
// a statement costs the whole transaction.
func (r *run) storeHour(ctx context.Context, tx pgx.Tx, f *fetched) (stored postgres.Stored, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.Settings.Timeouts.OpenCostFetch+r.Settings.Timeouts.DatabaseInsert)
	defer cancel()

	err = pgx.BeginFunc(ctx, tx, func(savepoint pgx.Tx) error {
		stored, err = postgres.StoreHour(ctx, savepoint, f.batch, f.rows())
		return err
	})
	return stored, err
}

// settle finalizes what earlier runs have left open, gives up what is too old,
// and brings the summary up to date.
func (r *run) settle(ctx context.Context) error {
	oldest := r.Settings.Limits.Oldest(r.pinned)
	settlement := postgres.Settlement{Pinned: r.pinned, Oldest: oldest, Spared: r.Settings.Limits.Spared(r.pinned, r.now)}
	for _, f := range r.done.failed {
		settlement.Spared = append(settlement.Spared, f.hour)
	}

	bounded, cancel := context.WithTimeout(ctx, r.Settings.Timeouts.DatabaseInsert)
	defer cancel()
	finalized, err := postgres.FinalizeStragglers(bounded, r.pool, r.scope, settlement, r.now)
	if err != nil {
		return err
	}
	r.done.finalized = finalized

	lost, err := postgres.SettleLostHours(bounded, r.pool, r.scope, oldest, r.now)
	if err != nil {
		return err
	}
	for _, h := range lost {
		r.warn(ctx, r.costJob, ReasonHourGivenUp, fmt.Sprintf("hour %s was never collected and is too old to be fetched again", h.UTC().Format(time.RFC3339)))
	}

	return r.refresh(ctx)
}

// refresh updates the summary if the run wrote rows, or if an earlier one that
// was cut off did.
func (r *run) refresh(ctx context.Context) error {
	if r.done.added+r.done.removed == 0 {
		behind, err := postgres.SummaryIsBehind(ctx, r.pool, r.scope, r.Settings.Limits.Oldest(r.pinned), r.pinned)
		if err != nil || !behind {
			return err
		}
	}
	return postgres.RefreshSummary(ctx, r.pool)
}

func (r *run) report() {
	c := r.done.corrections
	r.Log.Info("Collected allocations", "hours", r.done.hours, "failed", len(r.done.failed), "rows", r.done.rows,
		"added", r.done.added, "removed", r.done.removed, "stragglers", r.done.finalized, "late", r.done.late,
		"negativeQuantities", c.Negative, "clippedIntervals", c.Clipped, "unusedGPUs", c.IdleGPUs)
}

// err says which hours failed, and why the first one did.
func (t tally) err() error {
	if len(t.failed) == 0 {
		return nil
	}
	return fmt.Errorf("cannot collect %d of %d hours, the first of them %q: %w",
		len(t.failed), t.hours, t.failed[0].hour.Format(time.RFC3339), t.failed[0].err)
}

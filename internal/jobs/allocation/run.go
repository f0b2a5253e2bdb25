package allocation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/collection"
)

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
}

// A tally is what a run did, in numbers.
type tally struct {
	hours, rows, added, removed, finalized int64
	corrections                            collection.Corrections
	failed                                 []failedHour
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

	// Catch-up hours are committed one by one, so that a long catch-up that is
	// cut off keeps what it has (BETTER-CJ-8).
	for _, h := range plan.CatchUp {
		if err := r.transact(ctx, h); err != nil {
			return err
		}
	}
	// The documented window is one transaction with a savepoint per hour.
	if err := r.transact(ctx, plan.Window...); err != nil {
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

// transact collects hours in one transaction.
func (r *run) transact(ctx context.Context, hours ...time.Time) error {
	if len(hours) == 0 {
		return nil
	}

	done := r.done
	err := pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error {
		for _, h := range hours {
			if err := r.collectHour(ctx, tx, h, &done); err != nil {
				return err
			}
		}
		return postgres.FoldDays(ctx, tx)
	})
	if err != nil {
		return fmt.Errorf("cannot collect the hours from %q to %q: %w",
			hours[0].Format(time.RFC3339), hours[len(hours)-1].Format(time.RFC3339), err)
	}
	r.done = done
	return nil
}

// collectHour fetches and stores one hour, and writes down what became of it. An
// hour that fails leaves nothing behind but that note. It returns an error only
// if the transaction cannot go on.
func (r *run) collectHour(ctx context.Context, tx pgx.Tx, h time.Time, done *tally) error {
	limits, before := r.Settings.Limits, r.ledger.At(h)
	final := limits.Finalizes(h, r.pinned, r.now)

	stored, corrections, err := r.storeHour(ctx, tx, postgres.Batch{
		Scope:       r.scope,
		Hour:        h,
		Fresh:       !before.HasOpen && !before.HasFinal,
		Finalized:   final,
		Book:        r.book,
		CollectedAt: r.now,
	})
	if err != nil && !concernsTheHour(ctx, err) {
		return err
	}

	answer := collection.Answer{Failed: err != nil, Items: stored.Rows, Began: r.now}
	record := postgres.HourRecord{Hour: h, State: limits.Conclude(before, answer, r.pinned, r.now), Err: err}
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
	done.corrections.Add(corrections)
	return nil
}

// storeHour streams an hour from OpenCost into a savepoint. The deadline of the
// fetch ends the reading and with it the hour; the statements themselves have
// more time, because cutting one off costs the whole transaction.
func (r *run) storeHour(ctx context.Context, tx pgx.Tx, b postgres.Batch) (stored postgres.Stored, c collection.Corrections, err error) {
	fetching, cancel := context.WithTimeout(ctx, r.Settings.Timeouts.OpenCostFetch)
	defer cancel()
	storing, cancel := context.WithTimeout(ctx, r.Settings.Timeouts.OpenCostFetch+r.Settings.Timeouts.DatabaseInsert)
	defer cancel()

	err = pgx.BeginFunc(storing, tx, func(savepoint pgx.Tx) error {
		stored, err = postgres.StoreHour(storing, savepoint, b, r.measurements(fetching, b.Hour, &c))
		return err
	})
	return stored, c, err
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
		"added", r.done.added, "removed", r.done.removed, "stragglers", r.done.finalized,
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

// A fetchError is one of OpenCost's, not of the database's.
type fetchError struct{ error }

func (e *fetchError) Unwrap() error { return e.error }

// concernsTheHour says whether an error is about what OpenCost answered, so that
// other hours may still succeed. A run that is being stopped has no such error.
func concernsTheHour(ctx context.Context, err error) bool {
	fetch := (*fetchError)(nil)
	return ctx.Err() == nil && (errors.As(err, &fetch) || postgres.IsRefusedData(err))
}

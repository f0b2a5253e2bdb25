package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-finops/provider-finops/internal/finops/collection"
)

var (
	//go:embed sql/stage_allocations.sql
	stageAllocationsSQL string

	//go:embed sql/drop_stale_allocations.sql
	dropStaleAllocationsSQL string

	//go:embed sql/add_staged_allocations.sql
	addStagedAllocationsSQL string

	//go:embed sql/stage_days.sql
	stageDaysSQL string

	//go:embed sql/sum_hour.sql
	sumHourSQL string

	//go:embed sql/fold_days.sql
	foldDaysSQL string
)

// A Scope is what is collected together: the rows of one cluster, grouped in one
// way.
type Scope struct {
	ClusterID   string
	Aggregation string
}

// A Batch is an hour of allocations on its way into the database.
type Batch struct {
	Scope

	Hour        time.Time
	Fresh       bool          // Nothing is stored for the hour.
	Finalized   bool          // The hour is not fetched again.
	Book        *PriceBookRow // What the rows are priced with; nil if nobody knows yet.
	CollectedAt time.Time
}

// Stored tells what became of a Batch.
type Stored struct {
	Rows    int64 // In the answer.
	Added   int64
	Removed int64
}

// Changed says whether any row was written.
func (s Stored) Changed() bool { return s.Added+s.Removed > 0 }

// StoreHour replaces what is stored for an hour by what is measured now, except
// where a final row stands. What is equal is not written. An answer without any
// row changes nothing (OPEN-CJ-7: what is stored is the better evidence).
//
// The transaction has to end with FoldDays, which keeps the roll-up in step. If
// the measurements end with an error, StoreHour returns that error, and what it
// has written must be rolled back, to a savepoint or as a whole. Two
// measurements of one name are an error of the database.
func StoreHour(ctx context.Context, tx pgx.Tx, b Batch, rows iter.Seq2[collection.Measurement, error]) (Stored, error) {
	stored, err := b.store(ctx, tx, rows)
	if err != nil {
		return Stored{}, fmt.Errorf("cannot store hour %q: %w", b.Hour.UTC().Format(time.RFC3339), err)
	}
	return stored, nil
}

func (b Batch) store(ctx context.Context, tx pgx.Tx, rows iter.Seq2[collection.Measurement, error]) (Stored, error) {
	if b.Fresh {
		// The quickest way there is: no comparison, no second copy (design R7).
		n, err := b.copyInto(ctx, tx, "provider_allocations", rows)
		if err != nil || n == 0 {
			return Stored{}, err
		}
		return Stored{Rows: n, Added: n}, b.inStep(ctx, tx, func() error { return nil })
	}

	if err := stage(ctx, tx); err != nil {
		return Stored{}, err
	}
	n, err := b.copyInto(ctx, tx, "staged_allocations", rows)
	if err != nil || n == 0 {
		return Stored{}, err
	}

	stored := Stored{Rows: n}
	err = b.inStep(ctx, tx, func() error {
		dropped, err := tx.Exec(ctx, dropStaleAllocationsSQL, b.key())
		if err != nil {
			return err
		}
		added, err := tx.Exec(ctx, addStagedAllocationsSQL, b.key())
		stored.Removed, stored.Added = dropped.RowsAffected(), added.RowsAffected()
		return err
	})
	return stored, err
}

// inStep changes the rows of an hour and notes what that means for its day.
func (b Batch) inStep(ctx context.Context, tx pgx.Tx, change func() error) error {
	if _, err := tx.Exec(ctx, stageDaysSQL); err != nil {
		return err
	}
	if !b.Fresh {
		if err := b.sum(ctx, tx, -1); err != nil {
			return err
		}
	}
	if err := change(); err != nil {
		return err
	}
	return b.sum(ctx, tx, +1)
}

// FoldDays moves what the hours of a transaction have changed into the roll-up.
// It is the last thing to do in that transaction, once for all its hours.
func FoldDays(ctx context.Context, tx pgx.Tx) error {
	for _, sql := range []string{stageDaysSQL, foldDaysSQL} {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return fmt.Errorf("cannot bring the roll-up of the days up to date: %w", err)
		}
	}
	return nil
}

func (b Batch) sum(ctx context.Context, tx pgx.Tx, sign int) error {
	args := b.key()
	args["sign"] = sign
	_, err := tx.Exec(ctx, sumHourSQL, args)
	return err
}

func (b Batch) key() pgx.StrictNamedArgs {
	return pgx.StrictNamedArgs{"cluster_id": b.ClusterID, "aggregation": b.Aggregation, "hour": b.Hour}
}

// stage makes the table that an hour waits in, or empties the one that an
// earlier hour of the transaction has left.
func stage(ctx context.Context, tx pgx.Tx) error {
	for _, sql := range []string{stageAllocationsSQL, "TRUNCATE pg_temp.staged_allocations"} {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

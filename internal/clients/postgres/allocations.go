package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

var (
	//go:embed sql/stage_allocations.sql
	stageAllocationsSQL string

	//go:embed sql/drop_stale_allocations.sql
	dropStaleAllocationsSQL string

	//go:embed sql/count_late_changes.sql
	countLateChangesSQL string

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
	PartlyFinal bool          // Some of what is stored is final.
	Finalized   bool          // The hour is not fetched again.
	Book        *PriceBookRow // What the rows are priced with; nil if nobody knows yet.
	CollectedAt time.Time
}

// Stored tells what became of a Batch.
type Stored struct {
	Rows    int64 // In the answer.
	Added   int64
	Removed int64
	Late    int64 // Final rows that the answer tells otherwise. They stand.
}

// StoreHour replaces what is stored for an hour by what is measured now, except
// where a final row stands. What is equal is not written. An answer without any
// row changes nothing (OPEN-CJ-7: what is stored is the better evidence).
//
// The rows are those that AppendAllocation has written for the same batch. The
// transaction has to end with FoldDays, which keeps the roll-up in step. If the
// reading of the rows ends with an error, StoreHour returns that error, and what
// it has written must be rolled back, to a savepoint or as a whole. Two rows of
// one name are an error of the database.
func StoreHour(ctx context.Context, tx pgx.Tx, b Batch, rows AllocationRows) (Stored, error) {
	stored, err := b.store(ctx, tx, rows)
	if err != nil {
		return Stored{}, fmt.Errorf("cannot store hour %q: %w", b.Hour.UTC().Format(time.RFC3339), err)
	}
	return stored, nil
}

func (b Batch) store(ctx context.Context, tx pgx.Tx, rows AllocationRows) (Stored, error) {
	if rows.Count == 0 {
		return Stored{}, nil
	}
	if _, err := tx.Exec(ctx, stageDaysSQL); err != nil {
		return Stored{}, err
	}
	if b.Fresh {
		return b.load(ctx, tx, rows)
	}
	return b.replace(ctx, tx, rows)
}

// load is the quickest way there is: no comparison, no second copy (design R7).
func (b Batch) load(ctx context.Context, tx pgx.Tx, rows AllocationRows) (Stored, error) {
	n, err := copyInto(ctx, tx, copyAllocationsSQL, rows)
	if err != nil {
		return Stored{}, err
	}
	_, err = tx.Exec(ctx, sumHourSQL, b.key())
	return Stored{Rows: n, Added: n}, err
}

// replace compares with what is stored, and writes the difference.
func (b Batch) replace(ctx context.Context, tx pgx.Tx, rows AllocationRows) (Stored, error) {
	// Rows that become final now are different all of them, and beside final ones
	// more is asked than whether anything is.
	if !b.Finalized && !b.PartlyFinal {
		if same, err := b.isStored(ctx, tx, rows); err != nil || same {
			return Stored{Rows: rows.Count}, err
		}
	}
	if err := stage(ctx, tx); err != nil {
		return Stored{}, err
	}
	n, err := copyInto(ctx, tx, copyStagedAllocationsSQL, rows)
	if err != nil {
		return Stored{}, err
	}

	stored := Stored{Rows: n}
	if b.PartlyFinal {
		if stored.Late, err = b.change(ctx, tx, countLateChangesSQL); err != nil {
			return Stored{}, err
		}
	}
	if stored.Removed, err = b.change(ctx, tx, dropStaleAllocationsSQL); err != nil {
		return Stored{}, err
	}
	stored.Added, err = b.change(ctx, tx, addStagedAllocationsSQL)
	return stored, err
}

// change writes, notes what that means for the day, and returns how many rows it
// wrote; or it only counts.
func (b Batch) change(ctx context.Context, tx pgx.Tx, sql string) (int64, error) {
	rows, err := tx.Query(ctx, sql, b.key())
	if err != nil {
		return 0, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowTo[int64])
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

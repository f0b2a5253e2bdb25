package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// EnsureMonths makes the monthly partitions that hold the instants from first
// to last, both included, and returns how many were missing. Months that exist
// cost one query and no lock.
//
// It takes the pool and no transaction, because the locks it may need are to
// be held for an instant: call it before the transaction that writes.
func EnsureMonths(ctx context.Context, pool *pgxpool.Pool, first, last time.Time) (int, error) {
	rows, err := pool.Query(ctx, "SELECT finops_ensure_months(@first, @last)",
		pgx.StrictNamedArgs{"first": first, "last": last})
	if err != nil {
		return 0, fmt.Errorf("cannot make the months from %s to %s: %w", month(first), month(last), err)
	}
	made, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[int])
	if err != nil {
		return 0, fmt.Errorf("cannot make the months from %s to %s: %w", month(first), month(last), err)
	}
	return made, nil
}

func month(t time.Time) string { return t.UTC().Format("2006-01") }

// A MonthlyTable is one that is kept by months.
type MonthlyTable string

// The tables that are kept by months.
const (
	AllocationMonths MonthlyTable = "provider_allocations"
	ChargeMonths     MonthlyTable = "subscription_charges"
)

// DropMonths drops the months of a table that ended at least so many days before
// an instant, and returns their names. What is not final, or another cluster's,
// stays (BETTER-DB-2).
func DropMonths(ctx context.Context, db DB, table MonthlyTable, clusterID string, days int, at time.Time) ([]string, error) {
	rows, err := db.Query(ctx, "SELECT finops_drop_months(@table, @cluster_id, @at, @days)",
		pgx.StrictNamedArgs{"table": string(table), "cluster_id": clusterID, "at": at, "days": days})
	if err != nil {
		return nil, fmt.Errorf("cannot drop the old months of table %q: %w", table, err)
	}
	dropped, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("cannot drop the old months of table %q: %w", table, err)
	}
	return dropped, nil
}

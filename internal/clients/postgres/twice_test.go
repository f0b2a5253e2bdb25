package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/collection"
)

// TestSizeOfHoursWrittenTwice collects as an hourly CostJob does: each hour is
// stored in its first minutes and replaced once it has closed, every row of it. So
// half of what is written is dead. How much a row takes then depends on how soon
// the room is used again: a month is vacuumed when a twentieth of it is dead.
func TestSizeOfHoursWrittenTwice(t *testing.T) {
	const hours, rows = 30, 1_000
	pool := allocationDatabase(t)
	measurements := func(hour time.Time, minutes int) []collection.Measurement {
		all := make([]collection.Measurement, rows)
		for n := range all {
			pod := fmt.Sprintf("checkout-api-%d-%05d", n%7, n)
			all[n] = collection.Measurement{
				Workload: collection.Workload{
					Name: fmt.Sprintf("team-%03d/%s/app", n/50, pod), Namespace: fmt.Sprintf("team-%03d", n/50), Pod: pod,
					Container: "app", Controller: "checkout-api", ControllerKind: "deployment",
				},
				Start: hour, End: hour.Add(time.Duration(minutes) * time.Minute), Minutes: quantity(fmt.Sprint(minutes)),
				CPUCores: quantity(fmt.Sprintf("0.%05d", 1+(n*7919+minutes)%99_999)), RAMBytes: quantity(fmt.Sprintf("%d.63636", 50_000_000+n*104_729+minutes)),
				SentBytes: quantity(fmt.Sprintf("%d.59091", n*6_700_417%90_000_000)), RecvBytes: quantity(fmt.Sprintf("%d.63636", n*2_147_483%50_000_000)),
			}
		}
		return all
	}
	perRow := func(want float64) {
		t.Helper()
		var bytes, live, indexes float64
		err := pool.QueryRow(t.Context(), `SELECT sum(pg_total_relation_size(inhrelid)), (SELECT count(*) FROM provider_allocations), sum(pg_indexes_size(inhrelid))
			FROM pg_inherits WHERE inhparent = 'provider_allocations'::regclass AND pg_relation_size(inhrelid) > 0`).Scan(&bytes, &live, &indexes)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%.0f bytes a row, %.0f of them in the indexes", bytes/live, indexes/live)
		if bytes/live > want {
			t.Errorf("%.0f bytes a row, want at most %.0f", bytes/live, want)
		}
	}

	dead := 0
	for n := range hours {
		hour := lunchtime.Add(time.Duration(n) * time.Hour)
		err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			if n > 0 {
				before := hour.Add(-time.Hour)
				if _, err := inSavepoint(t.Context(), tx, postgres.Batch{Hour: before, Finalized: true}, sequence(measurements(before, 60), nil)); err != nil {
					return err
				}
				dead += rows
			}
			if _, err := inSavepoint(t.Context(), tx, postgres.Batch{Hour: hour, Fresh: true}, sequence(measurements(hour, 5), nil)); err != nil {
				return err
			}
			return postgres.FoldDays(t.Context(), tx)
		})
		if err != nil {
			t.Fatal(err)
		}
		if dead > 50+n*rows/20 { // As autovacuum decides, with the settings of a month.
			if _, err := pool.Exec(t.Context(), "VACUUM (ANALYZE) provider_allocations"); err != nil {
				t.Fatal(err)
			}
			dead = 0
		}
	}
	perRow(500)

	// What an administrator may do with a month that is over.
	if _, err := pool.Exec(t.Context(), "REINDEX TABLE CONCURRENTLY provider_allocations"); err != nil {
		t.Fatal(err)
	}
	perRow(420)
}

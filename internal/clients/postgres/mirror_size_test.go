package postgres_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// TestStoreReadsWhatItIsGiven stores versions over one connection, whose plan was
// made when the table was empty, and counts the rows that were read one by one
// from the table itself. There are none: what a version costs must not grow with
// how many others there are.
func TestStoreReadsWhatItIsGiven(t *testing.T) {
	dsn := pgtest.Database(t).DSN
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 1
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)

	given := make([]postgres.Subscription, 20)
	offerings := make([]postgres.Offering, 20)
	for pass := range 60 {
		for i := range given {
			given[i] = subscription(uuid.NewString(), fmt.Sprintf("s-%d-%d", pass, i))
			offerings[i] = postgres.Offering{Object: given[i].Object}
		}
		for range 2 { // As new ones, and as ones that are known.
			if _, err := postgres.StoreSubscriptions(t.Context(), pool, cluster, aprilNoon, given...); err != nil {
				t.Fatal(err)
			}
			if _, err := postgres.StoreOfferings(t.Context(), pool, cluster, aprilNoon, offerings...); err != nil {
				t.Fatal(err)
			}
		}
	}

	rows, err := pool.Query(t.Context(), "SELECT count(*) FROM subscriptions UNION ALL SELECT count(*) FROM offerings")
	if err != nil {
		t.Fatal(err)
	}
	counts, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil || len(counts) != 2 || counts[0] != 1200 || counts[1] != 1200 {
		t.Fatalf("the test stores other than it means: %v, %v", counts, err)
	}
	if read := readInTurn(t.Context(), t, pool); read > counts[0]+counts[1] { // Our own counting, once each.
		t.Errorf("%d rows were read in turn", read-counts[0]-counts[1])
	}
}

// readInTurn is how many rows of the mirrors were read by scans of the tables.
func readInTurn(ctx context.Context, t *testing.T, pool *pgxpool.Pool) (read int64) {
	t.Helper()
	for _, sql := range []string{"SELECT pg_stat_force_next_flush()", "SELECT 1"} { // The session reports after the first, and has reported by the second.
		if _, err := pool.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	const sql = "SELECT sum(seq_tup_read)::bigint FROM pg_stat_user_tables WHERE relname IN ('subscriptions', 'offerings')"
	if err := pool.QueryRow(ctx, sql).Scan(&read); err != nil {
		t.Fatal(err)
	}
	return read
}

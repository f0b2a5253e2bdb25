package postgres_test

import (
	"fmt"
	"iter"
	"math/big"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// TestUnknownHours charges many Subscriptions for an hour that came after the
// server made its statistics, as the last hours always do. It takes them for
// nearly empty then, and must not compare everybody with everybody for that. What
// it would do for usage its plan says; of charges it counts the rows it looks at.
func TestUnknownHours(t *testing.T) {
	const size = 1_500
	db := pgtest.Database(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	known, unknown := midday, midday.Add(5*time.Hour)
	hours := postgres.Hours{First: unknown, End: unknown.Add(time.Hour)}
	_, err := postgres.EnsureMonths(t.Context(), db.Pool, known, hours.End)
	must(err)
	offering, _ := plantVersions(t, db.Pool)
	_, err = db.Pool.Exec(t.Context(), `
		INSERT INTO subscriptions (cluster_id, namespace, name, uid, generation, content_hash, valid_from, offering_namespace, offering_name, spec)
		SELECT $1, 'red', 'member', ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, 1, 'planted', $2, 'red', 'offering',
		       jsonb_build_object('usageSources', jsonb_build_array(jsonb_build_object('namespace', 'ns-' || n)))
		  FROM generate_series(0, $3 - 1) AS n`, billed, midday, size)
	must(err)
	versions, err := pgx.CollectRows(mustQuery(t, db, "SELECT id FROM subscriptions ORDER BY uid"), pgx.RowTo[int64])
	must(err)
	charges := func(hour time.Time) iter.Seq2[postgres.Charge, error] {
		return func(yield func(postgres.Charge, error) bool) {
			for n, version := range versions {
				c := postgres.Charge{
					SubscriptionUID: fmt.Sprintf("00000000-0000-4000-8000-%012d", n), WindowStart: hour, Source: "cpuHour", AmountMicros: 1,
					QuantityCoefficient: big.NewInt(1), Currency: "EUR", OfferingVersionID: offering, SubscriptionVersionID: version,
				}
				if !yield(c, nil) {
					return
				}
			}
		}
	}
	for _, hour := range []time.Time{known, unknown} {
		_, err := db.Pool.Exec(t.Context(), `
			INSERT INTO provider_allocations (cluster_id, aggregation, hour, namespace, name, pod, controller, controller_kind,
			       alloc_start, alloc_end, collected_at, is_finalized, cpu_core_usage_avg)
			SELECT $1, $2, $3, 'ns-' || n, 'row-' || n, 'pod', 'api', 'deployment', $3, $3::timestamptz + interval '1 hour', $3, false, 1
			  FROM generate_series(0, $4 - 1) AS n`, billed, aggregation, hour, size)
		must(err)
		_, err = postgres.AddCharges(t.Context(), db.Pool, billed, midday, charges(hour))
		must(err)
		if hour.Equal(known) {
			_, err = db.Pool.Exec(t.Context(), "ANALYZE provider_allocations, subscription_charges, subscriptions")
			must(err)
		}
	}

	conn, err := db.Pool.Acquire(t.Context())
	must(err)
	defer conn.Release()
	looked := func(tx pgx.Tx, tables ...string) int64 {
		t.Helper()
		rows, err := tx.Query(t.Context(), "SELECT coalesce(sum(seq_tup_read), 0)::bigint FROM pg_stat_xact_user_tables WHERE relname = ANY ($1)", tables)
		must(err)
		n, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[int64])
		must(err)
		return n
	}

	subjects := func(yield func(postgres.UsageSubject) bool) {
		for _, version := range versions {
			if !yield(postgres.UsageSubject{VersionID: version, ActiveFrom: midday, FirstWindow: hours.First, EndWindow: hours.End}) {
				return
			}
		}
	}
	must(postgres.StageUsage(t.Context(), conn, billed, subjects))
	must(pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
		text, err := os.ReadFile("sql/usage.sql")
		must(err)
		rows, err := tx.Query(t.Context(), "EXPLAIN "+string(text), pgx.StrictNamedArgs{
			"cluster_id": billed, "aggregation": aggregation, "first_hour": hours.First, "end_hour": hours.End,
			"count_first": hours.First, "count_end": hours.End,
		})
		must(err)
		plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
		must(err)
		if all := strings.Join(plan, "\n"); strings.Contains(all, "Nested Loop") {
			t.Errorf("Usage is joined row by row:\n%s", all)
		}

		found := 0
		query := postgres.UsageQuery{ClusterID: billed, Aggregation: aggregation, First: hours.First, End: hours.End, Count: hours}
		for u, err := range postgres.ReadUsage(t.Context(), tx, query) {
			must(err)
			if u.Subject >= 0 {
				found++
			}
		}
		if found != size {
			t.Errorf("Usage of %d Subscriptions: found that of %d", size, found)
		}
		return nil
	}))

	must(postgres.PrepareCharges(t.Context(), conn))
	must(pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
		_, err := postgres.StageCharges(t.Context(), tx, charges(unknown))
		must(err)
		must(postgres.StageWindows(t.Context(), tx, func(yield func(postgres.ChargedWindow) bool) {
			for c := range charges(unknown) {
				if !yield(postgres.ChargedWindow{SubscriptionUID: c.SubscriptionUID, First: unknown, FinalizedThrough: unknown}) {
					return
				}
			}
		}))
		must(postgres.ExpectMany(t.Context(), tx))
		before := looked(tx, "staged_charges", "staged_windows")
		deleted, err := postgres.DeleteVanishedCharges(t.Context(), tx, billed, hours)
		must(err)
		written, err := postgres.MergeCharges(t.Context(), tx, billed, hours, midday)
		must(err)
		must(postgres.AdvanceWatermarks(t.Context(), tx, billed, midday))
		if n := looked(tx, "staged_charges", "staged_windows") - before; deleted != 0 || written != 0 || n > 20*size {
			t.Errorf("The same charges of %d Subscriptions once more: deleted %d, wrote %d, and looked at %d staged rows", size, deleted, written, n)
		}
		return nil
	}))
}

func mustQuery(t *testing.T, db pgtest.DB, sql string) pgx.Rows {
	t.Helper()
	rows, err := db.Pool.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

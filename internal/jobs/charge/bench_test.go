package charge_test

import (
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// BenchmarkFirstRun charges a crowd for a day that nobody has a row in, and
// compares it with one statement that adds up, prices and writes the same rows
// (P4).
func BenchmarkFirstRun(b *testing.B) {
	const size = 5_000
	for b.Loop() {
		run, single := pgtest.Database(b), pgtest.Database(b)
		for _, db := range []pgtest.DB{run, single} {
			plantCrowd(b, db, size, at("2026-03-05T00:00:00Z"), 24)
			plantMirror(b, db, size)
		}
		peak, took := collectApart(b, run.DSN, size)
		alone := oneStatement(b, single, size)

		var rows int
		if err := run.Pool.QueryRow(b.Context(), "SELECT count(*) FROM subscription_charges").Scan(&rows); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(rows)/took.Seconds(), "rows/s")
		b.ReportMetric(100*alone.Seconds()/took.Seconds(), "%-of-one-statement")
		b.ReportMetric(float64(peak), "peak-KiB")
	}
}

// oneStatement writes the day's rows without any program, and returns how long
// that took.
func oneStatement(b *testing.B, db pgtest.DB, size int) time.Duration {
	b.Helper()
	setUp := []string{
		`INSERT INTO offerings (cluster_id, namespace, name, uid, generation, content_hash, valid_from, spec)
		 VALUES ('crowd', 'catalogue', 'both', gen_random_uuid(), 1, 'planted', '2026-03-05T00:00:00Z', '{}')`,
		`CREATE TABLE members AS SELECT id, uid, 'ns-' || substring(name FROM 8) AS namespace FROM subscriptions`,
		`ANALYZE members`,
	}
	for _, sql := range setUp {
		if _, err := db.Pool.Exec(b.Context(), sql); err != nil {
			b.Fatal(err)
		}
	}

	machine := clock.RealClock{}
	began := machine.Now()
	tag, err := db.Pool.Exec(b.Context(), `
		INSERT INTO subscription_charges AS c (cluster_id, subscription_uid, window_start, window_end, charge_source, amount_micros,
		       quantity, unit_price_micros, currency, finalized, offering_version_id, subscription_version_id, pricebook_id,
		       created_at, updated_at)
		SELECT 'crowd', u.uid, u.hour, u.hour + interval '1 hour', s.source, floor(s.quantity * s.price), s.quantity, s.price, 'EUR',
		       true, (SELECT max(id) FROM offerings), u.id, s.book, u.hour, u.hour
		  FROM (SELECT m.uid, m.id, a.hour, a.pricebook_id, sum(a.cpu_core_usage_avg) AS cores,
		               sum(a.ram_bytes_usage_avg) / 1073741824 AS gib
		          FROM members AS m
		          JOIN provider_allocations AS a USING (namespace)
		         WHERE a.cluster_id = 'crowd' AND a.aggregation = $1
		         GROUP BY m.uid, m.id, a.hour, a.pricebook_id) AS u
		  JOIN pricebooks AS p ON p.cluster_id = 'crowd' AND p.id = u.pricebook_id,
		       LATERAL (VALUES ('subscription', 1::numeric, 1000::bigint, NULL::bigint),
		                       ('cpuHour', u.cores, p.cpu_hour_micros, p.id),
		                       ('ramGbHour', u.gib, p.ram_gb_hour_micros, p.id)) AS s (source, quantity, price, book)
		ON CONFLICT (cluster_id, subscription_uid, window_start, charge_source) DO UPDATE
		   SET amount_micros = excluded.amount_micros
		 WHERE NOT c.finalized`, aggregation)
	if err != nil {
		b.Fatal(err)
	}
	if want := int64(size * 24 * 3); tag.RowsAffected() != want {
		b.Fatalf("one statement wrote %d rows, want %d", tag.RowsAffected(), want)
	}
	return machine.Since(began)
}

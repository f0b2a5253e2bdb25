// READ /tmp/figures/RULING.md FIRST (charge_days is not built; your other files were taken back). Remove this line.
package postgres_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// summaries are what the product says of a month, in the words of plainSums.
func summaries(t *testing.T, pool *pgxpool.Pool, cluster, uid string, hour time.Time) []string {
	t.Helper()
	day := hour.Truncate(24 * time.Hour)
	month := time.Date(hour.Year(), hour.Month(), 1, 0, 0, 0, 0, time.UTC)
	q := postgres.SummaryQuery{
		ClusterID: cluster, SubscriptionUID: uid,
		Hour:  postgres.Hours{First: hour, End: hour.Add(time.Hour)},
		Day:   postgres.Hours{First: day, End: day.Add(24 * time.Hour)},
		Month: postgres.Hours{First: month, End: month.AddDate(0, 1, 0)},
	}
	lines := []string{}
	for s, err := range postgres.Summaries(t.Context(), pool, q) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%s %s %s %s %s %q %q %t", s.UID, s.Source, s.Hour, s.Day, s.Month, s.FirstCurrency, s.LastCurrency, s.SomeWithoutCurrency))
	}
	return lines
}

// plainSums adds up the rows and knows of nothing else.
func plainSums(t *testing.T, pool *pgxpool.Pool, cluster, uid string, hour time.Time) []string {
	t.Helper()
	rows, err := pool.Query(t.Context(), `
		SELECT format('%s %s %s %s %s "%s" "%s" %s', subscription_uid, charge_source,
		              coalesce(sum(amount_micros) FILTER (WHERE window_start = $2), 0),
		              coalesce(sum(amount_micros) FILTER (WHERE date_trunc('day', window_start, 'UTC') = date_trunc('day', $2::timestamptz, 'UTC')), 0),
		              sum(amount_micros), min(currency), max(currency), CASE WHEN bool_or(currency IS NULL) THEN 'true' ELSE 'false' END)
		  FROM subscription_charges
		 WHERE cluster_id = $1 AND ($3 = '' OR subscription_uid::text = $3)
		   AND date_trunc('month', window_start, 'UTC') = date_trunc('month', $2::timestamptz, 'UTC')
		 GROUP BY subscription_uid, charge_source
		 ORDER BY subscription_uid, charge_source`, cluster, hour, uid)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// spring begins with the last day of one month and ends with the first of another.
var spring = postgres.Hours{First: time.Date(2026, 4, 30, 0, 0, 0, 0, time.UTC), End: time.Date(2026, 6, 2, 0, 0, 0, 0, time.UTC)}

// chargeable is a database with the months of spring, and two Subscriptions in
// each of two clusters.
func chargeable(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool := pgtest.Database(t).Pool
	if _, err := postgres.EnsureMonths(t.Context(), pool, spring.First, spring.End); err != nil {
		t.Fatal(err)
	}
	mustExec(t, pool, `
		INSERT INTO offerings (cluster_id, namespace, name, uid, generation, content_hash, valid_from, spec)
		SELECT c, 'catalogue', 'both', gen_random_uuid(), 1, 'planted', '2026-05-01Z', '{}' FROM unnest(ARRAY['east', 'west']) AS c`)
	mustExec(t, pool, `
		INSERT INTO subscriptions (cluster_id, namespace, name, uid, generation, content_hash, valid_from, offering_namespace, offering_name, spec)
		SELECT c, 'red', u, u::uuid, 1, 'planted', '2026-05-01Z', 'catalogue', 'both', '{}'
		  FROM unnest(ARRAY['east', 'west']) AS c, unnest($1::text[]) AS u`, []string{first, second})
	return pool
}

func mustExec(t *testing.T, pool *pgxpool.Pool, sql string, args ...any) int64 {
	t.Helper()
	tag, err := pool.Exec(t.Context(), sql, args...)
	if err != nil {
		t.Fatalf("%s\n%v", sql, err)
	}
	return tag.RowsAffected()
}

const (
	// addChargesSQL charges most hours of a span that have no row yet.
	addChargesSQL = `
		INSERT INTO subscription_charges (cluster_id, subscription_uid, window_start, window_end, created_at, updated_at,
		       charge_source, amount_micros, currency, finalized, offering_version_id, subscription_version_id)
		SELECT $1, s.uid, h, h + interval '1 hour', now(), h, source, $5::bigint - (random() * 1e6)::bigint,
		       CASE WHEN $6 THEN (ARRAY['EUR', 'USD', NULL])[1 + floor(random() * 3)::int] ELSE 'EUR' END, random() < $4,
		       (SELECT max(id) FROM offerings WHERE cluster_id = $1), s.id
		  FROM subscriptions AS s, generate_series($2::timestamptz, $3::timestamptz, interval '1 hour') AS h,
		       unnest(ARRAY['cpuHour', 'networkGb', 'subscription']) AS source
		 WHERE s.cluster_id = $1 AND random() < 0.8
		ON CONFLICT DO NOTHING`

	// openChargesSQL names some rows that are not final.
	openChargesSQL = `
		cluster_id = $1 AND NOT finalized AND (subscription_uid, window_start, charge_source) IN (
		SELECT subscription_uid, window_start, charge_source FROM subscription_charges
		 WHERE cluster_id = $1 AND NOT finalized AND window_start >= $2 ORDER BY random() LIMIT 5)`
)

// TestSumsAreThoseOfTheRows does to charges what runs do, in any order, over the
// ends of months and in amounts of which a few add up to more than an amount can
// be. After each step the sums are those of the rows, source by source.
func TestSumsAreThoseOfTheRows(t *testing.T) {
	pool := chargeable(t)
	random := rand.New(rand.NewPCG(9, 5)) // The same steps each time.
	hours := int(spring.End.Sub(spring.First).Hours())
	anyHour := func() time.Time { return spring.First.Add(time.Duration(random.IntN(hours)) * time.Hour) }
	some := func(final float64, most int64, mixed bool) func(string, time.Time) int64 {
		return func(cluster string, at time.Time) int64 {
			last := at.Add(time.Duration(random.IntN(60)) * time.Hour)
			if !last.Before(spring.End) {
				last = spring.End.Add(-time.Hour)
			}
			return mustExec(t, pool, addChargesSQL, cluster, at, last, final, most, mixed)
		}
	}
	open := func(verb string) func(string, time.Time) int64 {
		return func(cluster string, at time.Time) int64 {
			return mustExec(t, pool, verb+" WHERE"+openChargesSQL, cluster, at)
		}
	}
	steps := []struct {
		name string
		do   func(cluster string, at time.Time) int64
		did  int64
	}{
		{name: "charge closed hours", do: some(1, 1e6, false)},
		{name: "charge hours that may still change", do: some(0.3, 1e6, false)},
		{name: "charge in several currencies", do: some(0.5, 1e6, true)},
		{name: "charge more than an amount can hold", do: some(0.5, 9e18, false)},
		{name: "correct", do: open("UPDATE subscription_charges SET amount_micros = amount_micros / 2 + 7")},
		{name: "lose the currency", do: open("UPDATE subscription_charges SET currency = NULL")},
		{name: "take back", do: open("DELETE FROM subscription_charges")},
		{name: "make final", do: open("UPDATE subscription_charges SET finalized = true")},
	}
	for n := range 120 {
		step, cluster := &steps[random.IntN(len(steps))], []string{"east", "west"}[random.IntN(2)]
		step.did += step.do(cluster, anyHour())
		for _, of := range []string{"east", "west"} {
			at, uid := anyHour(), []string{"", first}[random.IntN(2)]
			if diff := cmp.Diff(plainSums(t, pool, of, uid, at), summaries(t, pool, of, uid, at)); diff != "" {
				t.Fatalf("Step %d, %s in %s: the sums of %s at %s: -rows, +got:\n%s", n, step.name, cluster, of, at.Format(time.RFC3339), diff)
			}
		}
	}
	for _, step := range steps {
		if step.did == 0 {
			t.Errorf("Never was there anything to %s", step.name)
		}
	}
}

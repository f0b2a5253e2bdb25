package migrations_test

import (
	_ "embed"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

var (
	//go:embed testdata/fill_allocations.sql
	fillAllocationsSQL string

	//go:embed testdata/fill_charges.sql
	fillChargesSQL string
)

// TestSize fills a month hour by hour, as the collectors do, with 100,000 rows
// of either table, and looks at what a row costs with its indexes: 5,000
// containers make 3.6 million rows a month.
func TestSize(t *testing.T) {
	db := pgtest.Database(t)
	history(t, db.Pool)
	_, err := db.Pool.Exec(t.Context(), `
		INSERT INTO subscriptions (id, generation, valid_from, uid, cluster_id, namespace, name, content_hash, spec,
		                           offering_namespace, offering_name) OVERRIDING SYSTEM VALUE
		SELECT n, 1, '2026-11-01Z', gen_random_uuid(), 'default', 'team-a', 'web-' || n, 'hash', '{}', 'catalog', 'base'
		  FROM generate_series(2, 1667) AS n`)
	if err != nil {
		t.Fatal(err)
	}

	cases := map[string]struct {
		fill  string
		bound int64
	}{
		"provider_allocations_2026_11": {fill: fillAllocationsSQL, bound: 420},
		"subscription_charges_2026_11": {fill: fillChargesSQL, bound: 260},
	}
	for table, tc := range cases {
		t.Run(table, func(t *testing.T) {
			start := time.Date(2026, 11, 10, 0, 0, 0, 0, time.UTC)
			var rows int64
			for hour := range 20 {
				tag, err := db.Pool.Exec(t.Context(), tc.fill, start.Add(time.Duration(hour)*time.Hour))
				if err != nil {
					t.Fatal(err)
				}
				rows += tag.RowsAffected()
			}
			if rows < 100_000 {
				t.Fatalf("want 100,000 rows, got %d", rows)
			}
			var heap, indexes, total int64
			err := db.Pool.QueryRow(t.Context(),
				"SELECT pg_relation_size(@t), pg_indexes_size(@t), pg_total_relation_size(@t)", pgx.StrictNamedArgs{"t": table},
			).Scan(&heap, &indexes, &total)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: %d rows, %d bytes each: %d in the table and %d in its indexes",
				table, rows, total/rows, heap/rows, indexes/rows)
			if total/rows > tc.bound {
				t.Errorf("%d bytes a row, more than %d", total/rows, tc.bound)
			}
		})
	}
}

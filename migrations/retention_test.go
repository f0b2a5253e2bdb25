package migrations_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// TestDropMonths drops months of 2026 as of 2027, and looks at what stays. The
// months from June to November hold rows; history() charges in November.
func TestDropMonths(t *testing.T) {
	cases := map[string]struct {
		reason  string
		prepare []string
		table   string
		days    int
		want    []string
	}{
		"OldOnes": {
			reason: "A month that ended 153 days ago goes with a limit of 150, one that ended 123 days ago does not.",
			table:  "provider_allocations", days: 150,
			want: []string{"provider_allocations_2026_06", "provider_allocations_2026_07"},
		},
		"OpenRow": {
			reason:  "One row that is not final keeps its month, and no other.",
			prepare: []string{allocation("2026-06-10T10:00:00Z", "default", false)},
			table:   "provider_allocations", days: 150,
			want: []string{"provider_allocations_2026_07"},
		},
		"OtherCluster": {
			reason:  "A month with a row of another cluster is not this one's to drop, be that before or after it in the alphabet.",
			prepare: []string{allocation("2026-06-10T10:00:00Z", "aaa", true), allocation("2026-07-10T10:00:00Z", "zzz", true)},
			table:   "provider_allocations", days: 150,
		},
		"ChargeIsOpen": {
			reason:  "Allocations stay while a charge of them, or an earlier one, may be computed again.",
			prepare: []string{charge("2026-06-30T23:00:00Z", false)},
			table:   "provider_allocations", days: 150,
		},
		"LaterChargeIsOpen": {
			reason:  "A later charge needs later allocations only.",
			prepare: []string{charge("2026-07-01T00:00:00Z", false)},
			table:   "provider_allocations", days: 150,
			want: []string{"provider_allocations_2026_06"},
		},
		"Charges": {
			reason:  "Charges that are final go like allocations, guarded as they are against everything else.",
			prepare: []string{charge("2026-06-30T23:00:00Z", true), charge("2026-07-01T00:00:00Z", false)},
			table:   "subscription_charges", days: 150,
			want: []string{"subscription_charges_2026_06"},
		},
		"None": {reason: "Nothing is old enough.", table: "subscription_charges", days: 365},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			db := pgtest.Database(t)
			history(t, db.Pool)
			for _, sql := range append([]string{
				"SELECT finops_ensure_months('2026-06-01Z', '2027-01-01Z')",
				allocation("2026-06-01T00:00:00Z", "default", true), allocation("2026-08-01T00:00:00Z", "default", true),
			}, tc.prepare...) {
				if _, err := db.Pool.Exec(t.Context(), sql); err != nil {
					t.Fatalf("%s: %v", sql, err)
				}
			}

			// The migrations have made months of the present; they are no concern of this test.
			rows, err := db.Pool.Query(t.Context(), "SELECT month FROM finops_drop_months($1, 'default', '2027-01-01Z', $2) AS month WHERE month LIKE '%\\_2026\\_0%'", tc.table, tc.days)
			if err != nil {
				t.Fatal(err)
			}
			got, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\ndropped: -want, +got:\n%s", tc.reason, diff)
			}
			var left int
			if err := db.Pool.QueryRow(t.Context(), "SELECT count(*) FROM offerings").Scan(&left); err != nil || left == 0 {
				t.Errorf("%s\nversions must stay: %d, %v", tc.reason, left, err)
			}
		})
	}
}

// TestDropMonthsRefuses what nobody can mean.
func TestDropMonthsRefuses(t *testing.T) {
	db := pgtest.Database(t)
	for name, call := range map[string]string{
		"TooShort":   "finops_drop_months('provider_allocations', 'default', '2027-01-01Z', 30)",
		"OtherTable": "finops_drop_months('offerings', 'default', '2027-01-01Z', 100)",
		"NoTable":    "finops_drop_months(NULL, 'default', '2027-01-01Z', 100)",
		"NoCluster":  "finops_drop_months('provider_allocations', NULL, '2027-01-01Z', 100)",
	} {
		if _, err := db.Pool.Exec(t.Context(), "SELECT "+call); err == nil {
			t.Errorf("%s: %s was not refused", name, call)
		}
	}
}

func allocation(hour, cluster string, final bool) string {
	return fmt.Sprintf(`INSERT INTO provider_allocations (hour, alloc_start, alloc_end, collected_at, is_finalized, cluster_id, aggregation, namespace, name)
		VALUES ('%[1]s', '%[1]s', '%[1]s', now(), %[3]t, '%[2]s', 'namespace,pod,container', 'shop', 'shop/web-%[1]s/app')`, hour, cluster, final)
}

func charge(window string, final bool) string {
	return fmt.Sprintf(`INSERT INTO subscription_charges (window_start, window_end, created_at, updated_at, amount_micros, offering_version_id, subscription_version_id,
			subscription_uid, finalized, cluster_id, charge_source)
		SELECT '%[1]s', '%[1]s'::timestamptz + interval '1 hour', '%[1]s', now(), 1, o.id, s.id, s.uid, %[2]t, 'default', 'subscription'
		  FROM offerings AS o, subscriptions AS s ORDER BY o.id, s.id LIMIT 1`, window, final)
}

package database

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/prometheus/client_golang/prometheus/testutil"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/collection"
	"github.com/provider-finops/provider-finops/internal/finops/tick"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// TestWatcher looks at the ledger of a cluster at 10:05 on the first of April.
func TestWatcher(t *testing.T) {
	cases := map[string]struct {
		reason string
		sql    string
		lives  map[string]tick.Life // Not known if it is nil.
		want   string
	}{
		"Nothing": {
			reason: "Nobody has ever collected: there is no boundary, and no gap in what has not begun.",
			want:   gauges("", "0"),
		},
		"UpToDate": {
			reason: "Everything that has closed is final; the hour in progress is not.",
			sql:    ledger("8 final", "9 final", "10 open"),
			want:   gauges("1.7750376e+09", "0"), // 10:00.
		},
		"Failed": {
			reason: "An hour that failed is a gap, and holds the boundary.",
			sql:    ledger("7 final", "8 failed", "9 final", "10 open"),
			want:   gauges("1.7750304e+09", "1"), // 08:00.
		},
		"LateChanges": {
			reason: "What was told otherwise once it was final is added up.",
			sql:    ledger("7 final", "8 final", "9 final", "10 open") + "UPDATE allocation_hours SET late_changes = 2 WHERE hour < '2026-04-01T09:00:00Z';",
			want:   gaugesAndLate("1.7750376e+09", "0", "4"),
		},
		"CollectorIsDead": {
			reason: "Hours that no run has looked at are gaps.",
			sql:    ledger("5 final", "6 final"),
			want:   gauges("1.7750268e+09", "3"), // 07:00: 7, 8 and 9 are missing.
		},
		"Claims": {
			reason: "Of the last hour that was counted a quarter is nobody's, and an eighth has no rate; no GPU was used.",
			sql: ledger("8 final", "9 final", "10 open") + claim(8, "cpuHour", 9, 9, 0) + claim(9, "cpuHour", 8, 2, 1) +
				claim(9, "gpuHour", 0, 0, 0),
			want: gauges("1.7750376e+09", "0") + `# HELP finops_usage_unclaimed_ratio How much of what was measured in the last final hour no Subscription claims, by meter.
# TYPE finops_usage_unclaimed_ratio gauge
finops_usage_unclaimed_ratio{meter="cpuHour"} 0.25
# HELP finops_usage_unrated_ratio How much of what was measured in the last final hour is claimed but has no rate, by meter.
# TYPE finops_usage_unrated_ratio gauge
finops_usage_unrated_ratio{meter="cpuHour"} 0.125
`,
		},
		"Charges": {
			reason: "Of two that are charged one was settled through eight o'clock, the other never; who has never been activated owes nothing.",
			sql:    ledger("8 final", "9 final", "10 open") + watermark("blue", "1", 8) + watermark("green", "2", 9),
			lives: map[string]tick.Life{
				uid("1"): {ActivatedAt: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)},
				uid("2"): {ActivatedAt: time.Date(2026, 4, 1, 8, 5, 0, 0, time.UTC)},
				uid("3"): {},
			},
			want: gauges("1.7750376e+09", "0") + `# HELP finops_charge_watermark_lag_seconds How far behind now the slowest Subscription is settled, of those that are still charged.
# TYPE finops_charge_watermark_lag_seconds gauge
finops_charge_watermark_lag_seconds 7200
`,
		},
		"OtherCluster": {
			reason: "What another cluster lacks is its own business.",
			sql:    strings.ReplaceAll(ledger("5 failed"), "'blue'", "'green'"),
			want:   gauges("", "0"),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			db := pgtest.Database(t)
			at := clocktesting.NewFakePassiveClock(time.Date(2026, 4, 1, 10, 5, 0, 0, time.UTC))
			connection, err := New(t.Context(), postgres.Config{DSN: db.DSN}, at, logging.NewNopLogger())
			if err != nil {
				t.Fatal(err)
			}
			defer connection.pool.Close()
			w := NewWatcher(connection, "blue", collection.Limits{LookbackHours: 5, BackfillHours: 72}, at, logging.NewNopLogger())
			if err := w.look(t.Context()); err == nil || testutil.CollectAndCount(w) != 0 {
				t.Errorf("while there is no connection nothing is told: %v", err)
			}
			connection.set(nil)
			w.Follow(func(context.Context) (map[string]tick.Life, bool) { return tc.lives, tc.lives != nil })

			if _, err := postgres.EnsureMonths(t.Context(), db.Pool, at.Now(), at.Now()); err != nil {
				t.Fatal(err)
			}
			if _, err := db.Pool.Exec(t.Context(), tc.sql); err != nil {
				t.Fatal(err)
			}
			if err := w.look(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := testutil.CollectAndCompare(w, strings.NewReader(tc.want)); err != nil {
				t.Errorf("%s\n%v", tc.reason, err)
			}
		})
	}
}

// ledger stores hours of the day, "hour state", and a row for each that was
// measured.
func ledger(hours ...string) string {
	var sql strings.Builder
	for _, h := range hours {
		hour, state, _ := strings.Cut(h, " ")
		at := "'2026-04-01T" + ("0" + hour)[len(hour)-1:] + ":00:00Z'"
		sql.WriteString("INSERT INTO allocation_hours (hour, updated_at, row_count, cluster_id, aggregation, state) VALUES (" + at + ", now(), 1, 'blue', 'namespace,pod,container', '" + state + "');")
		if state != "failed" {
			sql.WriteString("INSERT INTO provider_allocations (hour, alloc_start, alloc_end, collected_at, is_finalized, cluster_id, aggregation, namespace, name) VALUES (" +
				at + "," + at + "," + at + ", now(), '" + state + "' = 'final', 'blue', 'namespace,pod,container', 'shop', 'shop/web/app');")
		}
	}
	return sql.String()
}

// uid is one of a few.
func uid(n string) string { return "00000000-0000-0000-0000-00000000000" + n }

// watermark stores how far a Subscription of a cluster is settled.
func watermark(cluster, of string, hour int) string {
	return fmt.Sprintf(`INSERT INTO subscription_watermarks (cluster_id, subscription_uid, finalized_through, updated_at)
		VALUES ('%s', '%s', '2026-04-01T%02d:00:00Z', now());`, cluster, uid(of), hour)
}

// claim stores how much of an hour's usage is claimed.
func claim(hour int, meter string, measured, unclaimed, unrated int) string {
	return fmt.Sprintf(`INSERT INTO usage_claims (hour, counted_at, cluster_id, aggregation, meter, measured, unclaimed, unrated)
		VALUES ('2026-04-01T%02d:00:00Z', now(), 'blue', 'namespace,pod,container', '%s', %d, %d, %d);`, hour, meter, measured, unclaimed, unrated)
}

func gauges(boundary, gap string) string { return gaugesAndLate(boundary, gap, "0") }

func gaugesAndLate(boundary, gap, late string) string {
	text := `# HELP finops_allocation_gap_hours How many hours that have closed are not measured for good, of those that a run may still fetch.
# TYPE finops_allocation_gap_hours gauge
finops_allocation_gap_hours ` + gap + `
# HELP finops_allocation_late_change_total How many rows OpenCost told otherwise once they were final. They stand as they were.
# TYPE finops_allocation_late_change_total counter
finops_allocation_late_change_total ` + late + "\n"
	if boundary != "" {
		text = `# HELP finops_allocation_boundary_timestamp_seconds The hour up to which usage is measured for good: metered charges before it are final.
# TYPE finops_allocation_boundary_timestamp_seconds gauge
finops_allocation_boundary_timestamp_seconds ` + boundary + "\n" + text
	}
	return text
}

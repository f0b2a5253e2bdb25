package audit_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/collection"
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
	"github.com/provider-finops/provider-finops/internal/jobs/audit"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// update writes what is said now into testdata. The guide shows the same files.
var update = flag.Bool("update", false, "write testdata anew")

const orders = "30000000-0000-4000-8000-000000000001"

// world is a database with the rows of testdata/world.sql.
func world(t *testing.T) (pgtest.DB, audit.Settings) {
	t.Helper()
	db := pgtest.Database(t)
	text, err := os.ReadFile("testdata/world.sql")
	if err != nil {
		t.Fatal(err)
	}
	db.Run(t, string(text))
	return db, audit.Settings{
		Database: postgres.Config{DSN: db.DSN}, ClusterID: "test", Aggregation: collection.DefaultAggregation,
	}
}

// TestVerify plants a mistake into charges that were right.
func TestVerify(t *testing.T) {
	const unguarded = `ALTER TABLE subscription_charges DISABLE TRIGGER finalized_charge_is_history;`
	cases := map[string]struct {
		reason  string
		plant   string
		request audit.Request
		want    []string
		rows    int64
		amount  string
	}{
		"AsCharged": {
			reason: "The worked figures of 60.4, 60.7 and 60.9.",
			rows:   3, amount: "70037438",
		},
		"Amount": {
			reason: "Rounding each row down would give a micro less.",
			plant:  unguarded + `UPDATE subscription_charges SET amount_micros = 37437 WHERE charge_source = 'cpuHour'`,
			want:   []string{"2026-04-01T10:00:00Z cpuHour: amount is 37437, should be 37438"},
			rows:   3, amount: "70037438",
		},
		"Missing": {
			reason: "The watermark says that the hour is final, so its fee has to be there, too.",
			plant:  unguarded + `DELETE FROM subscription_charges WHERE charge_source = 'subscription' AND amount_micros = 40000000`,
			want:   []string{"2026-04-01T10:00:00Z subscription: has no final row, should be 40000000 micros"},
			rows:   2, amount: "70037438",
		},
		"LastHours": {
			reason: "The last hours of everybody are gone, as after a restore. The watermarks say that there were some.",
			plant:  unguarded + `DELETE FROM subscription_charges WHERE window_start = '2026-04-01T10:00:00Z'`,
			want: []string{
				"2026-04-01T10:00:00Z subscription: has no final row, should be 40000000 micros",
				"2026-04-01T10:00:00Z cpuHour: has no final row, should be 37438 micros",
			},
			rows: 1, amount: "70037438",
		},
		"TooMany": {
			reason: "Nobody sells that meter.",
			plant: `INSERT INTO subscription_charges (cluster_id, subscription_uid, window_start, window_end, charge_source, amount_micros,
			          quantity, currency, finalized, offering_version_id, subscription_version_id, created_at, updated_at)
			        SELECT cluster_id, subscription_uid, window_start, window_end, 'gpuHour', 7, 1, currency, true, offering_version_id,
			               subscription_version_id, created_at, updated_at
			          FROM subscription_charges WHERE charge_source = 'cpuHour'`,
			want: []string{"2026-04-01T10:00:00Z gpuHour: has a row of 7 micros, should have none"},
			rows: 4, amount: "70037438",
		},
		"BeyondTheWatermark": {
			reason: "A final row of usage cannot be written ahead.",
			plant: `INSERT INTO subscription_charges (cluster_id, subscription_uid, window_start, window_end, charge_source, amount_micros,
			          quantity, currency, finalized, offering_version_id, subscription_version_id, created_at, updated_at)
			        SELECT cluster_id, subscription_uid, window_start + interval '3 days', window_end + interval '3 days', charge_source, 7, 1,
			               currency, true, offering_version_id, subscription_version_id, created_at, updated_at
			          FROM subscription_charges WHERE charge_source = 'cpuHour'`,
			want: []string{"2026-04-04T10:00:00Z cpuHour: has a row of 7 micros, should have none"},
			rows: 4, amount: "70037438",
		},
		"Nobodys": {
			reason: "A row of a uid that was never recorded is named, and does not keep the others from being compared.",
			plant: unguarded + `
			        INSERT INTO subscription_charges (cluster_id, subscription_uid, window_start, window_end, charge_source, amount_micros,
			          quantity, currency, finalized, offering_version_id, subscription_version_id, created_at, updated_at)
			        SELECT cluster_id, '2fffffff-0000-4000-8000-000000000001', window_start, window_end, charge_source, 7, 1, currency, true,
			               offering_version_id, subscription_version_id, created_at, updated_at
			          FROM subscription_charges WHERE charge_source = 'cpuHour';
			        UPDATE subscription_charges SET amount_micros = 37437 WHERE amount_micros = 37438`,
			want: []string{
				"unrecorded (2fffffff-0000-4000-8000-000000000001) 2026-04-01T10:00:00Z cpuHour: has a row of 7 micros, and no version of such a Subscription is recorded",
				"2026-04-01T10:00:00Z cpuHour: amount is 37437, should be 37438",
			},
			rows: 4, amount: "70037438",
		},
		"NobodysAlone": {
			reason: "Asked for, it is still a mistake and not an unknown uid.",
			plant: `INSERT INTO subscription_charges (cluster_id, subscription_uid, window_start, window_end, charge_source, amount_micros,
			          quantity, currency, finalized, offering_version_id, subscription_version_id, created_at, updated_at)
			        SELECT cluster_id, '2fffffff-0000-4000-8000-000000000001', window_start, window_end, charge_source, 7, 1, currency, true,
			               offering_version_id, subscription_version_id, created_at, updated_at
			          FROM subscription_charges WHERE charge_source = 'cpuHour'`,
			request: audit.Request{UID: "2fffffff-0000-4000-8000-000000000001"},
			want: []string{
				"unrecorded (2fffffff-0000-4000-8000-000000000001) 2026-04-01T10:00:00Z cpuHour: has a row of 7 micros, and no version of such a Subscription is recorded",
			},
			rows: 1, amount: "0",
		},
		"Measurement": {
			reason: "Somebody has changed what was measured, after it was charged.",
			plant:  `UPDATE provider_allocations SET cpu_core_usage_avg = 2 WHERE pod = 'orders-1' AND namespace = 'team-a'`,
			want: []string{
				"2026-04-01T10:00:00Z cpuHour: amount is 37438, should be 62992",
				"2026-04-01T10:00:00Z cpuHour: quantity is 1, should be 1.666666666666",
				`2026-04-01T10:00:00Z cpuHour: details is {"books":[{"currency":"EUR","quantity":"0.333333333333","pricebookId":1,"unitPriceMicros":35650},` +
					`{"currency":"EUR","quantity":"0.666666666666","pricebookId":2,"unitPriceMicros":38332}]}, should be ` +
					`{"books":[{"pricebookId":1,"currency":"EUR","unitPriceMicros":35650,"quantity":"0.333333333333"},` +
					`{"pricebookId":2,"currency":"EUR","unitPriceMicros":38332,"quantity":"1.333333333333"}]}`,
			},
			rows: 3, amount: "70062992",
		},
		"ClosedOut": {
			reason: "An ended life has its last tick ahead of the watermark.",
			plant: `INSERT INTO subscriptions (cluster_id, namespace, name, uid, generation, content_hash, valid_from, activated_at, deactivated_at,
			          offering_namespace, offering_name, offering_uid, spec)
			        SELECT cluster_id, namespace, name, uid, 2, 'b', valid_from + interval '2 hours', activated_at, '2026-04-01T11:20:00Z',
			               offering_namespace, offering_name, offering_uid, spec FROM subscriptions;
			        INSERT INTO subscription_charges (cluster_id, subscription_uid, window_start, window_end, charge_source, amount_micros,
			          quantity, unit_price_micros, currency, finalized, offering_version_id, subscription_version_id, details, created_at, updated_at)
			        SELECT cluster_id, subscription_uid, '2026-04-01T11:00:00Z', '2026-04-01T12:00:00Z', charge_source, amount_micros,
			               quantity, unit_price_micros, currency, true, offering_version_id, 2, '{"closeOut": true}', created_at, updated_at
			          FROM subscription_charges WHERE amount_micros = 40000000`,
			rows: 4, amount: "110037438",
		},
		"Elsewhere": {
			reason:  "What is not asked for is not looked at.",
			plant:   unguarded + `UPDATE subscription_charges SET amount_micros = 1 WHERE charge_source = 'cpuHour'`,
			request: audit.Request{To: period(t, "2026-04-01T10").Start},
			rows:    1, amount: "30000000",
		},
		"Nobody": {
			reason: "Where nothing was charged there is nothing to verify.",
			plant:  unguarded + `DELETE FROM subscription_charges; DELETE FROM subscription_watermarks`,
			amount: "0",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			db, settings := world(t)
			if tc.plant != "" {
				db.Run(t, tc.plant)
			}
			var out bytes.Buffer
			got, err := audit.Verify(t.Context(), settings, tc.request, &out)
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			for line := range strings.Lines(out.String()) {
				lines = append(lines, strings.TrimPrefix(strings.TrimSpace(line), "team-a/orders ("+orders+") "))
			}
			if diff := cmp.Diff(tc.want, lines); diff != "" {
				t.Errorf("%s\nDifferences: -want, +got:\n%s", tc.reason, diff)
			}
			if got.Rows != tc.rows || got.Amount.String() != tc.amount || got.Differences != int64(len(tc.want)) {
				t.Errorf("%s\nWant %d rows, %s micros and %d differences, got %+v", tc.reason, tc.rows, tc.amount, len(tc.want), got)
			}
		})
	}
}

// TestVerifyFarAhead has the last tick of a very long period, which was closed out
// fifty years ahead: its row is compared, and nobody walks through all the hours
// between.
func TestVerifyFarAhead(t *testing.T) {
	db, settings := world(t)
	db.Run(t, `
		SELECT finops_ensure_months('2076-04-01', '2076-04-01');
		INSERT INTO subscription_charges (cluster_id, subscription_uid, window_start, window_end, charge_source, amount_micros,
		       quantity, unit_price_micros, currency, finalized, offering_version_id, subscription_version_id, details, created_at, updated_at)
		SELECT cluster_id, subscription_uid, '2076-04-01T11:00:00Z', '2076-04-01T12:00:00Z', charge_source, amount_micros - 1,
		       quantity, unit_price_micros, currency, true, offering_version_id, subscription_version_id, '{"closeOut": true}', created_at, updated_at
		  FROM subscription_charges WHERE amount_micros = 40000000`)
	var sent pgtest.Steps
	settings.Database.Tracer = &sent
	var out bytes.Buffer
	got, err := audit.Verify(t.Context(), settings, audit.Request{}, &out)
	if err != nil {
		t.Fatal(err)
	}
	if got.Rows != 4 || !strings.Contains(out.String(), "2076-04-01T11:00:00Z subscription: amount is 39999999, should be 40000000") {
		t.Errorf("The row far ahead is compared, got %+v:\n%s", got, &out)
	}
	if n := sent.Count(); n == 0 || n > 40 {
		t.Errorf("Verify sent %d statements for two days with rows", n)
	}
}

// meanwhile does something once usage is asked for, which is after everything that
// is read first.
type meanwhile struct {
	once sync.Once
	do   func()
}

func (m *meanwhile) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if strings.Contains(q.SQL, "CREATE TEMPORARY TABLE usage_sources") {
		m.once.Do(m.do)
	}
	return ctx
}

func (*meanwhile) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TestVerifyDuringARun has a charge run that catches up, for somebody who is
// behind others and for somebody who is new, while the final rows are compared.
// What it writes is no difference, and is compared the next time.
func TestVerifyDuringARun(t *testing.T) {
	const fees = `INSERT INTO subscriptions (cluster_id, namespace, name, uid, generation, content_hash, valid_from, activated_at,
		       offering_namespace, offering_name, offering_uid, spec)
		SELECT cluster_id, namespace, '%[1]s', '30000000-0000-4000-8000-00000000000%[2]d', 1, 'a', valid_from, activated_at,
		       offering_namespace, offering_name, offering_uid, '{}' FROM subscriptions WHERE name = 'orders';
		INSERT INTO subscription_charges (cluster_id, subscription_uid, window_start, window_end, charge_source, amount_micros,
		       quantity, unit_price_micros, currency, finalized, offering_version_id, subscription_version_id, details, created_at, updated_at)
		SELECT cluster_id, '30000000-0000-4000-8000-00000000000%[2]d', window_start, window_end, charge_source, amount_micros,
		       quantity, unit_price_micros, currency, true, offering_version_id, (SELECT id FROM subscriptions WHERE name = '%[1]s'), details,
		       created_at, updated_at FROM subscription_charges WHERE subscription_uid = '` + orders + `' AND charge_source = 'subscription';
		INSERT INTO subscription_watermarks (cluster_id, subscription_uid, finalized_through, updated_at)
		VALUES ('test', '30000000-0000-4000-8000-00000000000%[2]d', '2026-04-01T10:00:00Z', '2026-04-01T12:00:00Z');`
	db, settings := world(t)
	db.Run(t, fmt.Sprintf(fees, "other", 2)+`
		ALTER TABLE subscription_charges DISABLE TRIGGER finalized_charge_is_history;
		UPDATE subscription_charges SET finalized = false WHERE subscription_uid = '`+orders+`' AND window_start = '2026-04-01T10:00:00Z';
		UPDATE subscription_watermarks SET finalized_through = '2026-04-01T09:00:00Z' WHERE subscription_uid = '`+orders+`'`)
	verify := func(settings audit.Settings) audit.Result {
		t.Helper()
		var out bytes.Buffer
		got, err := audit.Verify(t.Context(), settings, audit.Request{}, &out)
		if err != nil {
			t.Fatal(err)
		}
		if got.Differences != 0 {
			t.Errorf("There is none, got:\n%s", &out)
		}
		return got
	}

	ran := settings
	ran.Database.Tracer = &meanwhile{do: func() {
		db.Run(t, fmt.Sprintf(fees, "new", 0)+`
			UPDATE subscription_charges SET finalized = true;
			UPDATE subscription_watermarks SET finalized_through = '2026-04-01T10:00:00Z'`)
	}}
	if got := verify(ran); got.Rows != 3 {
		t.Errorf("Want the 3 rows that were final before, got %+v", got)
	}
	if got := verify(settings); got.Rows != 7 || got.Amount.String() != "210037438" {
		t.Errorf("Want 7 rows of 210037438 micros afterwards, got %+v", got)
	}
}

// TestVerifyNobody asks for a uid that nobody has, which is a mistake and not an
// audit without differences.
func TestVerifyNobody(t *testing.T) {
	_, settings := world(t)
	for _, uid := range []string{"30000000-0000-4000-8000-00000000000f", "orders"} {
		_, err := audit.Verify(t.Context(), settings, audit.Request{UID: uid}, &bytes.Buffer{})
		if want := fmt.Sprintf("cannot find subscription uid %q", uid); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Verify(%q): want an error with %q, got %v", uid, want, err)
		}
	}
}

// TestVerifyElsewhere asks for a cluster that the database does not know, as one does
// who has left out CLUSTER_ID.
func TestVerifyElsewhere(t *testing.T) {
	db, settings := world(t)
	if err := postgres.ClaimCluster(t.Context(), db.Pool, postgres.Owner{ClusterID: "blue", Identity: "a"}); err != nil {
		t.Fatal(err)
	}
	settings.ClusterID = "elsewhere"
	_, err := audit.Verify(t.Context(), settings, audit.Request{}, &bytes.Buffer{})
	if want := `cannot find cluster "elsewhere": the clusters of this database are ["blue"]`; err == nil || err.Error() != want {
		t.Errorf("Verify: want the error %s, got %v", want, err)
	}

	settings.ClusterID = "blue"
	if got, err := audit.Verify(t.Context(), settings, audit.Request{}, &bytes.Buffer{}); err != nil || got.Rows != 0 {
		t.Errorf("Verify: want nothing to be wrong where nobody has subscribed yet, got %+v, %v", got, err)
	}
}

// TestExplain compares what is said with the files that the guide shows.
func TestExplain(t *testing.T) {
	_, settings := world(t)
	cases := map[string]struct {
		subscription, period string
		source               pricing.Meter
	}{
		"month":      {"team-a/orders", "2026-04", ""},
		"usage-hour": {"team-a/orders", "2026-04-01T10", pricing.MeterCPUHour},
		"fee-hour":   {orders, "2026-04-01T09:00:00Z", pricing.MeterSubscription},
		"nothing":    {orders, "2026-04-02", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			q := audit.Question{Subscription: tc.subscription, Period: period(t, tc.period), Source: tc.source}
			if err := audit.Explain(t.Context(), settings, q, &out); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", "explain-"+name+".txt")
			if *update {
				if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), out.String()); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", file, diff)
			}
		})
	}
}

func TestExplainNobody(t *testing.T) {
	_, settings := world(t)
	err := audit.Explain(t.Context(), settings, audit.Question{Subscription: "team-a/none", Period: period(t, "2026-04")}, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), `cannot find subscription "team-a/none"`) {
		t.Errorf("A name that nobody has held is said to be so, got %v", err)
	}
}

func TestParsePeriod(t *testing.T) {
	cases := map[string]struct {
		reason, text, start, end string
	}{
		"Month":      {"A leap year's February has 29 days.", "2028-02", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"},
		"Day":        {"A day ends with the month.", "2026-04-30", "2026-04-30T00:00:00Z", "2026-05-01T00:00:00Z"},
		"Hour":       {"As people type it.", "2026-04-01T10", "2026-04-01T10:00:00Z", "2026-04-01T11:00:00Z"},
		"Instant":    {"As a status shows it.", "2026-04-01T10:00:00Z", "2026-04-01T10:00:00Z", "2026-04-01T11:00:00Z"},
		"OtherZone":  {"Another zone's hour is still an hour.", "2026-04-01T12:00:00+02:00", "2026-04-01T10:00:00Z", "2026-04-01T11:00:00Z"},
		"HalfAnHour": {"No row begins there.", "2026-04-01T10:30:00Z", "", ""},
		"Year":       {"There is no bucket of a year.", "2026", "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := audit.ParsePeriod(tc.text)
			got := []string{"", ""}
			if err == nil {
				got = []string{p.Start.Format("2006-01-02T15:04:05Z"), p.End.Format("2006-01-02T15:04:05Z")}
			}
			if diff := cmp.Diff([]string{tc.start, tc.end}, got); diff != "" {
				t.Errorf("%s\nParsePeriod(%q): -want, +got:\n%s", tc.reason, tc.text, diff)
			}
		})
	}
}

func TestFromEnvironment(t *testing.T) {
	cases := map[string]struct {
		reason string
		env    map[string]string
		want   string
	}{
		"Complete":  {"The database is enough.", map[string]string{"POSTGRES_CONNECTION_STRING": "postgres://x"}, ""},
		"Missing":   {"Without a database there is nothing to look at.", nil, "environment variable POSTGRES_CONNECTION_STRING must be set"},
		"Aggregate": {"The variable that cannot be read is named.", map[string]string{"POSTGRES_CONNECTION_STRING": "x", "OPENCOST_AGGREGATE": "no such"}, "environment variable OPENCOST_AGGREGATE"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := audit.FromEnvironment(func(name string) string { return tc.env[name] })
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\nFromEnvironment(...): want %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}

func period(t *testing.T, text string) audit.Period {
	t.Helper()
	p, err := audit.ParsePeriod(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

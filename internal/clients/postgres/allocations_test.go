package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/collection"
	"github.com/provider-finops/provider-finops/internal/finops/decimal"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// lunchtime is the hour most of these tests are about.
var lunchtime = time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC)

var allocationScope = postgres.Scope{ClusterID: cluster, Aggregation: collection.DefaultAggregation}

func TestStoreHour(t *testing.T) {
	type step struct {
		rows      []collection.Measurement
		finalized bool
	}

	type want struct {
		stored postgres.Stored // Of the last step.
		rows   []string        // Name, cores, whether final.
		days   []string        // Controller, rows, core-seconds.
	}

	cases := map[string]struct {
		reason string
		steps  []step
		want   want
	}{
		"Fresh": {
			reason: "A fresh hour goes straight into the table, and its day with it.",
			steps:  []step{{rows: measured("web-1 0.5", "web-2 0.25", "db-1 2")}},
			want: want{
				stored: postgres.Stored{Rows: 3, Added: 3},
				rows:   []string{"db-1 2 open", "web-1 0.5 open", "web-2 0.25 open"},
				days:   []string{"db 1 7200", "web 2 2700"},
			},
		},
		"Replay": {
			reason: "Equal rows are not written again.",
			steps:  []step{{rows: measured("web-1 0.5", "db-1 2")}, {rows: measured("web-1 0.5", "db-1 2")}},
			want: want{
				stored: postgres.Stored{Rows: 2},
				rows:   []string{"db-1 2 open", "web-1 0.5 open"},
				days:   []string{"db 1 7200", "web 1 1800"},
			},
		},
		"Vanished": {
			reason: "A workload that is no longer reported goes (OPEN-CJ-7), what is changed is replaced, what is new is added.",
			steps:  []step{{rows: measured("web-1 0.5", "web-2 1", "db-1 2")}, {rows: measured("web-1 0.75", "web-2 1", "cache-1 3")}},
			want: want{
				stored: postgres.Stored{Rows: 3, Added: 2, Removed: 2},
				rows:   []string{"cache-1 3 open", "web-1 0.75 open", "web-2 1 open"},
				days:   []string{"cache 1 10800", "web 2 6300"},
			},
		},
		"Finalizing": {
			reason: "The last fetch of an hour makes its rows final, equal ones too; the day stays as it is.",
			steps:  []step{{rows: measured("web-1 0.5")}, {rows: measured("web-1 0.5"), finalized: true}},
			want: want{
				stored: postgres.Stored{Rows: 1, Added: 1, Removed: 1},
				rows:   []string{"web-1 0.5 final"},
				days:   []string{"web 1 1800"},
			},
		},
		"Final": {
			reason: "A final row is never touched, neither changed nor taken for vanished.",
			steps:  []step{{rows: measured("web-1 0.5", "web-2 1"), finalized: true}, {rows: measured("web-1 9")}},
			want: want{
				stored: postgres.Stored{Rows: 1},
				rows:   []string{"web-1 0.5 final", "web-2 1 final"},
				days:   []string{"web 2 5400"},
			},
		},
		"Nothing": {
			reason: "An answer without any row deletes nothing: OpenCost forgets.",
			steps:  []step{{rows: measured("web-1 0.5")}, {}},
			want: want{
				rows: []string{"web-1 0.5 open"},
				days: []string{"web 1 1800"},
			},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pool := allocationDatabase(t)
			got := want{}
			for n, step := range tc.steps {
				var err error
				if got.stored, err = storeHour(t, pool, postgres.Batch{Hour: lunchtime, Fresh: n == 0, Finalized: step.finalized}, sequence(step.rows, nil)); err != nil {
					t.Fatal(err)
				}
			}
			got.rows = list(t, pool, "SELECT name || ' ' || trim_scale(cpu_core_usage_avg) || CASE WHEN is_finalized THEN ' final' ELSE ' open' END FROM provider_allocations ORDER BY name")
			got.days = list(t, pool, "SELECT controller || ' ' || row_count || ' ' || cpu_core_seconds FROM allocation_days ORDER BY controller")
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestStoreHourWritesEveryColumn reads back one row in full.
func TestStoreHourWritesEveryColumn(t *testing.T) {
	pool := allocationDatabase(t)
	book, err := postgres.StorePriceBook(t.Context(), pool, cluster, postgres.PriceBook{Namespace: "finops", Name: "tariff", UID: uidA, Generation: 1, Currency: "EUR"}, lunchtime)
	if err != nil {
		t.Fatal(err)
	}

	_, err = storeHour(t, pool, postgres.Batch{Hour: lunchtime, Fresh: true, Finalized: true, Book: &book}, sequence([]collection.Measurement{{
		Workload: collection.Workload{Name: "ml/train-1/train", Namespace: "ml", Pod: "train-1", Container: "train", Controller: "train", ControllerKind: "job"},
		Start:    lunchtime.Add(5 * time.Minute), End: lunchtime.Add(45 * time.Minute), Minutes: quantity("40"),
		CPUCores: quantity("1.90126"), RAMBytes: quantity("7417507450.98333"), GPUs: quantity("8"), GPUsUsed: quantity("2.00001"),
		PVByteHours: quantity("1e+21"), SentBytes: quantity("0.00007"), RecvBytes: quantity("3"),
	}}, nil))
	if err != nil {
		t.Fatal(err)
	}

	got := list(t, pool, `SELECT concat_ws('|', cluster_id, aggregation, hour, namespace, name, alloc_start, alloc_end, collected_at,
		pricebook_id, is_finalized, pod, container, controller, controller_kind, currency, minutes, cpu_core_usage_avg, ram_bytes_usage_avg,
		gpu_count, gpu_usage_avg, pv_byte_hours, network_transfer_bytes, network_receive_bytes) FROM provider_allocations`)
	want := []string{"default|namespace,pod,container|2026-04-01 12:00:00+00|ml|ml/train-1/train|2026-04-01 12:05:00+00|2026-04-01 12:45:00+00|" +
		"2026-04-01 13:00:00+00|1|t|train-1|train|train|job|EUR|40|1.90126|7417507450.98333|8|2.00001|1000000000000000000000|0.00007|3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestStoreHourIsTakenBack lets an hour fail at its last row, in both ways it
// is stored, and in the database as well as before it.
func TestStoreHourIsTakenBack(t *testing.T) {
	cut := errors.New("the answer is cut off")

	cases := map[string]struct {
		reason string
		fresh  bool
		rows   iter.Seq2[collection.Measurement, error]
		want   error
	}{
		"FreshHourCutOff":  {reason: "A COPY into the table itself.", fresh: true, rows: sequence(measured("a-1 1", "b-1 2"), cut), want: cut},
		"StoredHourCutOff": {reason: "A COPY into the staging table.", rows: sequence(measured("a-1 1", "b-1 2"), cut), want: cut},
		"NothingButAnError": {
			reason: "An error before any row.", fresh: true, rows: sequence(nil, cut), want: cut,
		},
		"RefusedByTheDatabase": {
			reason: "One name twice is the database's to find.", fresh: true, rows: sequence(measured("a-1 1", "a-1 2"), nil), want: errTwice,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pool := allocationDatabase(t)
			if !tc.fresh {
				if _, err := storeHour(t, pool, postgres.Batch{Hour: lunchtime, Fresh: true}, sequence(measured("a-1 7"), nil)); err != nil {
					t.Fatal(err)
				}
			}
			before := list(t, pool, "SELECT a::text FROM provider_allocations AS a")

			// The hour before and the one after it are stored in the same transaction.
			err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
				if _, err := inSavepoint(t.Context(), tx, postgres.Batch{Hour: lunchtime.Add(-time.Hour), Fresh: true}, sequence(measured("early-1 1"), nil)); err != nil {
					return err
				}
				if _, err := inSavepoint(t.Context(), tx, postgres.Batch{Hour: lunchtime, Fresh: tc.fresh}, tc.rows); !is(err, tc.want) {
					return fmt.Errorf("got %w, want %w", err, tc.want)
				}
				if _, err := inSavepoint(t.Context(), tx, postgres.Batch{Hour: lunchtime.Add(time.Hour), Fresh: true}, sequence(measured("late-1 1"), nil)); err != nil {
					return err
				}
				return postgres.FoldDays(t.Context(), tx)
			})
			if err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}

			after := list(t, pool, "SELECT a::text FROM provider_allocations AS a WHERE hour = '2026-04-01T12:00:00Z'")
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("%s\nrows of the failed hour: -before, +after:\n%s", tc.reason, diff)
			}
			others := list(t, pool, "SELECT name FROM provider_allocations WHERE hour <> '2026-04-01T12:00:00Z' ORDER BY name")
			if diff := cmp.Diff([]string{"early-1", "late-1"}, others); diff != "" {
				t.Errorf("%s\nrows of the other hours: -want, +got:\n%s", tc.reason, diff)
			}
			rollUpAgrees(t, pool)
		})
	}
}

// errTwice stands for what the server says of a row that is there.
var errTwice = errors.New("unique_violation")

func is(err, want error) bool {
	var refused *pgconn.PgError
	return errors.Is(err, want) || errors.Is(want, errTwice) && errors.As(err, &refused) && refused.Code == "23505"
}

// TestReplayWritesNothing looks at the server's own counters.
func TestReplayWritesNothing(t *testing.T) {
	pool := allocationDatabase(t)
	rows := measured("web-1 0.5", "web-2 1", "db-1 2")
	store := func(fresh bool) {
		if _, err := storeHour(t, pool, postgres.Batch{Hour: lunchtime, Fresh: fresh}, sequence(rows, nil)); err != nil {
			t.Fatal(err)
		}
		for hour, state := range map[time.Time]collection.State{lunchtime: collection.Open, lunchtime.Add(time.Hour): collection.Open} {
			if err := postgres.RecordHour(t.Context(), pool, allocationScope, postgres.HourRecord{Hour: hour, State: state}, lunchtime.Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := postgres.StorePriceBook(t.Context(), pool, cluster, postgres.PriceBook{Namespace: "finops", Name: "tariff", UID: uidA, Currency: "EUR"}, lunchtime); err != nil {
			t.Fatal(err)
		}
	}

	store(true)
	before := pgtest.Changes(t, pool)
	store(false)
	if diff := cmp.Diff(before, pgtest.Changes(t, pool)); diff != "" {
		t.Errorf("-before, +after the replay:\n%s", diff)
	}
}

// TestEveryColumnCounts changes one value of an answer at a time and wants that
// row to be replaced, and no other: whatever makes a replay quick may overlook
// no difference.
func TestEveryColumnCounts(t *testing.T) {
	pool := allocationDatabase(t)
	store := func(fresh bool, rows []collection.Measurement) postgres.Stored {
		t.Helper()
		stored, err := storeHour(t, pool, postgres.Batch{Hour: lunchtime, Fresh: fresh}, sequence(rows, nil))
		if err != nil {
			t.Fatal(err)
		}
		return stored
	}
	rows := measured("web-1 0.5", "db-1 2", "cache-1 0.00007")
	store(true, rows)

	again := slices.Clone(rows)
	slices.Reverse(again)
	if diff := cmp.Diff(postgres.Stored{Rows: 3}, store(false, again)); diff != "" {
		t.Errorf("the same in another order: -want, +got:\n%s", diff)
	}

	one, replaced := quantity("1"), postgres.Stored{Rows: 3, Added: 1, Removed: 1}
	for column, change := range map[string]func(*collection.Measurement){
		"name":                   func(m *collection.Measurement) { m.Name = "x" },
		"namespace":              func(m *collection.Measurement) { m.Namespace = "x" },
		"pod":                    func(m *collection.Measurement) { m.Pod = "x" },
		"container":              func(m *collection.Measurement) { m.Container = "x" },
		"controller":             func(m *collection.Measurement) { m.Controller = "x" },
		"controller_kind":        func(m *collection.Measurement) { m.ControllerKind = "x" },
		"alloc_start":            func(m *collection.Measurement) { m.Start, m.End = lunchtime.Add(time.Second), lunchtime.Add(time.Hour) },
		"alloc_end":              func(m *collection.Measurement) { m.Start, m.End = lunchtime, lunchtime.Add(time.Minute) },
		"minutes":                func(m *collection.Measurement) { m.Minutes = one },
		"cpu_core_usage_avg":     func(m *collection.Measurement) { m.CPUCores = quantity("0.50001") },
		"ram_bytes_usage_avg":    func(m *collection.Measurement) { m.RAMBytes = one },
		"gpu_count":              func(m *collection.Measurement) { m.GPUs = one },
		"gpu_usage_avg":          func(m *collection.Measurement) { m.GPUsUsed = one },
		"pv_byte_hours":          func(m *collection.Measurement) { m.PVByteHours = one },
		"network_transfer_bytes": func(m *collection.Measurement) { m.SentBytes = one },
		"network_receive_bytes":  func(m *collection.Measurement) { m.RecvBytes = one },
	} {
		changed := slices.Clone(rows)
		change(&changed[0])
		if diff := cmp.Diff(replaced, store(false, changed)); diff != "" {
			t.Errorf("%s has another value: -want, +got:\n%s", column, diff)
		}
		if diff := cmp.Diff(replaced, store(false, rows)); diff != "" {
			t.Errorf("%s has its value again: -want, +got:\n%s", column, diff)
		}
	}
	rollUpAgrees(t, pool)
}

// TestRollUpAgrees is the law of the roll-up: whatever happens to the hours, in
// whatever order, a day is the sum of its hours.
func TestRollUpAgrees(t *testing.T) {
	pool := allocationDatabase(t)
	random := rand.New(rand.NewPCG(2026, 11))
	stored := map[time.Time]bool{}

	for range 60 {
		count := random.IntN(6)
		rows := make([]collection.Measurement, 0, count)
		for n := range count {
			rows = append(rows, measured(fmt.Sprintf("w%d-%d %d.%05d", n%3, n, random.IntN(4), random.IntN(100_000)))...)
		}
		hour := lunchtime.Add(time.Duration(random.IntN(30)) * time.Hour)
		for n := range rows { // They ran for as long as each other, or not.
			rows[n].Start, rows[n].End = hour, hour.Add(time.Duration(random.IntN(4)*20)*time.Minute)
		}
		result, err := storeHour(t, pool, postgres.Batch{Hour: hour, Fresh: !stored[hour], Finalized: random.IntN(8) == 0}, sequence(rows, nil))
		if err != nil {
			t.Fatal(err)
		}
		stored[hour] = stored[hour] || result.Rows > 0
	}
	rollUpAgrees(t, pool)
}

// rollUpAgrees compares the roll-up with the sum of the hours, by text, so that
// two scales of one number are told apart.
func rollUpAgrees(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()

	const columns = "day, namespace, controller_kind, controller, row_count, cpu_core_seconds, gpu_seconds, ram_byte_seconds, pv_byte_hours, network_bytes"
	got := list(t, pool, "SELECT concat_ws('|', "+columns+") FROM allocation_days ORDER BY day, controller")
	want := list(t, pool, `SELECT concat_ws('|', `+columns+`) FROM (
		SELECT (hour AT TIME ZONE 'UTC')::date AS day, namespace, controller_kind, controller, count(*) AS row_count,
		       trim_scale(sum(cpu_core_usage_avg * extract(epoch FROM alloc_end - alloc_start))) AS cpu_core_seconds,
		       trim_scale(sum(gpu_usage_avg * extract(epoch FROM alloc_end - alloc_start))) AS gpu_seconds,
		       trim_scale(sum(ram_bytes_usage_avg * extract(epoch FROM alloc_end - alloc_start))) AS ram_byte_seconds,
		       trim_scale(sum(pv_byte_hours)) AS pv_byte_hours,
		       trim_scale(sum(network_transfer_bytes + network_receive_bytes)) AS network_bytes
		  FROM provider_allocations GROUP BY 1, 2, 3, 4) AS sums ORDER BY day, controller`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the roll-up: -sum of the hours, +stored:\n%s", diff)
	}
}

func TestSummary(t *testing.T) {
	pool := allocationDatabase(t)
	behind := func() bool {
		t.Helper()
		is, err := postgres.SummaryIsBehind(t.Context(), pool, allocationScope, lunchtime, lunchtime)
		if err != nil {
			t.Fatal(err)
		}
		return is
	}

	if behind() {
		t.Error("an empty summary is behind an empty roll-up")
	}
	if _, err := storeHour(t, pool, postgres.Batch{Hour: lunchtime, Fresh: true}, sequence(measured("web-1 0.5", "db-1 2"), nil)); err != nil {
		t.Fatal(err)
	}
	if !behind() {
		t.Error("the summary is not behind rows that were added")
	}
	if err := postgres.RefreshSummary(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	if behind() {
		t.Error("the summary is behind after its refresh")
	}
	if _, err := storeHour(t, pool, postgres.Batch{Hour: lunchtime}, sequence(measured("web-1 0.5"), nil)); err != nil {
		t.Fatal(err)
	}
	if !behind() {
		t.Error("the summary is not behind a row that has gone")
	}
}

// measured makes measurements of texts such as "web-1 0.5": a container of a
// controller and the cores it used for an hour.
func measured(texts ...string) []collection.Measurement {
	all := make([]collection.Measurement, 0, len(texts))
	for _, text := range texts {
		name, cores, _ := strings.Cut(text, " ")
		controller, _, _ := strings.Cut(name, "-")
		all = append(all, collection.Measurement{
			Workload: collection.Workload{Name: name, Namespace: "shop", Pod: name, Controller: controller, ControllerKind: "deployment"},
			CPUCores: quantity(cores), Minutes: quantity("60"), SentBytes: quantity("3"),
		})
	}
	return all
}

func sequence(rows []collection.Measurement, err error) iter.Seq2[collection.Measurement, error] {
	return func(yield func(collection.Measurement, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
		if err != nil {
			yield(collection.Measurement{}, err)
		}
	}
}

// allocationDatabase is a database with the months these tests write to.
func allocationDatabase(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool := pgtest.Database(t).Pool
	if _, err := postgres.EnsureMonths(t.Context(), pool, lunchtime.AddDate(0, -1, 0), lunchtime.AddDate(0, 1, 0)); err != nil {
		t.Fatal(err)
	}
	return pool
}

// storeHour stores a batch in a transaction of its own.
func storeHour(t *testing.T, pool *pgxpool.Pool, b postgres.Batch, rows iter.Seq2[collection.Measurement, error]) (stored postgres.Stored, err error) {
	t.Helper()
	err = pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		if stored, err = inSavepoint(t.Context(), tx, b, rows); err != nil {
			return err
		}
		return postgres.FoldDays(t.Context(), tx)
	})
	return stored, err
}

func inSavepoint(ctx context.Context, tx pgx.Tx, b postgres.Batch, rows iter.Seq2[collection.Measurement, error]) (stored postgres.Stored, err error) {
	b.Scope = allocationScope
	b.CollectedAt = lunchtime.Add(time.Hour)
	encoded, failure := []byte(nil), io.EOF
	count := int64(0)
	for m, err := range rows {
		if count++; err != nil {
			failure = err
			break
		}
		if m.Start.IsZero() {
			m.Start, m.End = b.Hour, b.Hour.Add(time.Hour)
		}
		encoded = postgres.AppendAllocation(encoded, &b, &m)
	}
	from := func() io.Reader { return io.MultiReader(bytes.NewReader(encoded), iotest.ErrReader(failure)) }
	err = pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
		stored, err = postgres.StoreHour(ctx, tx, b, postgres.AllocationRows{Count: count, From: from})
		return err
	})
	return stored, err
}

// list runs a query of one text column.
func list(t *testing.T, pool *pgxpool.Pool, sql string) []string {
	t.Helper()
	rows, err := pool.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if len(texts) == 0 {
		return nil
	}
	return texts
}

func quantity(text string) decimal.Decimal {
	d, err := decimal.Parse(text)
	if err != nil {
		panic(err)
	}
	return d
}

// TestQuantitiesArriveExactly reads back numbers of every length and scale: what
// is sent is PostgreSQL's own form of them, so a digit in the wrong place would
// be money.
func TestQuantitiesArriveExactly(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 11))
	texts := []string{
		"0", "1", "9999", "10000", "10001", "100000000", "0.1", "0.0001", "0.00001", "0.99999", "1.00001", "9999.9999", "10000.0001",
		"9223372036854775807", "9223372036854775808", "123456789012345678901234567890", "0.000000000000000000000000000001",
		"123456789012345678901234567890.123456789012345678901234567891", "7e-05", "1.5E+3",
	}
	for range 2000 {
		text := fmt.Sprint(random.Uint64() >> random.IntN(64))
		if random.IntN(2) == 0 {
			text += fmt.Sprintf(".%0*d", 1+random.IntN(18), random.Uint64()>>(10+random.IntN(50))%100)
		}
		texts = append(texts, text)
	}

	pool := allocationDatabase(t)
	rows := make([]collection.Measurement, 0, len(texts))
	for n, text := range texts {
		q := quantity(text)
		rows = append(rows, collection.Measurement{
			Workload: collection.Workload{Name: fmt.Sprintf("%05d %s", n, text), Namespace: "shop"},
			CPUCores: q, PVByteHours: q.Mul(quantity("0.5")), SentBytes: q.Mul(quantity("1000")),
		})
	}
	if _, err := storeHour(t, pool, postgres.Batch{Hour: lunchtime, Fresh: true}, sequence(rows, nil)); err != nil {
		t.Fatal(err)
	}
	wrong := list(t, pool, `SELECT name || ' is ' || cpu_core_usage_avg FROM provider_allocations
		WHERE (cpu_core_usage_avg, pv_byte_hours, network_transfer_bytes)
		      <> (split_part(name, ' ', 2)::numeric, split_part(name, ' ', 2)::numeric * 0.5, split_part(name, ' ', 2)::numeric * 1000) ORDER BY name`)
	if len(wrong) > 0 {
		t.Errorf("%d of %d quantities arrived otherwise, the first: %s", len(wrong), len(texts), wrong[0])
	}
}

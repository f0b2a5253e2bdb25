package postgres_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/collection"
)

// TestLateChanges answers an hour with a final row otherwise: the row stands, it
// is counted, and the same answer again is no news.
func TestLateChanges(t *testing.T) {
	pool := allocationDatabase(t)
	if _, err := storeHour(t, pool, postgres.Batch{Hour: lunchtime, Fresh: true, Finalized: true}, sequence(measured("web-1 1", "web-2 1", "db-1 1"), nil)); err != nil {
		t.Fatal(err)
	}

	for _, step := range []struct {
		reason string
		rows   []collection.Measurement
		want   int64 // Of the answer.
		total  int64
	}{
		{"The same is no change.", measured("web-1 1", "web-2 1", "db-1 1"), 0, 0},
		{"One is told otherwise, one not at all; one is new.", measured("web-1 2", "db-1 1", "new-1 1"), 2, 2},
		{"Told again it is no news.", measured("web-1 2", "db-1 1", "new-1 1"), 2, 2},
		{"Less is no news either.", measured("web-1 1", "db-1 1", "new-1 1"), 1, 2},
	} {
		stored, err := storeHour(t, pool, postgres.Batch{Hour: lunchtime, PartlyFinal: true}, sequence(step.rows, nil))
		if err != nil {
			t.Fatal(err)
		}
		record := postgres.HourRecord{Hour: lunchtime, State: collection.Open, Late: stored.Late}
		if err := postgres.RecordHour(t.Context(), pool, allocationScope, record, lunchtime); err != nil {
			t.Fatal(err)
		}
		total, err := postgres.LateChanges(t.Context(), pool, allocationScope)
		if err != nil || stored.Late != step.want || total != step.total {
			t.Errorf("%s\n%d late changes, %d in all (%v), want %d and %d", step.reason, stored.Late, total, err, step.want, step.total)
		}
	}
	got := list(t, pool, "SELECT name || ' ' || trim_scale(cpu_core_usage_avg) FROM provider_allocations WHERE is_finalized ORDER BY name")
	if diff := cmp.Diff([]string{"db-1 1", "web-1 1", "web-2 1"}, got); diff != "" {
		t.Errorf("what was final: -want, +got:\n%s", diff)
	}
}

func TestRecordHour(t *testing.T) {
	pool := allocationDatabase(t)
	record := func(state collection.State, err error, at time.Time) {
		t.Helper()
		if err := postgres.RecordHour(t.Context(), pool, allocationScope, postgres.HourRecord{Hour: lunchtime, State: state, Err: err}, at); err != nil {
			t.Fatal(err)
		}
	}
	stored := func() []string {
		return list(t, pool, "SELECT concat_ws('|', state, row_count, attempts, coalesce(last_error, '-'), updated_at) FROM allocation_hours")
	}

	for _, step := range []struct {
		reason string
		do     func()
		want   string
	}{
		{"The first look.", func() { record(collection.Open, nil, lunchtime) }, "open|0|0|-|2026-04-01 12:00:00+00"},
		{"The same again is not written.", func() { record(collection.Open, nil, lunchtime.Add(time.Hour)) }, "open|0|0|-|2026-04-01 12:00:00+00"},
		{
			"A failure is counted; its text is made printable.",
			func() { record(collection.Failed, errors.New("cut \x00 off\xff"), lunchtime.Add(time.Hour)) },
			"failed|0|1|cut \uFFFD off\uFFFD|2026-04-01 13:00:00+00",
		},
		{
			"So is the next one.",
			func() { record(collection.Failed, errors.New("cut off"), lunchtime.Add(2*time.Hour)) },
			"failed|0|2|cut off|2026-04-01 14:00:00+00",
		},
		{
			"A success takes the error away and keeps the count.",
			func() {
				if _, err := storeHour(t, pool, postgres.Batch{Hour: lunchtime, Fresh: true}, sequence(measured("web-1 1", "web-2 1"), nil)); err != nil {
					t.Fatal(err)
				}
				record(collection.Final, nil, lunchtime.Add(3*time.Hour))
			},
			"final|2|2|-|2026-04-01 15:00:00+00",
		},
	} {
		step.do()
		if diff := cmp.Diff([]string{step.want}, stored()); diff != "" {
			t.Fatalf("%s\n-want, +got:\n%s", step.reason, diff)
		}
	}
}

func TestCollectionEvidence(t *testing.T) {
	pool := allocationDatabase(t)
	read := func() collection.Evidence {
		t.Helper()
		got, err := postgres.CollectionEvidence(t.Context(), pool, allocationScope, lunchtime, lunchtime.Add(3*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	entry := func(n int) collection.Entry {
		return collection.Entry{Hour: lunchtime.Add(time.Duration(n) * time.Hour)}
	}

	want := collection.Evidence{Ledger: collection.Ledger{Entries: []collection.Entry{entry(0), entry(1), entry(2), entry(3)}}}
	if diff := cmp.Diff(want, read()); diff != "" {
		t.Errorf("nothing collected: -want, +got:\n%s", diff)
	}

	plant(t, pool, -48, collection.Empty, "")
	plant(t, pool, 0, collection.Final, "final")
	plant(t, pool, 1, collection.Open, "open")
	plant(t, pool, 3, collection.Failed, "")

	want = collection.Evidence{
		Measured:     true,
		EarliestOpen: lunchtime.Add(time.Hour),
		Ledger: collection.Ledger{
			First:         lunchtime.Add(-48 * time.Hour),
			LastCollected: lunchtime.Add(time.Hour), // The failed hour was not collected.
			Entries: []collection.Entry{
				{Hour: lunchtime, State: collection.Final, HasFinal: true},
				{Hour: lunchtime.Add(time.Hour), State: collection.Open, HasOpen: true},
				entry(2),
				{Hour: lunchtime.Add(3 * time.Hour), State: collection.Failed},
			},
		},
	}
	if diff := cmp.Diff(want, read()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestFinalizeStragglers(t *testing.T) {
	pool := allocationDatabase(t)
	plant(t, pool, -80, collection.Failed, "open") // Failed for good: what is stored is all there will be.
	plant(t, pool, 0, collection.Open, "open")
	plant(t, pool, 1, collection.Failed, "open") // Failed in this run, so spared.
	plant(t, pool, 2, collection.Open, "open")   // In progress.
	if _, err := pool.Exec(t.Context(), `INSERT INTO provider_allocations (cluster_id, aggregation, hour, namespace, name, alloc_start, alloc_end, collected_at, is_finalized)
		SELECT 'default', 'namespace', hour, 'shop', 'shop', hour, hour + interval '1 hour', now(), false
		FROM unnest(ARRAY['2026-03-25T12:00:00Z', '2026-04-01T12:00:00Z']::timestamptz[]) AS hour`); err != nil {
		t.Fatal(err)
	}

	settle := func() int64 {
		t.Helper()
		n, err := postgres.FinalizeStragglers(t.Context(), pool, allocationScope, postgres.Settlement{
			Pinned: lunchtime.Add(2 * time.Hour), Oldest: lunchtime.Add(-70 * time.Hour), Spared: []time.Time{lunchtime.Add(time.Hour)},
		}, lunchtime.Add(2*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}

	if n := settle(); n != 3 {
		t.Errorf("%d rows were finalized, want those of the oldest hour, of lunchtime, and the other aggregation's old one", n)
	}
	want := []string{
		"namespace 2026-03-25 12:00:00+00", "namespace,pod,container 2026-03-29 04:00:00+00", "namespace,pod,container 2026-04-01 12:00:00+00",
	}
	got := list(t, pool, "SELECT aggregation || ' ' || hour FROM provider_allocations WHERE is_finalized ORDER BY 1")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("final rows: -want, +got:\n%s", diff)
	}
	want = []string{"failed", "final", "failed", "open"}
	if diff := cmp.Diff(want, list(t, pool, "SELECT state FROM allocation_hours ORDER BY hour")); diff != "" {
		t.Errorf("states: -want, +got:\n%s", diff)
	}
	if n := settle(); n != 0 {
		t.Errorf("%d rows were finalized twice", n)
	}
}

func TestSettleLostHours(t *testing.T) {
	pool := allocationDatabase(t)
	plant(t, pool, -80, collection.Open, "")
	plant(t, pool, -79, collection.Failed, "")
	plant(t, pool, -78, collection.Open, "open")
	plant(t, pool, 0, collection.Failed, "") // The oldest that is fetched again.
	plant(t, pool, 1, collection.Open, "")

	settle := func() []time.Time {
		t.Helper()
		given, err := postgres.SettleLostHours(t.Context(), pool, allocationScope, lunchtime, lunchtime.Add(2*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		return given
	}

	if diff := cmp.Diff([]time.Time{lunchtime.Add(-79 * time.Hour)}, settle(), cmp.Comparer(time.Time.Equal)); diff != "" {
		t.Errorf("hours given up: -want, +got:\n%s", diff)
	}
	want := []string{"empty -", "failed given up: cut off", "open -", "failed cut off", "open -"}
	if diff := cmp.Diff(want, list(t, pool, "SELECT state || ' ' || coalesce(last_error, '-') FROM allocation_hours ORDER BY hour")); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if given := settle(); len(given) > 0 {
		t.Errorf("%s were given up twice", given)
	}
}

// plant puts an hour, counted from lunchtime, into the ledger, with a row of the kind
// "open" or "final", or without any.
func plant(t *testing.T, pool *pgxpool.Pool, n int, state collection.State, row string) {
	t.Helper()
	hour := lunchtime.Add(time.Duration(n) * time.Hour)
	if row != "" {
		if _, err := storeHour(t, pool, postgres.Batch{Hour: hour, Fresh: true, Finalized: row == "final"}, sequence(measured("web-1 1"), nil)); err != nil {
			t.Fatal(err)
		}
	}
	record := postgres.HourRecord{Hour: hour, State: state}
	if state == collection.Failed {
		record.Err = errors.New("cut off")
	}
	if err := postgres.RecordHour(t.Context(), pool, allocationScope, record, hour); err != nil {
		t.Fatal(err)
	}
}

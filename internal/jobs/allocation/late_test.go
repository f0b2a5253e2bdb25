package allocation

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// TestLateChange lets OpenCost tell an hour otherwise once it is final (F6).
// What is final stands. A run sees the change only where it has to ask again: in
// an hour that is final in part, and in one that was confirmed to be empty.
func TestLateChange(t *testing.T) {
	late := func(w *world) []string {
		return w.list("SELECT extract(hour FROM hour AT TIME ZONE 'UTC') || ' ' || late_changes FROM allocation_hours WHERE late_changes > 0 ORDER BY hour")
	}
	final := func(w *world, n string) []string {
		return w.list("SELECT (to_jsonb(a) - 'collected_at')::text FROM provider_allocations AS a WHERE is_finalized AND hour = '2026-04-01T" + n + ":00:00Z' ORDER BY 1")
	}

	t.Run("FinalHour", func(t *testing.T) {
		w := newWorld(t)
		w.collect(8, 9)
		before := final(w, "08")
		w.opencost.takeAsked()

		w.opencost.answer(8, items(at(8), "shop/other/app web 9"))
		w.collect(10)
		if asked := w.opencost.takeAsked(); slices.Contains(asked, 8) {
			t.Errorf("a final hour was asked for again: %v", asked)
		}
		if diff := cmp.Diff(before, final(w, "08")); diff != "" {
			t.Errorf("the final hour: -before, +after:\n%s", diff)
		}
		if got := late(w); len(got) > 0 {
			t.Errorf("what nobody has seen was counted: %v", got)
		}
	})

	t.Run("PartlyFinalHour", func(t *testing.T) {
		w := newWorld(t)
		w.collect(8)
		if _, err := w.database.Pool.Exec(t.Context(), "UPDATE provider_allocations SET is_finalized = true WHERE name = 'shop/web-1/app' AND hour = '2026-04-01T08:00:00Z'"); err != nil {
			t.Fatal(err)
		}
		before := final(w, "08")

		w.opencost.answer(8, items(at(8), "shop/web-1/app web 99", "shop/web-2/app web 7"))
		w.collect(9)
		if diff := cmp.Diff([]string{"8 1"}, late(w)); diff != "" {
			t.Errorf("hours and late changes: -want, +got:\n%s", diff)
		}
		got := final(w, "08")
		if len(got) != 2 || !slices.Contains(got, before[0]) {
			t.Errorf("want the final row as it was and the other as it is told now, got %v", got)
		}
		wantNoChange(t, w, 9)
	})

	t.Run("EmptyHour", func(t *testing.T) {
		w := newWorld(t)
		w.opencost.answer(0, items(at(0)))
		w.collect(0, 1, 2, 3, 4)
		if diff := cmp.Diff("0 empty 0 0", w.list("SELECT '0 ' || state || ' ' || row_count || ' ' || late_changes FROM allocation_hours WHERE hour = '2026-04-01T00:00:00Z'")[0]); diff != "" {
			t.Fatalf("before: -want, +got:\n%s", diff)
		}

		w.opencost.answer(0, nil)
		w.collect(5)
		if diff := cmp.Diff([]string{"0 3"}, late(w)); diff != "" {
			t.Errorf("hours and late changes: -want, +got:\n%s", diff)
		}
		if got := final(w, "00"); len(got) != 3 {
			t.Errorf("what was measured after all is kept, got %v", got)
		}
		wantNoChange(t, w, 5)
	})
}

// wantNoChange runs an hour again and wants no row to be written.
func wantNoChange(t *testing.T, w *world, n int) {
	t.Helper()
	before := pgtest.Changes(t, w.database.Pool)
	w.collect(n)
	if diff := cmp.Diff(before, pgtest.Changes(t, w.database.Pool)); diff != "" {
		t.Errorf("a second run of hour %d: -before, +after:\n%s", n, diff)
	}
}

package collection

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestBoundary(t *testing.T) {
	cases := map[string]struct {
		reason   string
		evidence Evidence
		want     Boundary
	}{
		"NobodyCollects": {
			reason:   "Nobody will ever collect, so usage is settled as it stands (OPEN-CJ-12).",
			evidence: Evidence{},
			want:     Unbounded(),
		},
		"NobodyCollectsAnyMore": {
			reason:   "The documented rule alone holds: the earliest hour with a provisional row.",
			evidence: Evidence{Measured: true, EarliestOpen: at(90), Ledger: ledger(final(80, 89), open(90), failed(91))},
			want:     Below(at(90)),
		},
		"NothingMeasuredYet": {
			reason:   "With no row at all nothing metered is final.",
			evidence: Evidence{Collecting: true},
			want:     Boundary{},
		},
		"NothingEverMeasured": {
			reason:   "The same when every hour was confirmed to be empty: a cluster without a single container is more likely a broken collector.",
			evidence: Evidence{Collecting: true, Ledger: ledger(empty(80, 99))},
			want:     Boundary{},
		},
		"Hourly": {
			reason:   "The hour in progress holds provisional rows.",
			evidence: Evidence{Collecting: true, Measured: true, EarliestOpen: at(100), Ledger: ledger(final(80, 99), open(100))},
			want:     Below(at(100)),
		},
		"CollectorIsDead": {
			reason:   "Every stored row is final, yet nothing after the last collected hour was measured.",
			evidence: Evidence{Collecting: true, Measured: true, Ledger: ledger(final(80, 90))},
			want:     Below(at(91)),
		},
		"FailedHour": {
			reason:   "What is fetched for a failed hour later must find its charges open (OPEN-CJ-25).",
			evidence: Evidence{Collecting: true, Measured: true, EarliestOpen: at(100), Ledger: ledger(final(80, 89), failed(90), final(91, 99), open(100))},
			want:     Below(at(90)),
		},
		"DoubtedHour": {
			reason:   "An empty answer is not yet a measured zero.",
			evidence: Evidence{Collecting: true, Measured: true, EarliestOpen: at(100), Ledger: ledger(final(80, 96), doubted(97), final(98, 99), open(100))},
			want:     Below(at(97)),
		},
		"ConfirmedHour": {
			reason:   "A confirmed empty hour is a measured zero.",
			evidence: Evidence{Collecting: true, Measured: true, EarliestOpen: at(100), Ledger: ledger(final(80, 94), empty(95, 96), final(97, 99), open(100))},
			want:     Below(at(100)),
		},
		"Gap": {
			reason:   "Hours that no run has looked at yet are still to be fetched.",
			evidence: Evidence{Collecting: true, Measured: true, EarliestOpen: at(100), Ledger: ledger(final(80, 89), final(92, 99), open(100))},
			want:     Below(at(90)),
		},
		"FailedHourFellOut": {
			reason:   "An hour that may not be fetched any more holds nobody.",
			evidence: Evidence{Collecting: true, Measured: true, EarliestOpen: at(100), Ledger: ledger(failed(27), final(28, 99), open(100))},
			want:     Below(at(100)),
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := limits.Boundary(at(100), tc.evidence)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(Boundary{})); diff != "" {
				t.Errorf("%s\nBoundary(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestBoundarySettles(t *testing.T) {
	type want struct {
		settles bool
		end     time.Time
	}

	cases := map[string]struct {
		reason   string
		boundary Boundary
		want     want
	}{
		"Zero":      {reason: "Nothing lies below it.", boundary: Boundary{}, want: want{end: time.Time{}}},
		"Unbounded": {reason: "Everything lies below it.", boundary: Unbounded(), want: want{settles: true, end: at(10)}},
		"After":     {reason: "An hour below it is settled.", boundary: Below(at(11)), want: want{settles: true, end: at(10)}},
		"On":        {reason: "The hour at it is not.", boundary: Below(at(10)), want: want{end: at(10)}},
		"Before":    {reason: "Nor is one after it.", boundary: Below(at(9)), want: want{end: at(9)}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := want{settles: tc.boundary.Settles(at(10)), end: tc.boundary.Cap(at(10))}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestBoundaryNeverPassesAPlannedHour is the law that ties the two rules of
// this package together: whatever has happened to the hours, no run fetches an
// hour before the window that charges already hold for final.
func TestBoundaryNeverPassesAPlannedHour(t *testing.T) {
	random := rand.New(rand.NewPCG(2026, 4))

	for range 20_000 {
		known := ledger(anything(random))
		ev := Evidence{Collecting: true, Ledger: known}
		for _, e := range known.Entries {
			ev.Measured = ev.Measured || e.stored()
			if e.HasOpen && ev.EarliestOpen.IsZero() {
				ev.EarliestOpen = e.Hour
			}
		}

		boundary := limits.Boundary(at(100), ev)
		for _, h := range limits.Plan(at(100), known).CatchUp {
			if boundary.Settles(h) {
				t.Fatalf("hour %s is settled and yet to be fetched: ledger %+v", h, known)
			}
		}
	}
}

// anything returns entries in any state, with gaps.
func anything(random *rand.Rand) []Entry {
	var entries []Entry
	for n := random.IntN(95); n <= 100; n += 1 + random.IntN(2)*random.IntN(8) {
		kinds := [][]Entry{final(n, n), empty(n, n), open(n), doubted(n), failed(n)}
		entries = append(entries, kinds[random.IntN(len(kinds))]...)
	}
	return entries
}

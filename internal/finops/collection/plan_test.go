package collection

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// limits are the defaults of the pods.
var limits = Limits{LookbackHours: 5, BackfillHours: 72, ConfirmAfter: 3 * time.Hour}

func TestPlan(t *testing.T) {
	pinned := at(100)

	cases := map[string]struct {
		reason string
		limits Limits
		ledger Ledger
		want   Plan
	}{
		"FirstRun": {
			reason: "A first run looks at the documented hours; nothing was missed before there was a collector.",
			limits: limits,
			want:   Plan{Window: span(95, 100)},
		},
		"HourlyRun": {
			reason: "What is fully finalized is dropped; the pinned hour is fetched whatever is known of it.",
			limits: limits,
			ledger: ledger(final(90, 98), open(99), open(100)),
			want:   Plan{Window: span(99, 100)},
		},
		"Rerun": {
			reason: "The hour that is in progress is never finished by its own run.",
			limits: limits,
			ledger: ledger(final(90, 99), open(100)),
			want:   Plan{Window: span(100, 100)},
		},
		"RerunOfAnHourFinalizedSince": {
			reason: "A late retry finds its hour finalized by the run after it and leaves it alone.",
			limits: limits,
			ledger: ledger(final(90, 100), open(101)),
			want:   Plan{},
		},
		"FailedHourInTheMiddle": {
			reason: "An hour that could not be fetched is fetched again.",
			limits: limits,
			ledger: ledger(final(90, 96), failed(97), final(98, 98), open(99)),
			want:   Plan{Window: append(span(97, 97), span(99, 100)...)},
		},
		"EmptyHourInTheWindow": {
			reason: "Only rows drop an hour from the documented window; it costs one request to look again.",
			limits: limits,
			ledger: ledger(final(90, 95), empty(96, 97), final(98, 99)),
			want:   Plan{Window: append(span(96, 97), span(100, 100)...)},
		},
		"Daily": {
			reason: "The default interval of 24h: the hour that was in progress at the last run and the 18 after it are caught up with (L2).",
			limits: limits,
			ledger: ledger(final(71, 75), open(76)),
			want:   Plan{CatchUp: span(76, 94), Window: span(95, 100)},
		},
		"Outage": {
			reason: "Forty days without a run: as far back as OpenCost may be asked, and no further.",
			limits: limits,
			ledger: Ledger{First: at(-900), LastCollected: at(-860)},
			want:   Plan{CatchUp: span(28, 94), Window: span(95, 100)},
		},
		"GapBehindARunByHand": {
			reason: "Not the last collected hour decides but which hours are missing.",
			limits: limits,
			ledger: ledger(final(88, 88), final(91, 99)),
			want:   Plan{CatchUp: span(89, 90), Window: span(100, 100)},
		},
		"StragglersAndDoubts": {
			reason: "Before the window a provisional, a doubted empty and a failed hour are fetched again; final and confirmed ones are not.",
			limits: limits,
			ledger: ledger(final(85, 86), open(87), doubted(88), failed(89), empty(90, 91), final(92, 99)),
			want:   Plan{CatchUp: span(87, 89), Window: span(100, 100)},
		},
		"NoBackfill": {
			reason: "Without backfill the documented window is all there is.",
			limits: Limits{LookbackHours: 5},
			ledger: ledger(final(71, 75), open(76)),
			want:   Plan{Window: span(95, 100)},
		},
		"NoLookback": {
			reason: "A run of the pinned hour alone is legal.",
			limits: Limits{},
			want:   Plan{Window: span(100, 100)},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := tc.limits.Plan(pinned, tc.ledger)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nPlan(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestFinalizes(t *testing.T) {
	settling := Limits{LookbackHours: 5, SettleDelay: 10 * time.Minute}

	cases := map[string]struct {
		reason string
		limits Limits
		hour   int
		now    time.Time
		want   bool
	}{
		"JustClosed": {
			reason: "The documented behaviour: an hour is final seconds after it closed.",
			limits: limits, hour: 99, now: at(100).Add(2 * time.Second), want: true,
		},
		"InProgress": {
			reason: "The pinned hour is never final, even when the run is late.",
			limits: limits, hour: 100, now: at(103), want: false,
		},
		"NotClosedByTheClock": {
			reason: "A schedule ahead of the clock does not close the hour the clock is in.",
			limits: limits, hour: 99, now: at(100).Add(-time.Second), want: false,
		},
		"Settling": {
			reason: "OPEN-CJ-8 with 10m: a run that starts 9:59 after the hour leaves it provisional.",
			limits: settling, hour: 99, now: at(100).Add(10*time.Minute - time.Second), want: false,
		},
		"Settled": {
			reason: "OPEN-CJ-8 with 10m: after ten minutes it is final.",
			limits: settling, hour: 99, now: at(100).Add(10 * time.Minute), want: true,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := tc.limits.Finalizes(at(tc.hour), at(100), tc.now)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nFinalizes(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}

	got := settling.Spared(at(100), at(100).Add(time.Minute))
	if diff := cmp.Diff(span(99, 99), got); diff != "" {
		t.Errorf("Spared(...): -want, +got:\n%s", diff)
	}
}

func TestConclude(t *testing.T) {
	cases := map[string]struct {
		reason string
		before Entry
		answer Answer
		want   State
	}{
		"Measured": {
			reason: "A closed hour with rows is final.",
			before: Entry{Hour: at(99)}, answer: Answer{Items: 3, Began: at(100)}, want: Final,
		},
		"InProgress": {
			reason: "The hour in progress is open.",
			before: Entry{Hour: at(100)}, answer: Answer{Items: 3, Began: at(100)}, want: Open,
		},
		"InProgressAndEmpty": {
			reason: "Nothing may have run yet; nobody concludes anything from that.",
			before: Entry{Hour: at(100)}, answer: Answer{Began: at(100)}, want: Open,
		},
		"EmptyTooSoon": {
			reason: "An outage looks like an idle cluster, so an empty hour is doubted for three hours.",
			before: Entry{Hour: at(97)}, answer: Answer{Began: at(101).Add(-time.Second)}, want: Open,
		},
		"EmptyLongEnough": {
			reason: "A fetch that began three hours after the end of the hour confirms it.",
			before: Entry{Hour: at(96), State: Open}, answer: Answer{Began: at(100)}, want: Empty,
		},
		"EmptyButMeasuredBefore": {
			reason: "OpenCost forgets; what is stored is the better evidence and is finalized (OPEN-CJ-7).",
			before: Entry{Hour: at(99), State: Open, HasOpen: true}, answer: Answer{Began: at(100)}, want: Final,
		},
		"Failed": {
			reason: "Rows stored earlier stay, and the hour is fetched again.",
			before: Entry{Hour: at(99), State: Open, HasOpen: true}, answer: Answer{Failed: true, Began: at(100)}, want: Failed,
		},
		"FailedAfterConfirmation": {
			reason: "A confirmed hour does not hold the boundary again because OpenCost is away.",
			before: Entry{Hour: at(96), State: Empty}, answer: Answer{Failed: true, Began: at(100)}, want: Empty,
		},
		"DataAfterConfirmation": {
			reason: "What is measured is stored, however late.",
			before: Entry{Hour: at(96), State: Empty}, answer: Answer{Items: 1, Began: at(100)}, want: Final,
		},
		"EmptyAgainByAnEarlierClock": {
			reason: "What was confirmed stays confirmed.",
			before: Entry{Hour: at(96), State: Empty}, answer: Answer{Began: at(97)}, want: Empty,
		},
		"AnsweredAfterFailing": {
			reason: "The next run heals.",
			before: Entry{Hour: at(98), State: Failed}, answer: Answer{Items: 1, Began: at(100)}, want: Final,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := limits.Conclude(tc.before, tc.answer, at(100), at(100))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nConclude(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// at returns the n-th hour of some count.
func at(n int) time.Time {
	return time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Hour)
}

// span returns the hours from one to another, both included.
func span(from, to int) []time.Time {
	var hours []time.Time
	for n := from; n <= to; n++ {
		hours = append(hours, at(n))
	}
	return hours
}

func final(from, to int) []Entry {
	entries := make([]Entry, 0, to-from+1)
	for _, h := range span(from, to) {
		entries = append(entries, Entry{Hour: h, State: Final, HasFinal: true})
	}
	return entries
}

func empty(from, to int) []Entry {
	entries := make([]Entry, 0, to-from+1)
	for _, h := range span(from, to) {
		entries = append(entries, Entry{Hour: h, State: Empty})
	}
	return entries
}

func open(n int) []Entry    { return []Entry{{Hour: at(n), State: Open, HasOpen: true}} }
func doubted(n int) []Entry { return []Entry{{Hour: at(n), State: Open}} }
func failed(n int) []Entry  { return []Entry{{Hour: at(n), State: Failed}} }

// ledger puts entries together as a run would read them.
func ledger(parts ...[]Entry) Ledger {
	var l Ledger
	for _, entries := range parts {
		for _, e := range entries {
			if l.First.IsZero() {
				l.First = e.Hour
			}
			if e.State != Failed {
				l.LastCollected = e.Hour
			}
			l.Entries = append(l.Entries, e)
		}
	}
	return l
}

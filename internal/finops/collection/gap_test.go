package collection

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestGap(t *testing.T) {
	present := time.Date(2026, 4, 1, 10, 0, 0, 0, time.UTC)
	entry := func(hoursAgo int, s State) Entry {
		return Entry{Hour: present.Add(-time.Duration(hoursAgo) * time.Hour), State: s, HasFinal: s == Final, HasOpen: s == Open}
	}
	ledger := func(entries ...Entry) Ledger {
		l := Ledger{Entries: entries}
		if len(entries) > 0 {
			l.First, l.LastCollected = entries[0].Hour, entries[len(entries)-1].Hour
		}
		return l
	}

	cases := map[string]struct {
		reason string
		known  Ledger
		want   int
	}{
		"NeverCollected":  {reason: "What has not begun has no gap.", want: 0},
		"UpToDate":        {reason: "The hour in progress does not count.", known: ledger(entry(2, Final), entry(1, Final), entry(0, Open)), want: 0},
		"ConfirmedEmpty":  {reason: "Measured zero is measured.", known: ledger(entry(2, Empty), entry(1, Final)), want: 0},
		"FailedAndOpen":   {reason: "Neither is settled.", known: ledger(entry(3, Failed), entry(2, Open), entry(1, Final)), want: 2},
		"NotLookedAt":     {reason: "Hours after the last run are missing.", known: ledger(entry(4, Final)), want: 3},
		"OutsideBackfill": {reason: "What no run fetches any more is lost, and said otherwise.", known: ledger(entry(80, Failed), entry(1, Final)), want: 70},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Limits{LookbackHours: 5, BackfillHours: 71}.Gap(present, tc.known)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nGap: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

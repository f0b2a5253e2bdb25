package opencost

import (
	"testing"
	"time"
)

// TestUntilNext lists when a restart is due after another.
func TestUntilNext(t *testing.T) {
	now := time.Date(2026, 4, 1, 7, 0, 0, 500_000_000, time.UTC)
	cases := map[string]struct {
		reason   string
		last     string
		interval time.Duration
		want     time.Duration
	}{
		"Never": {
			reason: "The first restart waits for nothing.",
		},
		"SameSecond": {
			reason: "The same value again would be no restart at all (OPEN-PB-6).",
			last:   "2026-04-01T07:00:00Z",
			want:   1500 * time.Millisecond,
		},
		"SecondBefore": {
			reason: "It may have been at 06:59:59.999, half a second ago.",
			last:   "2026-04-01T06:59:59Z",
			want:   500 * time.Millisecond,
		},
		"LongEnough": {
			reason: "It was a second ago at least.",
			last:   "2026-04-01T06:59:58Z",
		},
		"Interval": {
			reason:   "The operator's wish is kept in full, not but for the fraction that the value has lost.",
			last:     "2026-04-01T06:55:00Z",
			interval: 5 * time.Minute,
			want:     500 * time.Millisecond,
		},
		"IntervalBelowASecond": {
			reason:   "Nobody can wish for less than a second.",
			last:     "2026-04-01T06:59:59Z",
			interval: time.Millisecond,
			want:     500 * time.Millisecond,
		},
		"OtherZone": {
			reason: "The value of somebody else's tool is read as the moment it is.",
			last:   "2026-04-01T09:00:00+02:00",
			want:   1500 * time.Millisecond,
		},
		"Ahead": {
			reason: "A clock that went wrong must not forbid restarts until it is right.",
			last:   "2031-01-01T00:00:00Z",
		},
		"NoTime": {
			reason: "Neither must a value that is none.",
			last:   "yesterday",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := untilNext(tc.last, now, tc.interval); got != tc.want {
				t.Errorf("\n%s\nuntilNext(%q, …): want %s, got %s", tc.reason, tc.last, tc.want, got)
			}
		})
	}
}

package hour

import (
	"errors"
	"testing"
	"time"
)

// FuzzPin pins hours from whatever a pod is told: the answer is a whole hour of
// UTC that has begun, made of the first thing that says one, and the same for
// the same instant in another zone.
func FuzzPin(f *testing.F) {
	now := time.Date(2026, time.March, 29, 1, 30, 0, 0, time.UTC)
	minute := "29579130" // Of now, since 1970.
	for _, seed := range [][3]string{
		{"2026-03-29T01:00:00Z", "", ""},
		{"2026-03-29T03:00:00+02:00", "hourly-" + minute, "hourly"},
		{"2026-03-29T06:30:00+05:30", "", ""},
		{"", "hourly-" + minute, "hourly"},
		{"", "hourly-99999999", "hourly"},
		{"2026-03-29 01:00:00", "hourly-+1", "hourly"},
		{"0000-01-01T00:00:00Z", "-1", ""},
		{"9999-12-31T23:59:59.999999999-23:59", "-", "-"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, scheduled, job, cronJob string) {
		hint := Hint{Scheduled: scheduled, Job: job, CronJob: cronJob}
		pinned, source, err := Pin(hint, now)
		if err != nil {
			if !errors.Is(err, ErrAhead) || !pinned.IsZero() {
				t.Fatalf("Pin(%+v) = %s, %v", hint, pinned, err)
			}
			return
		}
		if pinned.Location() != time.UTC || pinned.Unix()%3600 != 0 || pinned.Nanosecond() != 0 || pinned.After(now.Add(maxLead)) {
			t.Fatalf("Pin(%+v) = %s, which is no hour that has begun", hint, pinned)
		}

		at, err := time.Parse(time.RFC3339, scheduled)
		if (err == nil) != (source == FromSchedule) || (hint.Unread() == "") != (err == nil || scheduled == "") {
			t.Fatalf("Pin(%+v) goes by %s, and %q is left unread: %v", hint, source, hint.Unread(), err)
		}
		if source != FromSchedule {
			if source == FromClock && !pinned.Equal(Of(now)) || now.Sub(pinned) > maxJobAge+Length {
				t.Fatalf("Pin(%+v) = %s by %s", hint, pinned, source)
			}
			return
		}
		if d := at.Sub(pinned); d < 0 || d >= Length {
			t.Fatalf("Pin(%+v) = %s, which does not hold %s", hint, pinned, at)
		}
		hint.Scheduled = at.In(time.FixedZone("", 5*3600+1800)).Format(time.RFC3339Nano)
		if elsewhere, _, err := Pin(hint, now); err != nil || !elsewhere.Equal(pinned) {
			t.Fatalf("Pin(%+v) = %s, %v; in another zone it was %s", hint, elsewhere, err, pinned)
		}
	})
}

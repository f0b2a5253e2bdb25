package charge

import (
	"testing"
	"time"

	"github.com/provider-finops/provider-finops/internal/finops/tick"
)

// TestLag looks at a quarter past two at Subscriptions that were activated at noon.
func TestLag(t *testing.T) {
	noon := time.Date(2026, time.April, 1, 12, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	active := tick.Life{ActivatedAt: noon}

	cases := map[string]struct {
		reason string
		lives  map[string]tick.Life
		final  map[string]time.Time
		want   time.Duration
	}{
		"Nobody": {reason: "Nobody is behind."},
		"Never": {
			reason: "Who has never been settled is behind since his activation.",
			lives:  map[string]tick.Life{"a": active}, want: 135 * time.Minute,
		},
		"UpToDate": {
			reason: "The hour in progress is all that is left.",
			lives:  map[string]tick.Life{"a": active}, final: map[string]time.Time{"a": at(60)}, want: 15 * time.Minute,
		},
		"TheSlowestCounts": {
			reason: "One is an hour further behind.",
			lives:  map[string]tick.Life{"a": active, "b": active, "c": active},
			final:  map[string]time.Time{"a": at(60), "b": at(0), "c": at(60)}, want: 75 * time.Minute,
		},
		"ActivatedWithinTheHour": {
			reason: "Before the activation there was nothing to be settled.",
			lives:  map[string]tick.Life{"a": {ActivatedAt: at(125)}}, want: 10 * time.Minute,
		},
		"NotActivated": {
			reason: "It is not charged.",
			lives:  map[string]tick.Life{"a": {}},
		},
		"Ended": {
			reason: "Its last hour is not final.",
			lives:  map[string]tick.Life{"a": {ActivatedAt: noon, DeactivatedAt: at(90)}}, final: map[string]time.Time{"a": at(0)}, want: 75 * time.Minute,
		},
		"EndedAndSettled": {
			reason: "Nothing is charged any more.",
			lives:  map[string]tick.Life{"a": {ActivatedAt: noon, DeactivatedAt: at(60)}}, final: map[string]time.Time{"a": at(0)},
		},
		"MovedAhead": {
			reason: "A clock that was set back makes nobody early.",
			lives:  map[string]tick.Life{"a": active}, final: map[string]time.Time{"a": at(180)},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Lag(at(135), tc.lives, tc.final); got != tc.want {
				t.Errorf("%s Want %s, got %s", tc.reason, tc.want, got)
			}
		})
	}
}

package schedule

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestOf holds the table of part 50.1. Intervals are written as users write
// them, since it is the parsed value that counts.
func TestOf(t *testing.T) {
	type want struct {
		Spec       string
		Recognised bool
	}

	cases := map[string]struct {
		reason   string
		interval string
		want     want
	}{
		"Minute":         {reason: "A debugging aid.", interval: "1m", want: want{"* * * * *", true}},
		"FiveMinutes":    {reason: "A debugging aid.", interval: "5m", want: want{"*/5 * * * *", true}},
		"Hour":           {reason: "The recommended interval.", interval: "1h", want: want{hourly, true}},
		"SixtyMinutes":   {reason: "The parsed value is matched, not the text.", interval: "60m", want: want{hourly, true}},
		"SixHours":       {reason: "On the list.", interval: "6h", want: want{"0 */6 * * *", true}},
		"TwelveHours":    {reason: "On the list.", interval: "12h", want: want{"0 */12 * * *", true}},
		"Day":            {reason: "The default.", interval: "24h", want: want{"0 0 * * *", true}},
		"DayInMinutes":   {reason: "The parsed value is matched, not the text.", interval: "1440m", want: want{"0 0 * * *", true}},
		"TwoHours":       {reason: "Not on the list, so daily, and flagged (BETTER-CJ-2).", interval: "2h", want: want{"0 0 * * *", false}},
		"ThirtyMinutes":  {reason: "Not on the list, so daily, and flagged.", interval: "30m", want: want{"0 0 * * *", false}},
		"EightHours":     {reason: "Not on the list, so daily, and flagged.", interval: "8h", want: want{"0 0 * * *", false}},
		"AlmostAnHour":   {reason: "Nothing is rounded.", interval: "59m59.999999999s", want: want{"0 0 * * *", false}},
		"Zero":           {reason: "Not positive is no interval (OPEN-API-4).", interval: "0", want: want{"0 0 * * *", false}},
		"NegativeMinute": {reason: "Not positive is no interval (OPEN-API-4).", interval: "-1m", want: want{"0 0 * * *", false}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			interval, err := time.ParseDuration(tc.interval)
			if err != nil {
				t.Fatal(err)
			}
			var got want
			got.Spec, got.Recognised = Of(interval)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nOf(%s): -want +got:\n%s", tc.reason, tc.interval, diff)
			}
		})
	}
}

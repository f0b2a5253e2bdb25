package tick

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/internal/finops/money"
)

// TestEnding holds the table of the specification, 60.5, and the ends of 60.11.
func TestEnding(t *testing.T) {
	cases := map[string]struct {
		reason      string
		alignment   Alignment
		period      string
		price       money.Micros
		activated   string
		deactivated string
		snap        string
		want        money.Micros
	}{
		"FiveHours": {
			reason:    "The hour in which it ends is charged in full.",
			alignment: ActivatedAt, period: "1h", price: 40000000,
			activated: "2026-04-01T09:00:00Z", deactivated: "2026-04-01T13:42:07Z",
			snap: "2026-04-01T14:00:00Z", want: 200000000,
		},
		"FourDays": {
			reason:    "Days that follow the activation close at its time of day.",
			alignment: ActivatedAt, period: "24h", price: 7200000,
			activated: "2026-03-01T09:15:00Z", deactivated: "2026-03-04T12:00:00Z",
			snap: "2026-03-05T09:15:00Z", want: 28800000,
		},
		"HourGrid": {
			reason:    "The opening tick is reduced, the closing one is not.",
			alignment: HourBoundary, period: "1", price: 40000000,
			activated: "2026-03-05T07:15:00Z", deactivated: "2026-03-05T09:40:00Z",
			snap: "2026-03-05T10:00:00Z", want: 110000000,
		},
		"OnABoundary": {
			reason:    "An end on a boundary is its own snap.",
			alignment: HourBoundary, period: "1", price: 40000000,
			activated: "2026-03-05T07:15:00Z", deactivated: "2026-03-05T10:00:00Z",
			snap: "2026-03-05T10:00:00Z", want: 110000000,
		},
		"OnTheFirstBoundary": {
			reason:    "So is one on the first: the opening tick is all there is.",
			alignment: HourBoundary, period: "1", price: 40000000,
			activated: "2026-03-05T07:15:00Z", deactivated: "2026-03-05T08:00:00Z",
			snap: "2026-03-05T08:00:00Z", want: 30000000,
		},
		"AfterOnePeriod": {
			reason:    "And so is one after exactly one period.",
			alignment: ActivatedAt, period: "1h", price: 40000000,
			activated: "2026-04-01T09:00:00Z", deactivated: "2026-04-01T10:00:00Z",
			snap: "2026-04-01T10:00:00Z", want: 40000000,
		},
		"WeekAfterMidnight": {
			reason:    "One second into a week costs the week.",
			alignment: DayBoundary, period: "7", price: 70000000,
			activated: "2026-03-05T22:00:00Z", deactivated: "2026-03-06T00:00:01Z",
			snap: "2026-03-13T00:00:00Z", want: 70833333,
		},
		"Months": {
			reason:    "The closing month is charged in full at its end.",
			alignment: MonthBoundary, period: "1", price: 500000000,
			activated: "2026-03-10T00:00:00Z", deactivated: "2026-04-15T13:00:00Z",
			snap: "2026-05-01T00:00:00Z", want: 861396303,
		},
		"BeforeTheFirstBoundary": {
			reason:    "The opening tick is the closing tick too, and stays reduced.",
			alignment: MonthBoundary, period: "1", price: 300000000,
			activated: "2026-08-12T09:15:00Z", deactivated: "2026-08-12T09:15:30Z",
			snap: "2026-09-01T00:00:00Z", want: 193326488,
		},
		"WithinOneHour": {
			reason:    "A short life on the hour grid never costs two hours.",
			alignment: HourBoundary, period: "1", price: 3600,
			activated: "2026-03-05T10:20:00Z", deactivated: "2026-03-05T10:50:00Z",
			snap: "2026-03-05T11:00:00Z", want: 2400,
		},
		"FractionOfASecond": {
			reason:    "The last instant of a day belongs to that day.",
			alignment: DayBoundary, period: "1", price: 24000000,
			activated: "2026-03-05T00:00:00Z", deactivated: "2026-03-05T23:59:59.999Z",
			snap: "2026-03-06T00:00:00Z", want: 24000000,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			fee := terms(t, tc.alignment, tc.period, tc.price).Over(Life{ActivatedAt: at(t, tc.activated), DeactivatedAt: at(t, tc.deactivated)})
			snap, ended := fee.Snap()
			if !ended || !snap.Equal(at(t, tc.snap)) {
				t.Errorf("%s\nSnap(): want %s, got %s, %t", tc.reason, tc.snap, snap, ended)
			}
			got, err := fee.Amount(at(t, tc.activated), snap.AddDate(100, 0, 0))
			if err != nil {
				t.Fatalf("%s\nAmount: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nAmount(whole life and a century): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

package tick

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/internal/finops/money"
)

// TestHourlyRows holds the table of the specification, 60.7, two windows of
// 60.5, and the window with several boundaries of 60.11.
func TestHourlyRows(t *testing.T) {
	type rows map[string]money.Micros
	cases := map[string]struct {
		reason      string
		alignment   Alignment
		period      string
		price       money.Micros
		activated   string
		deactivated string
		until       string
		want        rows
	}{
		"HalfHours": {
			reason:    "Two boundaries fall into most hours, one into the first.",
			alignment: ActivatedAt, period: "30m", price: 500000, activated: "2026-03-01T09:10:00Z", until: "2026-03-01T12:00:00Z",
			want: rows{"2026-03-01T09": 500000, "2026-03-01T10": 1000000, "2026-03-01T11": 1000000},
		},
		"NinetyMinutes": {
			reason:    "Some hours have no boundary.",
			alignment: ActivatedAt, period: "90m", price: 1000000, activated: "2026-03-05T10:20:00Z", until: "2026-03-05T18:00:00Z",
			want: rows{"2026-03-05T11": 1000000, "2026-03-05T13": 1000000, "2026-03-05T14": 1000000, "2026-03-05T16": 1000000, "2026-03-05T17": 1000000},
		},
		"SixHours": {
			reason:    "A boundary belongs to the hour it ends.",
			alignment: HourBoundary, period: "6", price: 90000000, activated: "2026-03-05T10:20:00Z", until: "2026-03-06T11:00:00Z",
			want: rows{"2026-03-05T11": 25000000, "2026-03-05T17": 90000000, "2026-03-05T23": 90000000, "2026-03-06T05": 90000000},
		},
		"Days": {
			reason:    "A day is charged in its last hour.",
			alignment: DayBoundary, period: "1", price: 24000000, activated: "2026-03-05T10:20:30Z", until: "2026-03-08T00:00:00Z",
			want: rows{"2026-03-05T23": 13658333, "2026-03-06T23": 24000000, "2026-03-07T23": 24000000},
		},
		"Months": {
			reason:    "A month is charged in its last hour.",
			alignment: MonthBoundary, period: "1", price: 300000000, activated: "2026-08-12T09:15:00Z", until: "2026-10-01T00:00:00Z",
			want: rows{"2026-08-31T23": 193326488, "2026-09-30T23": 300000000},
		},
		"EndedFourDays": {
			reason:    "Each day's window is the one of its closing time.",
			alignment: ActivatedAt, period: "24h", price: 7200000, activated: "2026-03-01T09:15:00Z", deactivated: "2026-03-04T12:00:00Z", until: "2026-03-10T00:00:00Z",
			want: rows{"2026-03-02T09": 7200000, "2026-03-03T09": 7200000, "2026-03-04T09": 7200000, "2026-03-05T09": 7200000},
		},
		"EndedMonths": {
			reason:    "The closing tick stands in the last hour of its month.",
			alignment: MonthBoundary, period: "1", price: 500000000, activated: "2026-03-10T00:00:00Z", deactivated: "2026-04-15T13:00:00Z", until: "2026-07-01T00:00:00Z",
			want: rows{"2026-03-31T23": 361396303, "2026-04-30T23": 500000000},
		},
		"OpeningAndMore": {
			reason:    "Of several boundaries in one window only the first can be reduced, and under ActivatedAt none is.",
			alignment: ActivatedAt, period: "7m", price: 1000, activated: "2026-03-05T10:20:00Z", until: "2026-03-05T11:00:00Z",
			want: rows{"2026-03-05T10": 5000},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			life := Life{ActivatedAt: at(t, tc.activated)}
			if tc.deactivated != "" {
				life.DeactivatedAt = at(t, tc.deactivated)
			}
			fee := terms(t, tc.alignment, tc.period, tc.price).Over(life)
			got := rows{}
			// The first window begins long before the life, which costs nothing (60.11).
			for hour := life.ActivatedAt.Truncate(time.Hour).Add(-48 * time.Hour); hour.Before(at(t, tc.until)); hour = hour.Add(time.Hour) {
				amount, err := fee.Amount(hour, hour.Add(time.Hour))
				if err != nil {
					t.Fatalf("%s\nAmount(%s): %v", tc.reason, hour, err)
				}
				if amount != 0 {
					got[hour.Format("2006-01-02T15")] = amount
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nNon-zero hours: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

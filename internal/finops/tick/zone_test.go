package tick

import (
	"testing"
	"time"
	_ "time/tzdata" // Zones, on a machine without any.

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/internal/finops/money"
)

// TestNoZoneMatters bills a year that begins in the hour in which the clocks of
// New York go forward. Whatever zone its instants are written in, days have 24
// hours, the boundaries are those of UTC, and the days of the year add up to what
// the year costs.
func TestNoZoneMatters(t *testing.T) {
	zones := map[string]*time.Location{"UTC": time.UTC, "NewYork": zone(t, "America/New_York"), "Berlin": zone(t, "Europe/Berlin"), "LordHowe": zone(t, "Australia/Lord_Howe")}
	begin := at(t, "2026-03-08T07:30:00Z")
	for name, terms := range map[string]Terms{
		"Hours": terms(t, HourBoundary, "1", 1_000_003), "Days": terms(t, DayBoundary, "1", 24_000_007),
		"Months": terms(t, MonthBoundary, "1", 730_500_001), "FromActivation": terms(t, ActivatedAt, "90m", 999_999),
	} {
		t.Run(name, func(t *testing.T) {
			want, err := terms.Over(Life{ActivatedAt: begin}).Amount(begin, begin.AddDate(1, 0, 0))
			if err != nil {
				t.Fatal(err)
			}
			for where, location := range zones {
				fee := terms.Over(Life{ActivatedAt: begin.In(location)})
				var days []money.Micros
				for day := begin; day.Before(begin.AddDate(1, 0, 0)); day = day.Add(24 * time.Hour) {
					amount, err := fee.Amount(day.In(location), day.Add(24*time.Hour).In(location))
					if err != nil {
						t.Fatal(err)
					}
					days = append(days, amount)
				}
				sum, err := money.Sum(days...)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, sum); diff != "" {
					t.Errorf("the days of a year, written in the zone of %s: -want, +got:\n%s", where, diff)
				}
				if diff := cmp.Diff(terms.Over(Life{ActivatedAt: begin}).Boundary(1), fee.Boundary(1)); diff != "" {
					t.Errorf("the first boundary, written in the zone of %s: -want, +got:\n%s", where, diff)
				}
			}
		})
	}
}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	location, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return location
}

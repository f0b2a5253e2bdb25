package tick

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/internal/finops/money"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	when, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

func terms(t *testing.T, alignment Alignment, period string, price money.Micros) Terms {
	t.Helper()
	parsed, err := ParseTerms(alignment, period, price, 0)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// TestBoundaries holds the examples of the specification, 60.2, and the first
// boundaries of 60.11.
func TestBoundaries(t *testing.T) {
	cases := map[string]struct {
		reason    string
		alignment Alignment
		period    string
		activated string
		want      []string
	}{
		"ActivatedAt90m": {
			reason:    "Each boundary is one period after the last.",
			alignment: ActivatedAt, period: "90m", activated: "2026-03-05T10:20:00Z",
			want: []string{"2026-03-05T11:50:00Z", "2026-03-05T13:20:00Z", "2026-03-05T14:50:00Z", "2026-03-05T16:20:00Z", "2026-03-05T17:50:00Z"},
		},
		"HourBoundary6": {
			reason:    "Six divides a day, so the grid is that of every day.",
			alignment: HourBoundary, period: "6", activated: "2026-03-05T10:20:00Z",
			want: []string{"2026-03-05T12:00:00Z", "2026-03-05T18:00:00Z", "2026-03-06T00:00:00Z", "2026-03-06T06:00:00Z"},
		},
		"HourBoundary5": {
			reason:    "Five does not, so the grid is counted from the epoch (OPEN-BILL-1).",
			alignment: HourBoundary, period: "5", activated: "2026-03-05T10:20:00Z",
			want: []string{"2026-03-05T12:00:00Z", "2026-03-05T17:00:00Z", "2026-03-05T22:00:00Z", "2026-03-06T03:00:00Z", "2026-03-06T08:00:00Z", "2026-03-06T13:00:00Z"},
		},
		"DayBoundary1": {
			reason:    "Midnights.",
			alignment: DayBoundary, period: "1", activated: "2026-03-05T10:20:30Z",
			want: []string{"2026-03-06T00:00:00Z", "2026-03-07T00:00:00Z", "2026-03-08T00:00:00Z"},
		},
		"DayBoundary7": {
			reason:    "The first midnight comes whatever the period is.",
			alignment: DayBoundary, period: "7", activated: "2026-03-05T22:00:00Z",
			want: []string{"2026-03-06T00:00:00Z", "2026-03-13T00:00:00Z", "2026-03-20T00:00:00Z"},
		},
		"MonthBoundary1": {
			reason:    "The first of every month.",
			alignment: MonthBoundary, period: "1", activated: "2026-08-12T09:15:00Z",
			want: []string{"2026-09-01T00:00:00Z", "2026-10-01T00:00:00Z"},
		},
		"MonthBoundary3": {
			reason:    "Three months after that of the activation, over a year's end (OPEN-BILL-2).",
			alignment: MonthBoundary, period: "3", activated: "2026-08-12T09:15:00Z",
			want: []string{"2026-11-01T00:00:00Z", "2027-02-01T00:00:00Z", "2027-05-01T00:00:00Z", "2027-08-01T00:00:00Z"},
		},
		"OnTheHourGrid": {
			reason:    "An activation on the grid is no boundary itself.",
			alignment: HourBoundary, period: "1", activated: "2026-03-05T10:00:00Z",
			want: []string{"2026-03-05T11:00:00Z", "2026-03-05T12:00:00Z"},
		},
		"OnTheMonthGrid": {
			reason:    "An activation on the grid is no boundary itself.",
			alignment: MonthBoundary, period: "1", activated: "2026-08-01T00:00:00Z",
			want: []string{"2026-09-01T00:00:00Z"},
		},
		"LeapDay": {
			reason:    "The twenty-ninth of February is a day like any other.",
			alignment: DayBoundary, period: "1", activated: "2028-02-28T12:00:00Z",
			want: []string{"2028-02-29T00:00:00Z", "2028-03-01T00:00:00Z"},
		},
		"YearChange": {
			reason:    "Twelve months are a year.",
			alignment: MonthBoundary, period: "12", activated: "2026-08-12T09:15:00Z",
			want: []string{"2027-08-01T00:00:00Z", "2028-08-01T00:00:00Z"},
		},
		"EndOfJanuary": {
			reason:    "Months are ticked on their first, so an activation on the 31st shifts nothing.",
			alignment: MonthBoundary, period: "1", activated: "2026-01-31T10:00:00Z",
			want: []string{"2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z"},
		},
		"SummerTime": {
			reason:    "Where clocks go forward UTC does not.",
			alignment: HourBoundary, period: "1", activated: "2026-03-08T07:30:00-05:00",
			want: []string{"2026-03-08T13:00:00Z", "2026-03-08T14:00:00Z"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			fee := terms(t, tc.alignment, tc.period, 1).Over(Life{ActivatedAt: at(t, tc.activated)})
			got := make([]string, 0, len(tc.want))
			for n := range tc.want {
				b := fee.Boundary(int64(n) + 1)
				got = append(got, b.Format(time.RFC3339))
				if before, after := fee.Ticks(b.Add(-time.Second)), fee.Ticks(b); before != int64(n) || after != int64(n)+1 {
					t.Errorf("%s\nTicks around boundary %s: want %d and %d, got %d and %d", tc.reason, b, n, n+1, before, after)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nBoundary(1...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestOpeningTick holds the table of the specification, 60.4, the cap of
// OPEN-BILL-3 and the large price of 60.11.
func TestOpeningTick(t *testing.T) {
	cases := map[string]struct {
		reason    string
		alignment Alignment
		period    string
		price     money.Micros
		activated string
		want      Due
	}{
		"Hour":         {reason: "45 of 60 minutes.", alignment: HourBoundary, period: "1", price: 40000000, activated: "2026-03-05T09:15:00Z", want: Due{Ticks: 1, Amount: 30000000, ProratedSeconds: 2700}},
		"SixHours":     {reason: "100 of 360 minutes.", alignment: HourBoundary, period: "6", price: 90000000, activated: "2026-03-05T10:20:00Z", want: Due{Ticks: 1, Amount: 25000000, ProratedSeconds: 6000}},
		"Day":          {reason: "Rounded down once.", alignment: DayBoundary, period: "1", price: 24000000, activated: "2026-03-05T10:20:30Z", want: Due{Ticks: 1, Amount: 13658333, ProratedSeconds: 49170}},
		"Week":         {reason: "Two hours of a week.", alignment: DayBoundary, period: "7", price: 70000000, activated: "2026-03-05T22:00:00Z", want: Due{Ticks: 1, Amount: 833333, ProratedSeconds: 7200}},
		"Month":        {reason: "Against the fixed length of a month.", alignment: MonthBoundary, period: "1", price: 300000000, activated: "2026-08-12T09:15:00Z", want: Due{Ticks: 1, Amount: 193326488, ProratedSeconds: 1694700}},
		"LateMonth":    {reason: "Twelve days of August.", alignment: MonthBoundary, period: "1", price: 300000000, activated: "2026-08-20T00:00:00Z", want: Due{Ticks: 1, Amount: 118275154, ProratedSeconds: 1036800}},
		"LateFebruary": {reason: "Nine days of February.", alignment: MonthBoundary, period: "1", price: 300000000, activated: "2026-02-20T00:00:00Z", want: Due{Ticks: 1, Amount: 88706365, ProratedSeconds: 777600}},
		"March":        {reason: "Twenty-two days of March.", alignment: MonthBoundary, period: "1", price: 500000000, activated: "2026-03-10T00:00:00Z", want: Due{Ticks: 1, Amount: 361396303, ProratedSeconds: 1900800}},
		"Quarter":      {reason: "Against three fixed months.", alignment: MonthBoundary, period: "3", price: 900000000, activated: "2026-08-12T09:15:00Z", want: Due{Ticks: 1, Amount: 794558521, ProratedSeconds: 6965100}},
		"LongMonth":    {reason: "An opening tick is never more than a full one (OPEN-BILL-3).", alignment: MonthBoundary, period: "1", price: 300000000, activated: "2026-08-01T00:00:00Z", want: Due{Ticks: 1, Amount: 300000000, ProratedSeconds: 2678400}},
		"ShortMonth":   {reason: "A whole February is less than a fixed month.", alignment: MonthBoundary, period: "1", price: 300000000, activated: "2026-02-01T00:00:00Z", want: Due{Ticks: 1, Amount: 275975359, ProratedSeconds: 2419200}},
		"OnTheGrid":    {reason: "A whole hour costs a whole price.", alignment: HourBoundary, period: "1", price: 40000000, activated: "2026-03-05T10:00:00Z", want: Due{Ticks: 1, Amount: 40000000, ProratedSeconds: 3600}},
		"ActivatedAt":  {reason: "A tick that starts with the activation is always full.", alignment: ActivatedAt, period: "90m", price: 7, activated: "2026-03-05T10:20:30Z", want: Due{Ticks: 1, Amount: 7}},
		"LargestPrice": {reason: "The product needs more than 64 bits, the result does not.", alignment: MonthBoundary, period: "999", price: 9_000_000_000_000_000_000, activated: "2026-08-12T09:15:00Z", want: Due{Ticks: 1, Amount: 8996611601334393942, ProratedSeconds: 2626181100}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			fee := terms(t, tc.alignment, tc.period, tc.price).Over(Life{ActivatedAt: at(t, tc.activated)})
			got, err := fee.Due(at(t, tc.activated), fee.Boundary(1))
			if err != nil {
				t.Fatalf("%s\nDue: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nDue(opening tick): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestMinPeriods holds the table of the specification, 60.6.
func TestMinPeriods(t *testing.T) {
	cases := map[string]struct {
		reason    string
		alignment Alignment
		period    string
		first     string
	}{
		"HourGrid":    {reason: "The opening tick counts although it is short.", alignment: HourBoundary, period: "1", first: "2026-03-06T09:00:00Z"},
		"ActivatedAt": {reason: "24 hours after 09:15 is 09:15, which the run of 09:00 has not seen.", alignment: ActivatedAt, period: "1h", first: "2026-03-06T10:00:00Z"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			parsed, err := ParseTerms(tc.alignment, tc.period, 40000000, 24)
			if err != nil {
				t.Fatal(err)
			}
			activated := at(t, "2026-03-05T09:15:00Z")
			// The end changes nothing: an early deletion has to reach the count too.
			fee := parsed.Over(Life{ActivatedAt: activated, DeactivatedAt: activated.Add(time.Minute)})
			for hour := activated.Truncate(time.Hour); !hour.After(activated.AddDate(0, 0, 3)); hour = hour.Add(time.Hour) {
				if got, want := fee.MinPeriodsPassed(hour), !hour.Before(at(t, tc.first)); got != want {
					t.Errorf("%s\nMinPeriodsPassed(%s): want %t, got %t (%d ticks)", tc.reason, hour, want, got, fee.Ticks(hour))
				}
			}
		})
	}
}

// TestWideWindow charges an opening tick together with full ones: only the
// opening one is reduced (60.11).
func TestWideWindow(t *testing.T) {
	fee := terms(t, DayBoundary, "1", 24000000).Over(Life{ActivatedAt: at(t, "2026-03-05T10:20:30Z")})
	got, err := fee.Due(at(t, "2026-03-01T00:00:00Z"), at(t, "2026-03-09T00:00:00Z"))
	if err != nil {
		t.Fatal(err)
	}
	want := Due{Ticks: 4, Amount: 13658333 + 3*24000000, ProratedSeconds: 49170}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Due(eight days): -want, +got:\n%s", diff)
	}
}

func TestOverflow(t *testing.T) {
	fee := terms(t, ActivatedAt, "1s", money.Max).Over(Life{ActivatedAt: at(t, "2026-03-05T10:00:00Z")})
	if _, err := fee.Amount(at(t, "2026-03-05T10:00:00Z"), at(t, "2026-03-05T10:00:02Z")); !errors.Is(err, money.ErrOverflow) {
		t.Errorf("Two ticks of the largest price: want %v, got %v", money.ErrOverflow, err)
	}
	if got, err := fee.Amount(at(t, "2026-03-05T10:00:00Z"), at(t, "2026-03-05T10:00:01Z")); err != nil || got != money.Max {
		t.Errorf("One tick of the largest price: want %d, got %d, %v", money.Max, got, err)
	}
}

func TestParseTerms(t *testing.T) {
	if _, err := ParseTerms(HourBoundary, "1", 0, 0); err == nil {
		t.Error("A price of nothing: want an error, got none")
	}
	if _, err := ParseTerms(HourBoundary, "1", 1, -1); err == nil {
		t.Error("A negative minimum of periods: want an error, got none")
	}
	if _, err := ParseTerms(HourBoundary, "1d", 1, 0); err == nil {
		t.Error("A period of another alignment: want an error, got none")
	}
}

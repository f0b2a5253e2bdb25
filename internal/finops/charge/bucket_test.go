package charge

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/internal/finops/money"
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
	"github.com/provider-finops/provider-finops/internal/finops/tick"
)

// figures are the totals of a bucket as the tables of the specification write
// them.
type figures struct{ Current, Projected money.Micros }

func totals(buckets []Bucket) map[Granularity]figures {
	all := map[Granularity]figures{}
	for _, b := range buckets {
		all[b.Granularity] = figures{b.Current, b.Projected}
	}
	return all
}

// recordedFee adds up the rows a life would have at a run, the way the database
// does.
func recordedFee(t *testing.T, bill Bill, r Run) Recorded {
	t.Helper()
	recorded := Recorded{}
	for _, g := range Granularities() {
		start, end := g.Span(r.Hour)
		recorded[g] = map[pricing.Meter]money.Micros{}
		bill.Windows(r, time.Time{}).Within(start, end).Each(func(window time.Time) bool {
			rows, err := bill.Closed(r, window, nil, nil, "")
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				recorded[g][row.Source] += row.Amount
			}
			return true
		})
	}
	return recorded
}

// TestWorkedBuckets holds the buckets (a) to (c) of the specification, 60.8, on
// both paths, which agree on the fee, and others that follow from its rules.
func TestWorkedBuckets(t *testing.T) {
	daily := Terms{Fee: fee(tick.DayBoundary, "1", 24000000)}
	halfHours := Terms{Fee: fee(tick.ActivatedAt, "30m", 500000)}
	cases := map[string]struct {
		reason string
		bill   Bill
		hour   string
		want   map[Granularity]figures
	}{
		"A": {
			reason: "Hourly: four ticks so far, fifteen this day, 711 this month.",
			bill:   NewBill(hourly, since("2026-04-01T09:00:00Z"), false), hour: "2026-04-01T13:00:00Z",
			want: map[Granularity]figures{Hour: {0, 40000000}, Day: {160000000, 600000000}, Month: {160000000, 28440000000}},
		},
		"B": {
			reason: "Daily: the boundary of the next midnight closes this day.",
			bill:   NewBill(daily, since("2026-03-05T10:20:30Z"), false), hour: "2026-03-07T09:00:00Z",
			want: map[Granularity]figures{Hour: {}, Day: {0, 24000000}, Month: {37658333, 637658333}},
		},
		"C": {
			reason: "Ended: nothing is projected beyond the snap.",
			bill:   NewBill(daily, between("2026-03-05T10:20:30Z", "2026-03-07T08:30:00Z"), false), hour: "2026-03-07T09:00:00Z",
			want: map[Granularity]figures{Hour: {}, Day: {0, 24000000}, Month: {37658333, 61658333}},
		},
		"D": {
			reason: "Half hours: two ticks an hour.",
			bill:   NewBill(halfHours, since("2026-03-01T09:10:00Z"), false), hour: "2026-03-01T11:00:00Z",
			want: map[Granularity]figures{Hour: {0, 1000000}, Day: {1500000, 14500000}, Month: {1500000, 734500000}},
		},
		"EndedLongAgo": {
			reason: "The buckets of an ended Subscription become empty as time passes (OPEN-BILL-8).",
			bill:   NewBill(hourly, between("2026-04-01T09:00:00Z", "2026-04-01T13:42:07Z"), false), hour: "2026-05-02T00:00:00Z",
			want: map[Granularity]figures{Hour: {}, Day: {}, Month: {}},
		},
		"NothingPriced": {
			reason: "An Offering that charges nothing has three empty buckets (BETTER-BILL-1).",
			bill:   NewBill(Terms{}, since("2026-04-01T09:00:00Z"), true), hour: "2026-04-01T13:00:00Z",
			want: map[Granularity]figures{Hour: {}, Day: {}, Month: {}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := run(tc.hour)
			recorded, err := tc.bill.FromRecorded(r, recordedFee(t, tc.bill, r))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, totals(recorded)); diff != "" {
				t.Errorf("%s\nFromRecorded(...): -want, +got:\n%s", tc.reason, diff)
			}
			calculated, err := tc.bill.FromCalculator(r)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(recorded, calculated); diff != "" {
				t.Errorf("%s\nThe fee is the same on both paths: -recorded, +calculated:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestBuckets(t *testing.T) {
	bill := NewBill(both, since("2026-04-01T09:00:00Z"), true)
	recorded := Recorded{
		Hour:  {pricing.MeterNetworkGb: 5, pricing.MeterSubscription: 0},
		Day:   {pricing.MeterNetworkGb: 7, pricing.MeterCPUHour: 900000000, pricing.MeterSubscription: 160000000},
		Month: {pricing.MeterRAMGbHour: 0, pricing.MeterCPUHour: 900000000, pricing.MeterSubscription: 160000000},
	}
	want := []Bucket{
		{
			Granularity: Hour, Start: at("2026-04-01T13:00:00Z"), End: at("2026-04-01T14:00:00Z"), Current: 5, Projected: 40000000,
			Breakdown: []Share{{pricing.MeterSubscription, 0, 40000000}, {pricing.MeterNetworkGb, 5, 0}},
		},
		{
			Granularity: Day, Start: at("2026-04-01T00:00:00Z"), End: at("2026-04-02T00:00:00Z"), Current: 1060000007, Projected: 600000000,
			Breakdown: []Share{{pricing.MeterSubscription, 160000000, 600000000}, {pricing.MeterCPUHour, 900000000, 0}, {pricing.MeterNetworkGb, 7, 0}},
		},
		{
			Granularity: Month, Start: at("2026-04-01T00:00:00Z"), End: at("2026-05-01T00:00:00Z"), Current: 1060000000, Projected: 28440000000,
			Breakdown: []Share{{pricing.MeterSubscription, 160000000, 28440000000}, {pricing.MeterCPUHour, 900000000, 0}},
		},
	}
	got, err := bill.FromRecorded(run("2026-04-01T13:00:00Z"), recorded)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Usage adds to what is current and never to what is projected; the order is fixed; sources without a figure are left out.\nFromRecorded(...): -want, +got:\n%s", diff)
	}
}

func TestBucketOverflow(t *testing.T) {
	bill := NewBill(Terms{Fee: fee(tick.ActivatedAt, "1h", money.Max/10)}, since("2026-04-01T09:00:00Z"), false)
	if _, err := bill.FromRecorded(run("2026-04-01T10:00:00Z"), nil); !errors.Is(err, money.ErrOverflow) {
		t.Errorf("A projection that does not fit: want %v, got %v", money.ErrOverflow, err)
	}
	bill = NewBill(usage, since("2026-04-01T09:00:00Z"), true)
	recorded := Recorded{Day: {pricing.MeterCPUHour: money.Max, pricing.MeterGPUHour: 1}}
	if _, err := bill.FromRecorded(run("2026-04-01T10:00:00Z"), recorded); !errors.Is(err, money.ErrOverflow) {
		t.Errorf("A sum that does not fit: want %v, got %v", money.ErrOverflow, err)
	}
}

func TestSpan(t *testing.T) {
	cases := map[string]struct {
		reason      string
		granularity Granularity
		hour        string
		start, end  string
	}{
		"Hour":      {"The pinned hour.", Hour, "2026-12-31T23:00:00Z", "2026-12-31T23:00:00Z", "2027-01-01T00:00:00Z"},
		"Day":       {"The day of the pinned hour, in UTC whatever zone it is written in.", Day, "2026-03-08T01:00:00+05:00", "2026-03-07T00:00:00Z", "2026-03-08T00:00:00Z"},
		"February":  {"A month has its own length.", Month, "2026-02-28T23:00:00Z", "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"},
		"LeapMonth": {"In leap years too.", Month, "2028-02-29T00:00:00Z", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"},
		"YearsEnd":  {"December ends with the year.", Month, "2026-12-31T23:00:00Z", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			start, end := tc.granularity.Span(at(tc.hour))
			if !start.Equal(at(tc.start)) || !end.Equal(at(tc.end)) {
				t.Errorf("%s\nSpan(%s): want [%s, %s), got [%s, %s)", tc.reason, tc.hour, tc.start, tc.end, start, end)
			}
		})
	}
}

func TestOver(t *testing.T) {
	cases := map[string]struct {
		reason string
		bill   Bill
		start  string
		want   bool
	}{
		"LivesOn":          {"What has not ended is charged.", NewBill(hourly, since("2026-04-01T09:00:00Z"), false), "2026-05-01T00:00:00Z", false},
		"BeforeTheSnap":    {"Its closing tick is still to come.", NewBill(hourly, between("2026-04-01T09:00:00Z", "2026-04-30T23:30:00Z"), false), "2026-04-30T23:30:00Z", false},
		"AtTheSnap":        {"A boundary belongs to the hour that it ends.", NewBill(monthly, between("2026-03-10T00:00:00Z", "2026-04-15T13:00:00Z"), false), "2026-05-01T00:00:00Z", true},
		"UsageAtTheEnd":    {"Usage has no snap.", NewBill(usage, between("2026-04-01T09:00:00Z", "2026-04-30T23:30:00Z"), true), "2026-04-30T23:00:00Z", false},
		"UsageAfterTheEnd": {"Usage has no snap.", NewBill(usage, between("2026-04-01T09:00:00Z", "2026-04-30T23:30:00Z"), true), "2026-05-01T00:00:00Z", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.bill.Over(at(tc.start)); got != tc.want {
				t.Errorf("%s\nOver(%s): want %t, got %t", tc.reason, tc.start, tc.want, got)
			}
		})
	}
}

package charge

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/internal/finops/money"
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
)

func TestUnrated(t *testing.T) {
	books := Books{1: {ID: 1, Currency: "EUR", Rates: pricing.Tariff{pricing.FieldCPUHour: 0}}}
	cores := map[pricing.Meter]string{pricing.MeterCPUHour: "1"}
	memory := map[pricing.Meter]string{pricing.MeterRAMGbHour: "1"}
	bill := NewBill(Terms{Meters: []Meter{{Name: pricing.MeterCPUHour}, {Name: pricing.MeterRAMGbHour, Margin: money.Margin{}}}}, since("2026-04-01T09:00:00Z"), true)
	cases := map[string]struct {
		reason string
		bill   Bill
		usage  []Usage
		want   []pricing.Meter
	}{
		"Rated":       {"A rate of zero is a rate.", bill, []Usage{used(1, 3600, 1, cores)}, nil},
		"NoRate":      {"The book says nothing about memory.", bill, []Usage{used(1, 3600, 1, memory)}, []pricing.Meter{pricing.MeterRAMGbHour}},
		"NoBook":      {"Measured while no book was known.", bill, []Usage{used(0, 3600, 1, cores)}, []pricing.Meter{pricing.MeterCPUHour}},
		"NothingUsed": {"Nothing is missing where nothing was used.", bill, []Usage{used(0, 3600, 1, nil)}, nil},
		"NotSold":     {"A fee alone asks for no rate.", NewBill(hourly, since("2026-04-01T09:00:00Z"), true), []Usage{used(0, 3600, 1, cores)}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.bill.Unrated(tc.usage, books)); diff != "" {
				t.Errorf("%s\nUnrated(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

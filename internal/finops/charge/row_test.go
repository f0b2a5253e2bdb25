package charge

import (
	"errors"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/provider-finops/provider-finops/internal/finops/money"
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
	"github.com/provider-finops/provider-finops/internal/finops/tick"
)

var compareRats = cmp.Comparer(func(a, b *big.Rat) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Cmp(b) == 0
})

// TestUsageRows holds the worked usage of the specification, 60.9, and what
// becomes of usage without a rate.
func TestUsageRows(t *testing.T) {
	micros := func(m money.Micros) *money.Micros { return &m }
	book := func(id int64, currency string, rates pricing.Tariff) Book {
		return Book{ID: id, Currency: currency, Rates: rates}
	}
	first := func(rates pricing.Tariff) Books { return Books{1: book(1, "EUR", rates)} }

	cases := map[string]struct {
		reason string
		meter  Meter
		usage  []Usage
		books  Books
		want   []Row
	}{
		"CPU": {
			reason: "2.5 cores for the last 45 minutes of a full row, rounded down once.",
			meter:  Meter{pricing.MeterCPUHour, factor(1150)},
			usage:  []Usage{used(1, 2700, 3600, map[pricing.Meter]string{pricing.MeterCPUHour: "2.5"})},
			books:  first(pricing.Tariff{pricing.FieldCPUHour: 31000}),
			want:   []Row{{Amount: 66843, Quantity: rat("1.875"), UnitPrice: micros(35650), BookID: 1, Currency: "EUR"}},
		},
		"RAM": {
			reason: "Three GiB for an hour.",
			meter:  Meter{pricing.MeterRAMGbHour, absolute(200)},
			usage:  []Usage{used(1, 3600, 3600, map[pricing.Meter]string{pricing.MeterRAMGbHour: "3221225472"})},
			books:  first(pricing.Tariff{pricing.FieldRAMGbHour: 4000}),
			want:   []Row{{Amount: 12600, Quantity: rat("3"), UnitPrice: micros(4200), BookID: 1, Currency: "EUR"}},
		},
		"RAMFor45Minutes": {
			reason: "An average is integrated over the active time.",
			meter:  Meter{pricing.MeterRAMGbHour, absolute(200)},
			usage:  []Usage{used(1, 2700, 3600, map[pricing.Meter]string{pricing.MeterRAMGbHour: "3221225472"})},
			books:  first(pricing.Tariff{pricing.FieldRAMGbHour: 4000}),
			want:   []Row{{Amount: 9450, Quantity: rat("2.25"), UnitPrice: micros(4200), BookID: 1, Currency: "EUR"}},
		},
		"PV": {
			reason: "Byte-hours are a total already.",
			meter:  Meter{Name: pricing.MeterPVGbHour},
			usage:  []Usage{used(1, 3600, 3600, map[pricing.Meter]string{pricing.MeterPVGbHour: "10737418240"})},
			books:  first(pricing.Tariff{pricing.FieldPVGbHour: 120}),
			want:   []Row{{Amount: 1200, Quantity: rat("10"), UnitPrice: micros(120), BookID: 1, Currency: "EUR"}},
		},
		"GPU": {
			reason: "What is used is billed, not what is reserved.",
			meter:  Meter{pricing.MeterGPUHour, factor(1200)},
			usage:  []Usage{used(1, 3600, 3600, map[pricing.Meter]string{pricing.MeterGPUHour: "2"})},
			books:  first(pricing.Tariff{pricing.FieldGPUHour: 1800000}),
			want:   []Row{{Amount: 4320000, Quantity: rat("2"), UnitPrice: micros(2160000), BookID: 1, Currency: "EUR"}},
		},
		"Network": {
			reason: "Both directions, without a factor of time; the meter networkGb has the rate networkGiB.",
			meter:  Meter{Name: pricing.MeterNetworkGb},
			usage:  []Usage{used(1, 3600, 3600, map[pricing.Meter]string{pricing.MeterNetworkGb: "2147483648"})},
			books:  first(pricing.Tariff{pricing.FieldNetworkGiB: 90000}),
			want:   []Row{{Amount: 180000, Quantity: rat("2"), UnitPrice: micros(90000), BookID: 1, Currency: "EUR"}},
		},
		"NetworkFor45Minutes": {
			reason: "The first and the last hour of a life are trimmed by their share.",
			meter:  Meter{Name: pricing.MeterNetworkGb},
			usage:  []Usage{used(1, 2700, 3600, map[pricing.Meter]string{pricing.MeterNetworkGb: "2147483648"})},
			books:  first(pricing.Tariff{pricing.FieldNetworkGiB: 90000}),
			want:   []Row{{Amount: 135000, Quantity: rat("1.5"), UnitPrice: micros(90000), BookID: 1, Currency: "EUR"}},
		},
		"TwoBooks": {
			reason: "Rounding each row would give 37437; the split says what was mixed (OPEN-BILL-12).",
			meter:  Meter{pricing.MeterCPUHour, factor(1150)},
			usage: []Usage{
				used(2, 2400, 2400, map[pricing.Meter]string{pricing.MeterCPUHour: "1"}),
				used(1, 1200, 1200, map[pricing.Meter]string{pricing.MeterCPUHour: "1"}),
			},
			books: Books{
				1: book(1, "EUR", pricing.Tariff{pricing.FieldCPUHour: 31000}),
				2: book(2, "EUR", pricing.Tariff{pricing.FieldCPUHour: 33333}),
			},
			want: []Row{{Amount: 37438, Quantity: rat("1"), Currency: "EUR", Details: Details{Books: []BookShare{
				{BookID: 1, Currency: "EUR", UnitPriceMicros: 35650, Quantity: "0.333333333333"},
				{BookID: 2, Currency: "EUR", UnitPriceMicros: 38332, Quantity: "0.666666666666"},
			}}}},
		},
		"TwoBooksOnePrice": {
			reason: "A price that is the same for all is recorded, whichever the currencies.",
			meter:  Meter{Name: pricing.MeterCPUHour},
			usage: []Usage{
				used(1, 1800, 1800, map[pricing.Meter]string{pricing.MeterCPUHour: "1"}),
				used(2, 1800, 1800, map[pricing.Meter]string{pricing.MeterCPUHour: "1"}),
			},
			books: Books{
				1: book(1, "EUR", pricing.Tariff{pricing.FieldCPUHour: 1000}),
				2: book(2, "USD", pricing.Tariff{pricing.FieldCPUHour: 1000}),
			},
			want: []Row{{Amount: 1000, Quantity: rat("1"), UnitPrice: micros(1000), Details: Details{Books: []BookShare{
				{BookID: 1, Currency: "EUR", UnitPriceMicros: 1000, Quantity: "0.5"},
				{BookID: 2, Currency: "USD", UnitPriceMicros: 1000, Quantity: "0.5"},
			}}}},
		},
		"OneBookInParts": {
			reason: "Rows of different length come in parts; one book is one book.",
			meter:  Meter{Name: pricing.MeterNetworkGb},
			usage: []Usage{
				used(1, 30, 60, map[pricing.Meter]string{pricing.MeterNetworkGb: "1073741824"}),
				used(1, 1, 1, map[pricing.Meter]string{pricing.MeterNetworkGb: "1073741824"}),
			},
			books: first(pricing.Tariff{pricing.FieldNetworkGiB: 1001}),
			want:  []Row{{Amount: 1501, Quantity: rat("1.5"), UnitPrice: micros(1001), BookID: 1, Currency: "EUR"}},
		},
		"UnsetRate": {
			reason: "Usage whose book has no rate is dropped, never billed at the bare margin.",
			meter:  Meter{pricing.MeterCPUHour, absolute(200)},
			usage:  []Usage{used(1, 3600, 3600, map[pricing.Meter]string{pricing.MeterCPUHour: "1"})},
			books:  first(pricing.Tariff{pricing.FieldRAMGbHour: 4000}),
		},
		"ZeroRate": {
			reason: "An explicit zero is billed at zero plus margin.",
			meter:  Meter{pricing.MeterCPUHour, absolute(200)},
			usage:  []Usage{used(1, 3600, 3600, map[pricing.Meter]string{pricing.MeterCPUHour: "1"})},
			books:  first(pricing.Tariff{pricing.FieldCPUHour: 0}),
			want:   []Row{{Amount: 200, Quantity: rat("1"), UnitPrice: micros(200), BookID: 1, Currency: "EUR"}},
		},
		"NoUsage": {
			reason: "Without a row nothing is written: absent is not zero (OPEN-CJ-15).",
			meter:  Meter{Name: pricing.MeterCPUHour},
			books:  first(pricing.Tariff{pricing.FieldCPUHour: 31000}),
		},
		"Idle": {
			reason: "A row that was measured and used nothing is a row of nothing.",
			meter:  Meter{Name: pricing.MeterCPUHour},
			usage:  []Usage{used(1, 3600, 3600, nil)},
			books:  first(pricing.Tariff{pricing.FieldCPUHour: 31000}),
			want:   []Row{{Amount: 0, Quantity: rat("0"), UnitPrice: micros(31000), BookID: 1, Currency: "EUR"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			window := at("2026-03-05T10:00:00Z")
			bill := NewBill(Terms{Meters: []Meter{tc.meter}}, since("2026-03-05T10:15:00Z"), true)
			for i := range tc.want {
				tc.want[i].Window, tc.want[i].Source, tc.want[i].Finalized = window, tc.meter.Name, true
			}
			got, err := bill.Closed(run("2026-03-05T11:00:00Z"), window, tc.usage, tc.books, "EUR")
			if err != nil {
				t.Fatalf("%s\nClosed: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got, compareRats, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\nClosed(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestFeeRows(t *testing.T) {
	price := money.Micros(24000000)
	bill := NewBill(Terms{Fee: fee(tick.DayBoundary, "1", price)}, since("2026-03-05T10:20:30Z"), false)
	row := func(window string, amount money.Micros, ticks string, final bool, details Details) []Row {
		return []Row{{
			Window: at(window), Source: pricing.MeterSubscription, Amount: amount, Quantity: rat(ticks),
			UnitPrice: &price, Currency: "EUR", Finalized: final, Details: details,
		}}
	}

	cases := map[string]struct {
		reason  string
		window  string
		current bool
		want    []Row
	}{
		"Opening": {
			reason: "The opening tick says how long it was.",
			window: "2026-03-05T23:00:00Z",
			want:   row("2026-03-05T23:00:00Z", 13658333, "1", true, Details{ProratedSeconds: 49170}),
		},
		"Nothing": {
			reason: "An hour without a boundary has a row too: it marks the hour (OPEN-CJ-15).",
			window: "2026-03-06T10:00:00Z",
			want:   row("2026-03-06T10:00:00Z", 0, "0", true, Details{}),
		},
		"Full": {
			reason: "A day is charged in its last hour.",
			window: "2026-03-06T23:00:00Z",
			want:   row("2026-03-06T23:00:00Z", price, "1", true, Details{}),
		},
		"Current": {
			reason:  "The hour in progress has reached none of its boundaries (OPEN-CJ-19).",
			window:  "2026-03-07T23:00:00Z",
			current: true,
			want:    row("2026-03-07T23:00:00Z", 0, "0", false, Details{}),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := run("2026-03-07T23:00:00Z")
			got, err := bill.Closed(r, at(tc.window), nil, nil, "EUR")
			if tc.current {
				got, err = bill.Current(r, nil, nil, "EUR")
			}
			if err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got, compareRats); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestOverflowIsRefused(t *testing.T) {
	window := at("2026-03-05T10:00:00Z")
	books := Books{1: {ID: 1, Currency: "EUR", Rates: pricing.Tariff{pricing.FieldCPUHour: money.Max}}}
	cases := map[string]struct {
		reason string
		meter  Meter
		cores  string
	}{
		"Amount":    {reason: "Two core-hours at the largest rate.", meter: Meter{Name: pricing.MeterCPUHour}, cores: "2"},
		"UnitPrice": {reason: "A margin on the largest rate.", meter: Meter{pricing.MeterCPUHour, factor(2000)}, cores: "0.1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			bill := NewBill(Terms{Meters: []Meter{tc.meter}}, since("2026-03-05T10:00:00Z"), true)
			_, err := bill.Closed(run("2026-03-05T11:00:00Z"), window, []Usage{used(1, 3600, 3600, map[pricing.Meter]string{pricing.MeterCPUHour: tc.cores})}, books, "")
			if !errors.Is(err, money.ErrOverflow) || !Parked(err) {
				t.Errorf("%s\nClosed: want %v, which parks, got %v", tc.reason, money.ErrOverflow, err)
			}
		})
	}
}

func TestPlausible(t *testing.T) {
	bill := NewBill(Terms{Fee: fee(tick.ActivatedAt, "1h", 1)}, since("2026-03-05T10:00:00Z"), false)
	row := func(amount money.Micros) Row { return Row{Source: pricing.MeterSubscription, Amount: amount} }
	cases := map[string]struct {
		reason string
		rows   []Row
		hours  int
		parked bool
	}{
		"AtTheBound": {reason: "The bound itself is believed.", rows: []Row{row(DefaultMaxAmount)}, hours: 1},
		"AboveIt":    {reason: "More is held back.", rows: []Row{row(DefaultMaxAmount + 1)}, hours: 1, parked: true},
		"TooMany":    {reason: "An hour has one row per source.", rows: []Row{row(1), row(1)}, hours: 1, parked: true},
		"TwoHours":   {reason: "Two hours have two.", rows: []Row{row(1), row(1)}, hours: 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if err := bill.Plausible(tc.rows, tc.hours, DefaultMaxAmount); Parked(err) != tc.parked {
				t.Errorf("%s\nPlausible: want parked %t, got %v", tc.reason, tc.parked, err)
			}
		})
	}
}

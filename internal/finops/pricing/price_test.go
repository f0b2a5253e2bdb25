package pricing

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/internal/finops/money"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

func factor(milli int64) money.Margin { return money.Margin{FactorMilli: &milli} }
func plus(micros int64) money.Margin  { return money.Margin{AbsoluteMicros: &micros} }

func items(meters ...Meter) []Item {
	list := make([]Item, 0, len(meters))
	for _, m := range meters {
		list = append(list, Item{Meter: m})
	}
	return list
}

func TestResolve(t *testing.T) {
	type want struct {
		Price   Price
		Refusal Refusal
	}

	offering := ref.Key{Namespace: "catalogue", Name: "gpu-bench-v1"}
	tariff := ref.Key{Namespace: "finance", Name: "tariff-a"}
	active := func(r Rates) []Book {
		return []Book{{Key: tariff, Generation: 3, Active: true, Mode: Currency, Rates: &r}}
	}
	const from = "resolved from pricebook finance/tariff-a generation 3"
	const none = "offering catalogue/gpu-bench-v1: no active pricebook to resolve metered pricing"

	cases := map[string]struct {
		reason string
		terms  Terms
		books  []Book
		want   want
	}{
		"WorkedExample": {
			reason: "The worked example of part 30.9.",
			terms: Terms{
				Fee:   &Fee{Alignment: AlignDayBoundary, Period: "1", PriceMicros: 24000000},
				Items: []Item{{MeterGPUHour, factor(1200)}, {MeterRAMGbHour, plus(200)}},
			},
			books: active(Rates{GPUHour: "1.80", RAMGbHour: "0.004"}),
			want:  want{Price: Price{Units: []UnitPrice{{MeterGPUHour, 2160000}, {MeterRAMGbHour, 4200}}, FeePeriod: "1d", Origin: from}},
		},
		"WorkedMargins": {
			reason: "The worked numbers of part 30.2.",
			terms: Terms{Items: []Item{
				{MeterCPUHour, factor(1250)}, {MeterPVGbHour, factor(980)}, {MeterRAMGbHour, plus(150)}, {MeterGPUHour, factor(0)},
			}},
			books: active(Rates{CPUHour: "0.025", PVGbHour: "0.000121", RAMGbHour: "0.0035", GPUHour: "1.8"}),
			want: want{Price: Price{Units: []UnitPrice{
				{MeterCPUHour, 31250}, {MeterPVGbHour, 118}, {MeterRAMGbHour, 3650}, {MeterGPUHour, 0},
			}, Origin: from}},
		},
		"FeeOnly": {
			reason: "A fee needs no price book, and the list of meters is empty, not absent (part 30.5).",
			terms:  Terms{Fee: &Fee{Alignment: AlignMonthBoundary, Period: "03", PriceMicros: 19000000}},
			want:   want{Price: Price{Units: []UnitPrice{}, FeePeriod: "3mo", Origin: "resolved without a pricebook"}},
		},
		"Nothing": {
			reason: "An Offering that charges nothing is priced all the same (part 30.2).",
			want:   want{Price: Price{Units: []UnitPrice{}, Origin: "resolved without a pricebook"}},
		},
		"NoBook": {
			reason: "Margins on a missing rate would publish the margin as the price.",
			terms:  Terms{Items: items(MeterCPUHour)},
			want:   want{Refusal: Refusal{NoActivePricebook, none}},
		},
		"InactiveBook": {
			reason: "Only the active book prices.",
			terms:  Terms{Items: items(MeterCPUHour)},
			books:  []Book{{Key: tariff, Mode: Currency, Rates: &Rates{CPUHour: "1"}}},
			want:   want{Refusal: Refusal{NoActivePricebook, none}},
		},
		"ActivePercentBook": {
			reason: "Resolution passes over every book whose mode is not currency (part 20.6).",
			terms:  Terms{Items: items(MeterCPUHour)},
			books:  []Book{{Key: tariff, Active: true, Mode: "percent", Rates: &Rates{CPUHour: "1"}}},
			want:   want{Refusal: Refusal{NoActivePricebook, none}},
		},
		"TwoActiveBooks": {
			reason: "While two books claim the slot neither is believed.",
			terms:  Terms{Items: items(MeterCPUHour)},
			books:  append(active(Rates{CPUHour: "1"}), Book{Active: true, Mode: Currency, Rates: &Rates{CPUHour: "2"}}),
			want:   want{Refusal: Refusal{NoActivePricebook, none}},
		},
		"NeededRateDoesNotParse": {
			reason: "The message names the meter and the value (part 30.5).",
			terms:  Terms{Items: items(MeterNetworkGb)},
			books:  active(Rates{NetworkGiB: "9223372036855"}),
			want: want{Refusal: Refusal{
				PricebookParseFailed,
				`meter "networkGb": pricebook finance/tariff-a: rate "networkGiB" ("9223372036855"): larger than 9223372036854.775807`,
			}},
		},
		"OtherRateDoesNotParse": {
			reason: "An active book that is not ready prices nothing (part 20.8).",
			terms:  Terms{Items: items(MeterCPUHour)},
			books:  active(Rates{CPUHour: "1", SpotCPUHour: "x"}),
			want:   want{Refusal: Refusal{PricebookParseFailed, `pricebook finance/tariff-a: rate "spotCPUHour" ("x"): not a decimal number`}},
		},
		"NoRates": {
			reason: "A book without the block is not ready (BETTER-PB-5).",
			terms:  Terms{Items: items(MeterCPUHour)},
			books:  []Book{{Key: tariff, Active: true, Mode: Currency}},
			want:   want{Refusal: Refusal{PricebookParseFailed, "pricebook finance/tariff-a: rates must be set when valuationMode is currency"}},
		},
		"UnsetRate": {
			reason: "A rate that is not set would publish the bare margin (OPEN-OFF-4).",
			terms:  Terms{Items: []Item{{MeterGPUHour, plus(200)}}},
			books:  active(Rates{CPUHour: "1"}),
			want:   want{Refusal: Refusal{PricebookParseFailed, `rate "gpuHour" is unset on pricebook finance/tariff-a`}},
		},
		"ZeroRate": {
			reason: "An explicit zero resolves normally (OPEN-OFF-4).",
			terms:  Terms{Items: []Item{{MeterGPUHour, plus(200)}}},
			books:  active(Rates{GPUHour: "0"}),
			want:   want{Price: Price{Units: []UnitPrice{{MeterGPUHour, 200}}, Origin: from}},
		},
		"MeterSubscription": {
			reason: "It publishes the fee without its own margin (OPEN-OFF-5).",
			terms: Terms{
				Fee:   &Fee{Alignment: AlignActivatedAt, Period: "90m", PriceMicros: 5},
				Items: []Item{{MeterSubscription, factor(2000)}},
			},
			books: active(Rates{}),
			want:  want{Price: Price{Units: []UnitPrice{{MeterSubscription, 5}}, FeePeriod: "90m", Origin: from}},
		},
		"MeterSubscriptionWithoutFee": {
			reason: "Without a fee it publishes zero (OPEN-OFF-5).",
			terms:  Terms{Items: items(MeterSubscription)},
			books:  active(Rates{}),
			want:   want{Price: Price{Units: []UnitPrice{{MeterSubscription, 0}}, Origin: from}},
		},
		"DuplicateMeter": {
			reason: "Two entries of one meter would write one charge row (OPEN-OFF-2).",
			terms:  Terms{Items: items(MeterCPUHour, MeterGPUHour, MeterCPUHour)},
			books:  active(Rates{CPUHour: "1", GPUHour: "1"}),
			want:   want{Refusal: Refusal{ValidationError, `duplicate meter "cpuHour" in resourcePricing`}},
		},
		"PriceTooLarge": {
			reason: "An overflow is refused, never wrapped around.",
			terms:  Terms{Items: []Item{{MeterCPUHour, factor(1001)}}},
			books:  active(Rates{CPUHour: "9223372036854.775807"}),
			want: want{Refusal: Refusal{
				ValidationError,
				`meter "cpuHour": 9232595408891630582 micros: amount does not fit 64 bits of micros`,
			}},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.terms.Offering = offering
			var got want
			got.Price, got.Refusal = Resolve(tc.terms, tc.books)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nResolve(...): -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestMoved(t *testing.T) {
	terms := Terms{Items: items(MeterCPUHour)}
	published := []UnitPrice{{MeterCPUHour, 25000}}
	book := func(cpu string) []Book {
		return []Book{{Active: true, Mode: Currency, Rates: &Rates{CPUHour: cpu}}}
	}

	cases := map[string]struct {
		reason string
		books  []Book
		want   bool
	}{
		"Same":     {reason: "The rates still give the published price.", books: book("0.0250")},
		"Dearer":   {reason: "Charges use the newer rate (BETTER-OFF-3).", books: book("0.026"), want: true},
		"BookGone": {reason: "Without a book nothing newer is charged."},
		"Unready":  {reason: "A book that does not parse gives no newer price.", books: book("x")},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Moved(published, terms, tc.books)); diff != "" {
				t.Errorf("%s\nMoved(...): -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestOrigin checks that the record of where a price came from survives every
// message it is part of.
func TestOrigin(t *testing.T) {
	const from = "resolved from pricebook finance/tariff-a generation 12"

	cases := map[string]struct {
		reason  string
		message string
		want    string
	}{
		"Published": {reason: "The plain message is the origin.", message: Published(from, false), want: from},
		"Moved":     {reason: "A note about newer rates does not hide it.", message: Published(from, true), want: from},
		"Held":      {reason: "It outlives a failure of the requirements.", message: StillPublished("required offering a/b not found", from), want: from},
		"HeldEarly": {reason: "Nothing is recorded before a price was published.", message: StillPublished("required offering a/b not found", "")},
		"NoBook":    {reason: "A fee has an origin too.", message: Published("resolved without a pricebook", false), want: "resolved without a pricebook"},
		"Unknown":   {reason: "Other text holds no origin.", message: "resolved"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, OriginIn(tc.message)); diff != "" {
				t.Errorf("%s\nOriginIn(%q): -want +got:\n%s", tc.reason, tc.message, diff)
			}
		})
	}
}

// TestCanonicalPeriod holds the table of part 30.5.
func TestCanonicalPeriod(t *testing.T) {
	cases := map[string]struct {
		reason    string
		alignment string
		periods   []string
		want      string
	}{
		"Hour":        {reason: "The unit is added once.", alignment: AlignHourBoundary, periods: []string{"1", "1h", "01"}, want: "1h"},
		"Day":         {reason: "The unit is added once.", alignment: AlignDayBoundary, periods: []string{"7", "7d", "007d"}, want: "7d"},
		"Month":       {reason: "The unit is added once.", alignment: AlignMonthBoundary, periods: []string{"3", "3mo", "03"}, want: "3mo"},
		"ActivatedAt": {reason: "It is never converted to another unit.", alignment: AlignActivatedAt, periods: []string{"90m", "090m"}, want: "90m"},
		"Seconds":     {reason: "It is never converted to another unit.", alignment: AlignActivatedAt, periods: []string{"3600s"}, want: "3600s"},
		"TenDays":     {reason: "Only leading zeros go.", alignment: AlignDayBoundary, periods: []string{"10", "010d"}, want: "10d"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, p := range tc.periods {
				if diff := cmp.Diff(tc.want, CanonicalPeriod(tc.alignment, p)); diff != "" {
					t.Errorf("%s\nCanonicalPeriod(%q, %q): -want +got:\n%s", tc.reason, tc.alignment, p, diff)
				}
				if diff := cmp.Diff(tc.want, CanonicalPeriod(tc.alignment, tc.want)); diff != "" {
					t.Errorf("The canonical form is its own.\nCanonicalPeriod(%q, %q): -want +got:\n%s", tc.alignment, tc.want, diff)
				}
			}
		})
	}
}

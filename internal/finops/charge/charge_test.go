package charge

import (
	"math/big"
	"testing"
	"time"

	"github.com/provider-finops/provider-finops/internal/finops/money"
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
	"github.com/provider-finops/provider-finops/internal/finops/tick"
)

// The tests of this package share what follows: times, fees and lives that read
// like the tables they come from.

func at(text string) time.Time {
	when, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return when
}

func fee(alignment tick.Alignment, period string, price money.Micros) *tick.Terms {
	return feeWithMinimum(alignment, period, price, 0)
}

func feeWithMinimum(alignment tick.Alignment, period string, price money.Micros, minPeriods int64) *tick.Terms {
	terms, err := tick.ParseTerms(alignment, period, price, minPeriods)
	if err != nil {
		panic(err)
	}
	return &terms
}

func since(activated string) tick.Life { return tick.Life{ActivatedAt: at(activated)} }

func between(activated, deactivated string) tick.Life {
	return tick.Life{ActivatedAt: at(activated), DeactivatedAt: at(deactivated)}
}

func run(hour string) Run { return Run{Hour: at(hour), SettledBefore: at(hour)} }

func runSettled(hour, settledBefore string) Run {
	return Run{Hour: at(hour), SettledBefore: at(settledBefore)}
}

func absolute(micros int64) money.Margin { return money.Margin{AbsoluteMicros: &micros} } //nolint:unparam // The tables say how much.

func factor(milli int64) money.Margin { return money.Margin{FactorMilli: &milli} }

func rat(text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		panic(text)
	}
	return r
}

// used is the usage of one row: averages with their billable seconds, totals
// with the billable share of the row.
func used(book int64, spanSeconds, rowSeconds int64, quantities map[pricing.Meter]string) Usage {
	get := func(m pricing.Meter) *big.Rat {
		if text, ok := quantities[m]; ok {
			return new(big.Rat).Mul(rat(text), new(big.Rat).SetInt64(spanSeconds))
		}
		return new(big.Rat)
	}
	return Usage{
		BookID:       book,
		ShareSeconds: rowSeconds,
		CoreSeconds:  get(pricing.MeterCPUHour),
		GPUSeconds:   get(pricing.MeterGPUHour),
		ByteSeconds:  get(pricing.MeterRAMGbHour),
		PVByteHours:  get(pricing.MeterPVGbHour),
		NetworkBytes: get(pricing.MeterNetworkGb),
	}
}

func TestNewTerms(t *testing.T) {
	if _, err := NewTerms(nil, []Meter{{Name: pricing.MeterCPUHour}, {Name: pricing.MeterCPUHour}}); err == nil {
		t.Error("Two entries of one meter would write one and the same row (OPEN-OFF-2): want an error, got none")
	}
	if _, err := NewTerms(nil, []Meter{{Name: "egressGb"}}); err == nil {
		t.Error("A meter nobody knows: want an error, got none")
	}
	terms, err := NewTerms(nil, []Meter{{Name: pricing.MeterSubscription}})
	if err != nil {
		t.Fatal(err)
	}
	if NewBill(terms, since("2026-03-05T10:00:00Z"), true).Metered() {
		t.Error("The meter subscription has no calculator (OPEN-OFF-5): want no metered bill, got one")
	}
}

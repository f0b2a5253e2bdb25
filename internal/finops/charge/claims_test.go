package charge

import (
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/internal/finops/pricing"
)

// TestClaims counts two hours of cores, in the first of which network was sold
// that has no rate.
func TestClaims(t *testing.T) {
	books := Books{7: {ID: 7, Rates: pricing.Tariff{pricing.FieldCPUHour: 31000}}}
	used := func(book, coreSeconds, networkBytes int64) Usage {
		return Usage{
			BookID: book, ShareSeconds: 1, CoreSeconds: big.NewRat(coreSeconds, 1), NetworkBytes: big.NewRat(networkBytes, 1),
			GPUSeconds: new(big.Rat), ByteSeconds: new(big.Rat), PVByteHours: new(big.Rat),
		}
	}
	first, second := Claims{}, Claims{}
	first.Add(used(7, 3600, 1<<30), true, books)
	first.Add(used(7, 1800, 0), false, books)
	second.Add(used(0, 900, 0), true, books) // Measured without a book.
	second.Add(used(0, 900, 0), false, books)
	sum := Claims{}
	sum.Merge(first)
	sum.Merge(second)

	got := map[pricing.Meter][3]string{}
	for m, c := range sum {
		if c.Measured.Sign() > 0 {
			got[m] = [3]string{c.Measured.RatString(), c.Unclaimed.RatString(), c.Unrated.RatString()}
		}
	}
	want := map[pricing.Meter][3]string{
		pricing.MeterCPUHour:   {"2", "3/4", "1/4"},
		pricing.MeterNetworkGb: {"1", "0", "1"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Measured, claimed by nobody, claimed without a rate: -want, +got:\n%s", diff)
	}
	if len(sum) != 5 {
		t.Errorf("A meter of which nothing was used is counted, too: want 5 meters, got %d", len(sum))
	}
	if first[pricing.MeterCPUHour].Measured.Cmp(big.NewRat(3, 2)) != 0 {
		t.Error("Adding to the sum must leave its parts alone")
	}
}

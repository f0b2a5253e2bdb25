package charge

import (
	"math/big"
	"time"

	"github.com/provider-finops/provider-finops/internal/finops/hour"
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
)

// gibibyte is the "Gb" of every meter (60.1).
const gibibyte = 1 << 30

// secondsPerHour is what an average has to be integrated over to make one unit
// per hour.
const secondsPerHour = int64(hour.Length / time.Second)

// A Usage is what one Subscription's sources consumed in one hour of its life
// under one price book, added up over rows that share ShareSeconds. All sums
// are exact.
//
// What is measured as an average counts with the billable seconds of the row.
// What is measured as a total counts with the billable share of the row, which
// is its billable seconds over all its seconds: the sums hold the products with
// the former, ShareSeconds is the latter, to be divided by. For rows that are
// billable as a whole the collector saves the trouble: product of one, divided
// by one.
type Usage struct {
	BookID       int64
	ShareSeconds int64 // At least 1.

	CoreSeconds  *big.Rat
	GPUSeconds   *big.Rat
	ByteSeconds  *big.Rat // Memory.
	PVByteHours  *big.Rat // Times seconds of share.
	NetworkBytes *big.Rat // Sent and received, times seconds of share.
}

// quantity is how many units of a meter were used.
func (u Usage) quantity(m pricing.Meter) *big.Rat {
	var sum *big.Rat
	divisor := big.NewInt(1)
	switch m {
	case pricing.MeterCPUHour:
		sum = u.CoreSeconds
		divisor.SetInt64(secondsPerHour)
	case pricing.MeterGPUHour:
		sum = u.GPUSeconds
		divisor.SetInt64(secondsPerHour)
	case pricing.MeterRAMGbHour:
		sum = u.ByteSeconds
		divisor.SetInt64(secondsPerHour * gibibyte)
	case pricing.MeterPVGbHour:
		sum = u.PVByteHours
		divisor.Mul(big.NewInt(u.ShareSeconds), big.NewInt(gibibyte))
	case pricing.MeterNetworkGb:
		sum = u.NetworkBytes
		divisor.Mul(big.NewInt(u.ShareSeconds), big.NewInt(gibibyte))
	case pricing.MeterSubscription:
		return new(big.Rat)
	}
	return new(big.Rat).Quo(sum, new(big.Rat).SetInt(divisor))
}

// Unrated are the meters of the bill for which something was used that has no
// rate: it is dropped, and somebody should know (60.9).
func (b Bill) Unrated(usage []Usage, books Books) []pricing.Meter {
	if !b.metered {
		return nil
	}
	var unrated []pricing.Meter
	for _, m := range b.terms.Meters {
		field, _ := m.Name.Field()
		for _, u := range usage {
			if _, rated := books[u.BookID].Rates[field]; !rated && u.quantity(m.Name).Sign() > 0 {
				unrated = append(unrated, m.Name)
				break
			}
		}
	}
	return unrated
}

// A Book is what a price book's recorded rates were when its rows were
// measured.
type Book struct {
	ID       int64
	Currency string
	Rates    pricing.Tariff
}

// Books are the recorded price books by their id.
type Books map[int64]Book

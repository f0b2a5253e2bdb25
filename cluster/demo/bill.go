package demo

import (
	"context"
	"fmt"
	"math/big"
	"time"
)

// The bill, computed anew and on purpose in another way than the product does:
// tick by tick instead of by formula, from OpenCost's answers instead of the
// stored rows, one hour and one meter at a time.

// A charge is what one Subscription owes for one hour and one source.
type charge struct {
	Subscription string
	Hour         time.Time
	Source       string
	Micros       int64
}

const gibibyte = 1 << 30

// The meters that the demo can check.
const (
	cpuMeter     = "cpuHour"
	ramMeter     = "ramGbHour"
	volumeMeter  = "pvGbHour"
	networkMeter = "networkGb"
)

// expectedBill lists what the Subscription owes for every hour from its
// activation to the last one, without what is zero.
func (d *demo) expectedBill(ctx context.Context, s subscription, last time.Time) ([]charge, error) {
	terms, err := d.offering(ctx, s)
	if err != nil {
		return nil, err
	}
	book, err := d.priceBook(ctx)
	if err != nil {
		return nil, err
	}
	var bill []charge
	add := func(hour time.Time, source string, micros *big.Int) {
		if micros.Sign() != 0 {
			bill = append(bill, charge{s.Metadata.Name, hour, source, micros.Int64()})
		}
	}
	for hour := s.Status.ActivatedAt.Truncate(time.Hour); !hour.After(last); hour = hour.Add(time.Hour) {
		owed, err := expectedFee(*terms.Spec.Pricing.SubscriptionFee, s, hour, last)
		if err != nil {
			return nil, err
		}
		add(hour, "subscription", owed)
		measured, err := d.allocations(ctx, hour)
		if err != nil {
			return nil, err
		}
		for _, m := range terms.Spec.Pricing.ResourcePricing {
			used, err := expectedUsage(m, book, s, measured, hour)
			if err != nil {
				return nil, err
			}
			add(hour, m.Name, used)
		}
	}
	return bill, nil
}

// expectedFee walks from boundary to boundary and charges a tick for each that
// lies in (hour, hour+1h]. The boundary that closes an ended Subscription's
// last tick is the last; it is charged in advance. Nothing else is charged
// for the hour in progress.
func expectedFee(f fee, s subscription, hour, last time.Time) (*big.Int, error) {
	var (
		owed      = new(big.Int)
		activated = s.Status.ActivatedAt
		ended     = s.Status.DeactivatedAt
		boundary  time.Time
		opening   = big.NewInt(f.PriceMicros)
	)
	switch {
	case f.TickAlignment == "ActivatedAt" && f.Period == "1h":
		boundary = activated.Add(time.Hour)
	case f.TickAlignment == "HourBoundary" && f.Period == "1":
		boundary = activated.Truncate(time.Hour).Add(time.Hour)
		opening.Mul(opening, big.NewInt(int64(boundary.Sub(activated)/time.Second)))
		opening.Div(opening, big.NewInt(3600))
	default:
		return nil, fmt.Errorf("the demo cannot check a fee per %s %s", f.Period, f.TickAlignment)
	}
	if ended.IsZero() && !hour.Before(last) {
		return owed, nil
	}
	for tick := opening; !boundary.After(hour.Add(time.Hour)); boundary = boundary.Add(time.Hour) {
		if boundary.After(hour) {
			owed.Add(owed, tick)
		}
		tick = big.NewInt(f.PriceMicros)
		if !ended.IsZero() && !boundary.Before(ended) {
			break
		}
	}
	return owed, nil
}

// expectedUsage prices every selected container for the time for which it ran
// and the Subscription was active, adds up, and rounds down once.
func expectedUsage(m meter, book priceBook, s subscription, measured []allocation, hour time.Time) (*big.Int, error) {
	price, err := unitPrice(m, book)
	if err != nil {
		return nil, err
	}
	sum := new(big.Rat)
	for _, a := range measured {
		if !s.selects(a) {
			continue
		}
		used, err := quantity(m.Name, a, s, hour)
		if err != nil {
			return nil, err
		}
		sum.Add(sum, used.Mul(used, price))
	}
	return new(big.Int).Quo(sum.Num(), sum.Denom()), nil
}

// rates is the price book's name for each meter.
var rates = map[string]string{cpuMeter: "cpuHour", ramMeter: "ramGbHour", volumeMeter: "pvGbHour", networkMeter: "networkGiB"} //nolint:goconst // Fields of another kind, most of which are called alike.

func unitPrice(m meter, book priceBook) (*big.Rat, error) {
	price, err := book.micros(rates[m.Name])
	if err != nil {
		return nil, err
	}
	switch {
	case m.Margins.AbsoluteMicros != nil:
		price.Add(price, new(big.Rat).SetInt64(*m.Margins.AbsoluteMicros))
	case m.Margins.FactorMilli != nil:
		price.Mul(price, big.NewRat(*m.Margins.FactorMilli, 1000))
		price.SetInt(new(big.Int).Quo(price.Num(), price.Denom()))
	}
	return price, nil
}

func quantity(meterName string, a allocation, s subscription, hour time.Time) (*big.Rat, error) {
	start, end := later(a.Start, hour), earlier(a.End, hour.Add(time.Hour))
	ran := seconds(start, end)
	start = later(start, s.Status.ActivatedAt)
	if !s.Status.DeactivatedAt.IsZero() {
		end = earlier(end, s.Status.DeactivatedAt)
	}
	billable := seconds(start, end)
	if billable == 0 {
		return new(big.Rat), nil
	}
	hours, share := big.NewRat(billable, 3600), big.NewRat(billable, ran)
	switch meterName {
	case cpuMeter:
		return hours.Mul(hours, amount(a.CPUCoreUsageAverage)), nil
	case ramMeter:
		return gib(hours.Mul(hours, amount(a.RAMByteUsageAverage))), nil
	case volumeMeter:
		return gib(share.Mul(share, amount(a.PVByteHours))), nil
	case networkMeter:
		bytes := new(big.Rat).Add(amount(a.NetworkTransferBytes), amount(a.NetworkReceiveBytes))
		return gib(share.Mul(share, bytes)), nil
	}
	return nil, fmt.Errorf("the demo cannot check meter %q", meterName)
}

func gib(bytes *big.Rat) *big.Rat { return bytes.Quo(bytes, big.NewRat(gibibyte, 1)) }

func seconds(start, end time.Time) int64 { return max(0, int64(end.Sub(start)/time.Second)) }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

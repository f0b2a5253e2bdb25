package charge

import (
	"fmt"
	"math/big"
	"time"

	"github.com/provider-finops/provider-finops/internal/finops/hour"
	"github.com/provider-finops/provider-finops/internal/finops/money"
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
	"github.com/provider-finops/provider-finops/internal/finops/tick"
)

// A Measurement is one measured row of an hour: averages over its own interval,
// totals for all of it.
type Measurement struct {
	Workload

	Start, End time.Time
	BookID     int64 // Zero if no book was known.

	Cores, GPUs, Bytes        *big.Rat // Averages.
	PVByteHours, NetworkBytes *big.Rat // Totals.
}

// Billable is how many seconds of a row lie in its hour and in the life, and how
// many in its hour (60.9).
func (b Bill) Billable(m Measurement, window time.Time) (span, whole int64) {
	from, to := max(m.Start.Unix(), window.Unix()), min(m.End.Unix(), window.Add(hour.Length).Unix())
	whole = max(0, to-from)
	from = max(from, b.life.ActivatedAt.Unix())
	if b.life.Ended() {
		to = min(to, b.life.DeactivatedAt.Unix())
	}
	return max(0, to-from), whole
}

// A Line is what one measured row adds to a charge.
type Line struct {
	Measurement

	SpanSeconds, WholeSeconds int64 // Billable seconds of all there are.

	// Rated says that the row's book has a rate for the meter. A row without one
	// is never billed.
	Rated    bool
	Rate     money.Micros
	Price    money.Micros // The rate with the margin.
	Quantity *big.Rat
	Amount   *big.Rat // Exact, in micros; rounded down only when all lines are added up.
}

// Line prices one measured row for one of the bill's meters. What it says about
// all rows of an hour adds up to the row that [Bill.Closed] gives.
func (b Bill) Line(m Measurement, window time.Time, meter Meter, books Books) (Line, error) {
	l := Line{Measurement: m, Quantity: new(big.Rat), Amount: new(big.Rat)}
	l.SpanSeconds, l.WholeSeconds = b.Billable(m, window)
	field, _ := meter.Name.Field()
	l.Rate, l.Rated = books[m.BookID].Rates[field]
	if l.SpanSeconds == 0 {
		return l, nil
	}

	l.Quantity = m.over(l.SpanSeconds, l.WholeSeconds).quantity(meter.Name)
	if !l.Rated {
		return l, nil
	}
	var err error
	if l.Price, err = meter.Margin.Apply(l.Rate); err != nil {
		return Line{}, fmt.Errorf("cannot price a row of pricebook %d: %w", m.BookID, err)
	}
	l.Amount.Mul(l.Quantity, new(big.Rat).SetInt64(int64(l.Price)))
	return l, nil
}

// over is what a row counts for so many of its seconds.
func (m Measurement) over(span, whole int64) Usage {
	seconds := new(big.Rat).SetInt64(span)
	times := func(q *big.Rat) *big.Rat { return new(big.Rat).Mul(q, seconds) }
	return Usage{
		BookID: m.BookID, ShareSeconds: whole,
		CoreSeconds: times(m.Cores), GPUSeconds: times(m.GPUs), ByteSeconds: times(m.Bytes),
		PVByteHours: times(m.PVByteHours), NetworkBytes: times(m.NetworkBytes),
	}
}

// Meter returns one of the meters that usage is charged by.
func (b Bill) Meter(name pricing.Meter) (Meter, bool) {
	if !b.metered {
		return Meter{}, false
	}
	for _, m := range b.terms.Meters {
		if m.Name == name {
			return m, true
		}
	}
	return Meter{}, false
}

// Fee returns the terms of the fee and what it is over the life, if there is one.
func (b Bill) Fee() (tick.Terms, tick.Fee, bool) {
	if b.fee == nil {
		return tick.Terms{}, tick.Fee{}, false
	}
	return *b.terms.Fee, *b.fee, true
}

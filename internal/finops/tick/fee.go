package tick

import (
	"fmt"
	"math/big"
	"time"

	"github.com/provider-finops/provider-finops/internal/finops/money"
)

// Terms are what an Offering asks for: a price for every period.
type Terms struct {
	Period      Period
	PriceMicros money.Micros
	MinPeriods  int64 // Ticks before a deleted Subscription may go; zero if none are asked for.
}

// ParseTerms reads a fee block. The error names the field that cannot be read.
func ParseTerms(alignment Alignment, period string, price money.Micros, minPeriods int64) (Terms, error) {
	p, err := ParsePeriod(alignment, period)
	if err != nil {
		return Terms{}, err
	}
	if price < 1 {
		return Terms{}, fmt.Errorf("cannot charge a fee of priceMicros %d: want at least 1", price)
	}
	if minPeriods < 0 {
		return Terms{}, fmt.Errorf("cannot keep a Subscription for minPeriods %d: want at least 1, or none", minPeriods)
	}
	return Terms{Period: p, PriceMicros: price, MinPeriods: minPeriods}, nil
}

// A Life is the time for which a Subscription is billed.
type Life struct {
	ActivatedAt   time.Time
	DeactivatedAt time.Time // Zero while it has not ended. As recorded: never snapped.
}

// Ended reports whether the life has an end.
func (l Life) Ended() bool { return !l.DeactivatedAt.IsZero() }

// A Fee is terms applied to one life. It answers what any span of time costs.
type Fee struct {
	terms Terms
	grid  grid
	ended bool
	snap  int64
}

// Over applies the terms to a life.
func (t Terms) Over(life Life) Fee {
	f := Fee{terms: t, grid: grid{period: t.Period, activated: life.ActivatedAt.Unix()}, ended: life.Ended()}
	if f.ended {
		f.snap = f.grid.snap(life.DeactivatedAt.Unix())
	}
	return f
}

// Ticks counts the boundaries after the activation and not after t. It goes on
// counting after the end, for that is what minPeriods is measured in (50.8).
func (f Fee) Ticks(t time.Time) int64 { return f.grid.ticks(t.Unix()) }

// Boundary is the n-th tick boundary, n >= 1.
func (f Fee) Boundary(n int64) time.Time { return time.Unix(f.grid.boundary(n), 0).UTC() }

// Snap is the first boundary at or after the end, up to which an ended life is
// charged. A life that has not ended has none.
func (f Fee) Snap() (time.Time, bool) {
	if !f.ended {
		return time.Time{}, false
	}
	return time.Unix(f.snap, 0).UTC(), true
}

// MinPeriodsPassed reports whether a deleted Subscription may go at t, as far as
// its fee is concerned.
func (f Fee) MinPeriodsPassed(t time.Time) bool { return f.Ticks(t) >= f.terms.MinPeriods }

// A Due is what one span of time costs.
type Due struct {
	Ticks  int64 // Boundaries in the span, the opening one included.
	Amount money.Micros

	// ProratedSeconds is how long the opening tick was, if it is in the span and
	// was measured by its length. Zero otherwise.
	ProratedSeconds int64
}

// Amount is the fee for (start, end]: one price for every boundary in it, the
// opening one reduced, nothing beyond the snap of an ended life, nothing for a
// span that ends before it starts. It returns [money.ErrOverflow] if the result
// does not fit.
func (f Fee) Amount(start, end time.Time) (money.Micros, error) {
	due, err := f.Due(start, end)
	return due.Amount, err
}

// Due is [Fee.Amount] with what it was made of.
func (f Fee) Due(start, end time.Time) (Due, error) {
	from, to := start.Unix(), end.Unix()
	if f.ended {
		from, to = min(from, f.snap), min(to, f.snap)
	}
	if to <= from {
		return Due{}, nil
	}

	due := Due{Ticks: f.grid.ticks(to) - f.grid.ticks(from)}
	total := f.terms.PriceMicros.Times(due.Ticks)
	if first := f.grid.first(); from < first && first <= to {
		opening, err := f.opening()
		if err != nil {
			return Due{}, err
		}
		total.Sub(total, big.NewInt(int64(f.terms.PriceMicros-opening)))
		if f.terms.Period.alignment != ActivatedAt {
			due.ProratedSeconds = first - f.grid.activated
		}
	}

	amount, err := money.FromInt(total)
	if err != nil {
		return Due{}, fmt.Errorf("cannot charge %d ticks of %d micros: %w", due.Ticks, f.terms.PriceMicros, err)
	}
	due.Amount = amount
	return due, nil
}

// opening is the price of the opening tick: in proportion to its length, and
// never more than a full one (OPEN-BILL-3: a month of 31 days is longer than
// the fixed length it is measured against).
func (f Fee) opening() (money.Micros, error) {
	if f.terms.Period.alignment == ActivatedAt {
		return f.terms.PriceMicros, nil
	}
	seconds := min(f.grid.first()-f.grid.activated, f.terms.Period.seconds)
	return money.FloorDiv(f.terms.PriceMicros.Times(seconds), big.NewInt(f.terms.Period.seconds))
}

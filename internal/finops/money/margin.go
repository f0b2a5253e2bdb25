package money

import (
	"fmt"
	"math/big"
)

// A Margin is what an Offering puts on top of a price book's rate. The zero
// Margin leaves the rate as it is. An explicit zero differs from none
// (OPEN-API-6): a factor of zero makes a meter free. At most one of the two may
// be set.
type Margin struct {
	AbsoluteMicros *int64 // Added to the rate.
	FactorMilli    *int64 // Multiplies the rate, in thousandths.
}

// factorUnit is the factor that changes nothing.
const factorUnit = 1000

// Apply gives the unit price in micros for a rate in micros: rate + absolute,
// or rate × factor / 1000 rounded down (OPEN-OFF-1), never below zero. It
// returns [ErrOverflow] for a price that does not fit.
func (m Margin) Apply(rate Micros) (Micros, error) {
	price := big.NewInt(int64(rate))
	switch {
	case m.AbsoluteMicros != nil && m.FactorMilli != nil:
		return 0, fmt.Errorf("cannot apply a margin of both absoluteMicros %d and factorMilli %d: only one may be set", *m.AbsoluteMicros, *m.FactorMilli)
	case m.AbsoluteMicros != nil:
		price.Add(price, big.NewInt(*m.AbsoluteMicros))
	case m.FactorMilli != nil:
		price.Mul(price, big.NewInt(*m.FactorMilli))
		price.Div(price, big.NewInt(factorUnit))
	}
	if price.Sign() < 0 {
		return 0, nil
	}
	return FromInt(price)
}

// Package money holds amounts of money and the one way to round them.
//
// Money is whole micros of some currency, millionths of its unit: 1,000,000
// micros of EUR are 1.00 EUR. Nothing here knows which currency an amount is
// in, and nothing converts between two. Everything that is not yet an amount
// (a quantity, a product of quantity and price, a sum of such products) is an
// exact rational, and becomes an amount once, at the end, through [Floor].
package money

import (
	"errors"
	"fmt"
	"math"
	"math/big"
)

// Micros is an amount of money in millionths of a currency's unit.
type Micros int64

// PerUnit is how many micros make one unit of a currency.
const PerUnit = 1_000_000

// Max is the largest amount there is, about 9.2 × 10^12 units of a currency.
const Max = Micros(math.MaxInt64)

// ErrOverflow says that a result does not fit an amount. It is never wrapped
// around, cut or left out instead.
var ErrOverflow = errors.New("amount does not fit 64 bits of micros")

// Floor turns an exact value in micros into an amount. It rounds down, to the
// nearest whole micro that is not greater, and it is the only place in which
// money is rounded (OPEN-BILL-9): call it once, after everything is added up.
func Floor(exact *big.Rat) (Micros, error) {
	// Div is Euclidean, which for a positive divisor, as a Rat always has it,
	// is rounding down.
	return FromInt(new(big.Int).Div(exact.Num(), exact.Denom()))
}

// FloorDiv is [Floor] of micros/divisor for somebody who holds the two as
// integers. The divisor has to be positive.
func FloorDiv(micros, divisor *big.Int) (Micros, error) {
	return FromInt(new(big.Int).Div(micros, divisor))
}

// FromInt is the amount of so many micros, or [ErrOverflow].
func FromInt(micros *big.Int) (Micros, error) {
	if !micros.IsInt64() {
		return 0, fmt.Errorf("%s micros: %w", micros, ErrOverflow)
	}
	return Micros(micros.Int64()), nil
}

// Sum adds amounts up, or returns [ErrOverflow]. Only the total has to fit:
// the order of the amounts makes no difference.
func Sum(amounts ...Micros) (Micros, error) {
	total := new(big.Int)
	for _, a := range amounts {
		total.Add(total, big.NewInt(int64(a)))
	}
	return FromInt(total)
}

// Times is n times the amount, exactly.
func (m Micros) Times(n int64) *big.Int {
	return new(big.Int).Mul(big.NewInt(int64(m)), big.NewInt(n))
}

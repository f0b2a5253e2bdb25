package money

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestFloor(t *testing.T) {
	cases := map[string]struct {
		reason string
		exact  *big.Rat
		want   Micros
		err    error
	}{
		"Whole": {
			reason: "A whole number of micros is itself.",
			exact:  big.NewRat(42, 1),
			want:   42,
		},
		"JustBelow": {
			reason: "A part of a micro is never charged, however close to a whole one it comes.",
			exact:  big.NewRat(66843999999, 1000000),
			want:   66843,
		},
		"Negative": {
			reason: "Down means towards the smaller number, on both sides of zero.",
			exact:  big.NewRat(-1, 3),
			want:   -1,
		},
		"Largest": {
			reason: "The largest amount and a fraction still fits, for the fraction goes.",
			exact:  new(big.Rat).Add(new(big.Rat).SetInt64(math.MaxInt64), big.NewRat(9, 10)),
			want:   Max,
		},
		"OneTooMany": {
			reason: "What does not fit is an error and not some other number.",
			exact:  new(big.Rat).Add(new(big.Rat).SetInt64(math.MaxInt64), big.NewRat(1, 1)),
			err:    ErrOverflow,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Floor(tc.exact)
			if diff := cmp.Diff(tc.err, err, cmpopts.EquateErrors()); diff != "" {
				t.Errorf("%s\nFloor(%s): -want error, +got error:\n%s", tc.reason, tc.exact, diff)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nFloor(%s): -want, +got:\n%s", tc.reason, tc.exact, diff)
			}
		})
	}
}

func TestSum(t *testing.T) {
	cases := map[string]struct {
		reason  string
		amounts []Micros
		want    Micros
		err     error
	}{
		"Nothing": {
			reason: "Nothing adds up to zero.",
		},
		"OnlyTheTotalCounts": {
			reason:  "A total that fits is given although a part of it does not.",
			amounts: []Micros{Max, 1, -1},
			want:    Max,
		},
		"Overflow": {
			reason:  "A total that does not fit is an error.",
			amounts: []Micros{Max, 1},
			err:     ErrOverflow,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Sum(tc.amounts...)
			if diff := cmp.Diff(tc.err, err, cmpopts.EquateErrors()); diff != "" {
				t.Errorf("%s\nSum(%v): -want error, +got error:\n%s", tc.reason, tc.amounts, diff)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nSum(%v): -want, +got:\n%s", tc.reason, tc.amounts, diff)
			}
		})
	}
}

// TestMarginApply holds the worked numbers of the margins (specification 30.2
// and 30.9).
func TestMarginApply(t *testing.T) {
	absolute := func(a int64) Margin { return Margin{AbsoluteMicros: &a} }
	factor := func(f int64) Margin { return Margin{FactorMilli: &f} }
	both := Margin{AbsoluteMicros: new(int64), FactorMilli: new(int64)}

	cases := map[string]struct {
		reason string
		margin Margin
		rate   Micros
		want   Micros
		err    error
	}{
		"None":           {reason: "Without a margin the rate is the price.", rate: 25000, want: 25000},
		"Factor":         {reason: "25000 × 1.250.", margin: factor(1250), rate: 25000, want: 31250},
		"FactorDown":     {reason: "118.58 is 118 (OPEN-OFF-1).", margin: factor(980), rate: 121, want: 118},
		"Absolute":       {reason: "3500 + 150.", margin: absolute(150), rate: 3500, want: 3650},
		"Free":           {reason: "A factor of zero is no missing factor (OPEN-API-6).", margin: factor(0), rate: 1800000, want: 0},
		"GPU":            {reason: "1.80 × 1.2.", margin: factor(1200), rate: 1800000, want: 2160000},
		"RAM":            {reason: "0.004 + 0.0002.", margin: absolute(200), rate: 4000, want: 4200},
		"ClampedToZero":  {reason: "A price below zero would be a gift.", margin: absolute(-5), rate: 3, want: 0},
		"ZeroRate":       {reason: "An explicit zero rate is billed at zero plus margin.", margin: absolute(200), rate: 0, want: 200},
		"AddedTooMuch":   {reason: "No overflow goes unnoticed.", margin: absolute(1), rate: Max, err: ErrOverflow},
		"FactorTooMuch":  {reason: "No overflow goes unnoticed.", margin: factor(1001), rate: Max, err: ErrOverflow},
		"FactorJustFits": {reason: "The product is larger than 64 bits, the price is not.", margin: factor(1000), rate: Max, want: Max},
		"Both":           {reason: "Two margins have no order, so there is no answer.", margin: both, rate: 1, err: cmpopts.AnyError},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := tc.margin.Apply(tc.rate)
			if diff := cmp.Diff(tc.err, err, cmpopts.EquateErrors()); diff != "" {
				t.Errorf("%s\nApply(%d): -want error, +got error:\n%s", tc.reason, tc.rate, diff)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nApply(%d): -want, +got:\n%s", tc.reason, tc.rate, diff)
			}
		})
	}
}

func TestTimesIsExact(t *testing.T) {
	want, _ := new(big.Int).SetString("85070591730234615847396907784232501249", 10)
	if got := Max.Times(math.MaxInt64); got.Cmp(want) != 0 {
		t.Errorf("Max.Times(MaxInt64): want %s, got %s", want, got)
	}
	if _, err := FromInt(want); !errors.Is(err, ErrOverflow) {
		t.Errorf("FromInt(%s): want %v, got %v", want, ErrOverflow, err)
	}
}

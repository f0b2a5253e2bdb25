// Package decimal holds measured quantities: exact decimal numbers of a size
// that can be measured.
//
// A quantity arrives as decimal text and leaves into a NUMERIC. In between it is
// compared, and now and then multiplied; it is never rounded and never a float.
// The bounds are far beyond anything a cluster can consume, and narrow enough
// that a damaged number cannot cost memory or time.
package decimal

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
)

// MaxDigits is how many digits a quantity may have on either side of the point.
// A zebibyte for a century is 28 digits of byte-hours.
const MaxDigits = 30

var (
	// ErrSyntax says that a text is not a number as JSON writes it.
	ErrSyntax = errors.New("not a decimal number")

	// ErrRange says that a number has more than MaxDigits digits on one side of
	// the point.
	ErrRange = errors.New("out of range")
)

// A Decimal is an exact decimal number. The zero Decimal is zero. Equal numbers
// have one representation, whatever text they came from.
type Decimal struct {
	coefficient *big.Int // Not divisible by ten unless the exponent is 0; nil for zero.
	exponent    int32    // Never positive.
}

// Parse returns the number of a text in the syntax of JSON, exponents included.
func Parse(text string) (Decimal, error) {
	negative, digits, exponent, err := scan(text)
	if err != nil {
		return Decimal{}, fmt.Errorf("cannot read quantity %q: %w", abbreviate(text), err)
	}
	if digits == "" {
		return Decimal{}, nil
	}
	if exponent < -MaxDigits || len(digits)+exponent > MaxDigits {
		return Decimal{}, fmt.Errorf("cannot read quantity %q: %w", abbreviate(text), ErrRange)
	}
	if exponent > 0 {
		digits += strings.Repeat("0", exponent)
		exponent = 0
	}

	coefficient, _ := new(big.Int).SetString(digits, 10)
	if negative {
		coefficient.Neg(coefficient)
	}
	return Decimal{coefficient: coefficient, exponent: int32(exponent)}, nil
}

// scan takes a number apart: significant digits without zeros on either end,
// and the power of ten they count in. Zero has no digits.
func scan(text string) (negative bool, digits string, exponent int, err error) {
	rest, negative := strings.CutPrefix(text, "-")

	whole, rest := leadingDigits(rest)
	if whole == "" || len(whole) > 1 && whole[0] == '0' {
		return false, "", 0, ErrSyntax
	}

	var fraction string
	if after, ok := strings.CutPrefix(rest, "."); ok {
		if fraction, rest = leadingDigits(after); fraction == "" {
			return false, "", 0, ErrSyntax
		}
	}

	shift, err := scanExponent(rest)
	if err != nil {
		return false, "", 0, err
	}

	digits = strings.TrimLeft(whole+fraction, "0")
	significant := strings.TrimRight(digits, "0")
	return negative, significant, shift - len(fraction) + len(digits) - len(significant), nil
}

// scanExponent reads what follows the digits: nothing, or the power of ten. One
// of more than a few digits is returned as one that no number may have.
func scanExponent(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	if text[0] != 'e' && text[0] != 'E' {
		return 0, ErrSyntax
	}

	text, sign := text[1:], 1
	if text != "" && (text[0] == '+' || text[0] == '-') {
		if text[0] == '-' {
			sign = -1
		}
		text = text[1:]
	}

	digits, rest := leadingDigits(text)
	if digits == "" || rest != "" {
		return 0, ErrSyntax
	}

	const absurd = 1_000_000_000
	power := 0
	for _, d := range []byte(digits) {
		power = min(power*10+int(d-'0'), absurd)
	}
	return sign * power, nil
}

func leadingDigits(s string) (digits, rest string) {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return s[:n], s[n:]
}

// FromInt returns a whole number.
func FromInt(n int64) Decimal {
	return canonical(big.NewInt(n), 0)
}

// Sign is -1, 0 or +1.
func (d Decimal) Sign() int {
	if d.coefficient == nil {
		return 0
	}
	return d.coefficient.Sign()
}

// Cmp is -1, 0 or +1 as d is less than, equal to or greater than e.
func (d Decimal) Cmp(e Decimal) int {
	return d.Rat().Cmp(e.Rat())
}

// Equal says whether both are the same number.
func (d Decimal) Equal(e Decimal) bool {
	return d.Cmp(e) == 0
}

// Mul returns d × e, exactly. The product of two numbers in range has at most
// twice as many digits.
func (d Decimal) Mul(e Decimal) Decimal {
	if d.Sign() == 0 || e.Sign() == 0 {
		return Decimal{}
	}
	return canonical(new(big.Int).Mul(d.coefficient, e.coefficient), d.exponent+e.exponent)
}

// Rat returns the number as a rational.
func (d Decimal) Rat() *big.Rat {
	if d.coefficient == nil {
		return new(big.Rat)
	}
	return new(big.Rat).SetFrac(d.coefficient, power(-d.exponent))
}

// Parts returns the number as coefficient × 10^exponent. The coefficient must
// not be changed.
func (d Decimal) Parts() (coefficient *big.Int, exponent int32) {
	if d.coefficient == nil {
		return new(big.Int), 0
	}
	return d.coefficient, d.exponent
}

// String returns the number in plain digits, without an exponent.
func (d Decimal) String() string {
	return d.Rat().FloatString(int(-d.exponent))
}

// canonical drops zeros behind the point.
func canonical(coefficient *big.Int, exponent int32) Decimal {
	if coefficient.Sign() == 0 {
		return Decimal{}
	}

	ten, remainder := big.NewInt(10), new(big.Int)
	for exponent < 0 {
		quotient, _ := new(big.Int).QuoRem(coefficient, ten, remainder)
		if remainder.Sign() != 0 {
			break
		}
		coefficient, exponent = quotient, exponent+1
	}
	return Decimal{coefficient: coefficient, exponent: exponent}
}

func power(n int32) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

// abbreviate keeps a hostile text out of a message.
func abbreviate(text string) string {
	const limit = 40
	if len(text) <= limit {
		return text
	}
	return text[:limit] + "…"
}

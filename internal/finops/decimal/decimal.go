// Package decimal holds measured quantities: exact decimal numbers of a size
// that can be measured.
//
// A quantity arrives as decimal text and leaves into a NUMERIC. In between it is
// compared, and now and then multiplied; it is never rounded and never a float.
// The bounds are far beyond anything a cluster can consume, and narrow enough
// that a damaged number cannot cost memory or time.
package decimal

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"strconv"
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
//
// Almost every quantity fits into 64 bits, and is kept there: a run reads
// millions of them.
type Decimal struct {
	small    int64    // The coefficient; not divisible by ten unless the exponent is 0.
	large    *big.Int // The coefficient instead, if it does not fit into small.
	exponent int32    // Never positive.
}

// smallDigits is how many digits fit into 64 bits, whichever they are.
const smallDigits = 18

// Parse returns the number of a text in the syntax of JSON, exponents included.
func Parse(text string) (Decimal, error) {
	negative, digits, exponent, err := scan(text)
	switch {
	case err != nil:
		return Decimal{}, refuse(text, err)
	case digits == "":
		return Decimal{}, nil
	case exponent < -MaxDigits || len(digits)-strings.Count(digits, ".")+exponent > MaxDigits:
		return Decimal{}, refuse(text, ErrRange)
	}

	if len(digits)+max(exponent, 0) > smallDigits {
		return parseLarge(negative, digits, exponent), nil
	}
	coefficient := int64(0)
	for _, c := range []byte(digits) {
		if c != '.' {
			coefficient = coefficient*10 + int64(c-'0')
		}
	}
	for ; exponent > 0; exponent-- {
		coefficient *= 10
	}
	if negative {
		coefficient = -coefficient
	}
	return Decimal{small: coefficient, exponent: int32(exponent)}, nil
}

func parseLarge(negative bool, digits string, exponent int) Decimal {
	whole := strings.Replace(digits, ".", "", 1) + strings.Repeat("0", max(exponent, 0))
	coefficient, _ := new(big.Int).SetString(strings.Clone(whole), 10)
	if negative {
		coefficient.Neg(coefficient)
	}
	return canonical(coefficient, int32(min(exponent, 0))) //nolint:gosec // Within the bounds of MaxDigits.
}

// refuse keeps a copy of the text. Nothing else of it is kept, so a caller's
// text need not outlive the call.
func refuse(text string, err error) error {
	return fmt.Errorf("cannot read quantity %q: %w", strings.Clone(abbreviate(text)), err)
}

// scan takes a number apart: significant digits without zeros on either end,
// the point among them if it is there, and the power of ten they count in. Zero
// has no digits.
func scan(text string) (negative bool, digits string, exponent int, err error) {
	number, negative := strings.CutPrefix(text, "-")

	whole, rest := leadingDigits(number)
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

	if fraction = strings.TrimRight(fraction, "0"); fraction == "" {
		digits = strings.TrimRight(strings.TrimLeft(whole, "0"), "0")
		return negative, digits, shift + len(strings.TrimLeft(whole, "0")) - len(digits), nil
	}
	digits = number[:len(whole)+len(".")+len(fraction)]
	return negative, strings.TrimLeft(digits, "0."), shift - len(fraction), nil
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
func FromInt(n int64) Decimal { return Decimal{small: n} }

// Sign is -1, 0 or +1.
func (d Decimal) Sign() int {
	if d.large != nil {
		return d.large.Sign()
	}
	return cmp.Compare(d.small, 0)
}

// Cmp is -1, 0 or +1 as d is less than, equal to or greater than e.
func (d Decimal) Cmp(e Decimal) int {
	if d.large == nil && e.large == nil && d.exponent == e.exponent {
		return cmp.Compare(d.small, e.small)
	}
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
	return canonical(new(big.Int).Mul(d.coefficient(), e.coefficient()), d.exponent+e.exponent)
}

// Rat returns the number as a rational.
func (d Decimal) Rat() *big.Rat {
	return new(big.Rat).SetFrac(d.coefficient(), power(-d.exponent))
}

// AppendDigits appends the digits of the coefficient without its sign, and
// returns them with the power of ten that the last of them counts in, which is
// never positive. Zero has no digits.
func (d Decimal) AppendDigits(to []byte) (digits []byte, exponent int32) {
	switch {
	case d.large != nil:
		return new(big.Int).Abs(d.large).Append(to, 10), d.exponent
	case d.small < 0:
		return strconv.AppendUint(to, -uint64(d.small), 10), d.exponent //nolint:gosec // The smallest int64 is its own negative, and its bits are the magnitude.
	case d.small > 0:
		return strconv.AppendInt(to, d.small, 10), d.exponent
	default:
		return to, 0
	}
}

// String returns the number in plain digits, without an exponent.
func (d Decimal) String() string {
	return d.Rat().FloatString(int(-d.exponent))
}

func (d Decimal) coefficient() *big.Int {
	if d.large != nil {
		return d.large
	}
	return big.NewInt(d.small)
}

// canonical drops zeros behind the point, and the large form of what is small.
func canonical(coefficient *big.Int, exponent int32) Decimal {
	ten, remainder := big.NewInt(10), new(big.Int)
	for exponent < 0 {
		quotient, _ := new(big.Int).QuoRem(coefficient, ten, remainder)
		if remainder.Sign() != 0 {
			break
		}
		coefficient, exponent = quotient, exponent+1
	}
	if coefficient.IsInt64() {
		return Decimal{small: coefficient.Int64(), exponent: exponent}
	}
	return Decimal{large: coefficient, exponent: exponent}
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

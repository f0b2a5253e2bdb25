package pricing

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/provider-finops/provider-finops/internal/finops/money"
)

const (
	// fractionDigits is how many decimals a micro has.
	fractionDigits = 6

	// maxText is how much of a value a message repeats: what does not fit a
	// condition could not be reported at all.
	maxText = 64

	// largestRate is money.Max as a rate is written.
	largestRate = "9223372036854.775807"
)

// A RateError says which rate of a book is not one, and why.
type RateError struct {
	Field  Field
	Value  string
	Detail string
}

// Error has the documented form: rate "<field>" ("<value>"): <detail>.
func (e *RateError) Error() string {
	return fmt.Sprintf("rate %q (%q): %s", e.Field, clip(e.Value), e.Detail)
}

// A Rate is one parsed rate of a book.
type Rate struct {
	// Micros per unit, nil if the rate is not set.
	Micros *money.Micros

	// Rounded says that the text has more decimals than a micro, and that they
	// were not all zero.
	Rounded bool
}

// ParseRate reads a rate in units of the currency, such as "0.031", as micros.
// The arithmetic is on digits, so "0.031" is exactly 31000. Text below one
// micro is rounded half up (OPEN-PB-7). Empty text is a rate that is not set.
// The error tells what is wrong, but not with which rate.
func ParseRate(text string) (Rate, error) {
	if text == "" {
		return Rate{}, nil
	}
	whole, fraction, dotted := strings.Cut(text, ".")
	if !isDigits(whole) || dotted && !isDigits(fraction) {
		return Rate{}, fmt.Errorf("not a decimal number")
	}

	var rest string
	if len(fraction) > fractionDigits {
		fraction, rest = fraction[:fractionDigits], fraction[fractionDigits:]
	}
	digits := strings.TrimLeft(whole+fraction+strings.Repeat("0", fractionDigits-len(fraction)), "0")

	var micros uint64
	if digits != "" {
		var err error
		// The only error left is that of the range.
		if micros, err = strconv.ParseUint(digits, 10, 63); err != nil {
			return Rate{}, fmt.Errorf("larger than %s", largestRate)
		}
	}
	if rest != "" && rest[0] >= '5' {
		micros++
	}
	if micros > uint64(money.Max) {
		return Rate{}, fmt.Errorf("larger than %s", largestRate)
	}

	m := money.Micros(micros)
	return Rate{Micros: &m, Rounded: strings.Trim(rest, "0") != ""}, nil
}

// isDigits accepts what the API's pattern accepts: at least one ASCII digit and
// nothing else.
func isDigits(s string) bool {
	if s == "" {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// clip shortens a value that is too long to be repeated to a user.
func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "…"
}

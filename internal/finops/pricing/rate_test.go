package pricing

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/internal/finops/money"
)

func TestParseRate(t *testing.T) {
	type want struct {
		Rate Rate
		Err  string
	}

	const tooLarge = "larger than 9223372036854.775807"
	const notDecimal = "not a decimal number"

	cases := map[string]struct {
		reason string
		text   string
		want   want
	}{
		// The numbers of part 20.5.
		"Thousandths":    {reason: "Exact, as a float would not be.", text: "0.031", want: want{Rate: Rate{Micros: new(money.Micros(31000))}}},
		"HundredMicros":  {reason: "Exact.", text: "0.00012", want: want{Rate: Rate{Micros: new(money.Micros(120))}}},
		"OneDecimal":     {reason: "Exact.", text: "1.8", want: want{Rate: Rate{Micros: new(money.Micros(1800000))}}},
		"TrailingZero":   {reason: "The same amount, written with one more zero.", text: "1.80", want: want{Rate: Rate{Micros: new(money.Micros(1800000))}}},
		"Unset":          {reason: "No text is no rate (OPEN-PB-8).", text: "", want: want{}},
		"Zero":           {reason: "A zero is a rate (OPEN-PB-8).", text: "0", want: want{Rate: Rate{Micros: new(money.Micros(0))}}},
		"Largest":        {reason: "The largest rate there is.", text: "9223372036854.775807", want: want{Rate: Rate{Micros: new(money.Max)}}},
		"OneTooMuch":     {reason: "One micro more does not fit.", text: "9223372036854.775808", want: want{Err: tooLarge}},
		"RoundedOverTop": {reason: "Rounding up must not wrap around.", text: "9223372036854.7758075", want: want{Err: tooLarge}},
		"RoundedAtTop":   {reason: "Rounding down at the top still fits.", text: "9223372036854.7758074", want: want{Rate: Rate{Micros: new(money.Max), Rounded: true}}},
		"BelowAMicro":    {reason: "The example of OPEN-PB-7.", text: "0.0000004", want: want{Rate: Rate{Micros: new(money.Micros(0)), Rounded: true}}},
		"HalfAMicro":     {reason: "Half a micro is rounded up (OPEN-PB-7).", text: "0.0000005", want: want{Rate: Rate{Micros: new(money.Micros(1)), Rounded: true}}},
		"SevenZeros":     {reason: "Decimals that are zero are not lost.", text: "1.0000000", want: want{Rate: Rate{Micros: new(money.Micros(1000000))}}},
		"LeadingZeros":   {reason: "The pattern admits them.", text: "000000000000000000000.5", want: want{Rate: Rate{Micros: new(money.Micros(500000))}}},

		// What the pattern keeps out may be stored already.
		"ThirtyDigits":  {reason: "Far too large.", text: strings.Repeat("9", 30), want: want{Err: tooLarge}},
		"Exponent":      {reason: "No exponents.", text: "1e3", want: want{Err: notDecimal}},
		"Sign":          {reason: "No signs.", text: "-1", want: want{Err: notDecimal}},
		"Plus":          {reason: "No signs.", text: "+1", want: want{Err: notDecimal}},
		"Comma":         {reason: "No decimal comma.", text: "1,5", want: want{Err: notDecimal}},
		"NaN":           {reason: "Not a number.", text: "NaN", want: want{Err: notDecimal}},
		"LeadingDot":    {reason: "A dot needs a digit before it.", text: ".5", want: want{Err: notDecimal}},
		"TrailingDot":   {reason: "A dot needs a digit after it.", text: "5.", want: want{Err: notDecimal}},
		"TwoDots":       {reason: "One dot at most.", text: "1.2.3", want: want{Err: notDecimal}},
		"Blank":         {reason: "A blank is not a digit.", text: " ", want: want{Err: notDecimal}},
		"Underscore":    {reason: "Go's own digits separator is none of ours.", text: "1_000", want: want{Err: notDecimal}},
		"UnicodeDigits": {reason: "Only ASCII digits count.", text: "١٢", want: want{Err: notDecimal}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got want
			var err error
			if got.Rate, err = ParseRate(tc.text); err != nil {
				got.Err = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nParseRate(%q): -want +got:\n%s", tc.reason, tc.text, diff)
			}
		})
	}
}

var ratePattern = regexp.MustCompile(`^([0-9]+(\.[0-9]+)?)?$`)

// FuzzParseRate compares the parser with rational arithmetic: it accepts
// exactly what the API's pattern accepts and an amount can hold, and its
// answer is never more than half a micro away.
func FuzzParseRate(f *testing.F) {
	for _, seed := range []string{"", "0", "0.031", "1.80", "9223372036854.775807", "9223372036854.7758075", "0.0000005", ".", "00", "1e9", "0.99999999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseRate(text)

		if !ratePattern.MatchString(text) || strings.Contains(text, "\n") {
			if err == nil {
				t.Fatalf("ParseRate(%q) accepts what the pattern refuses", text)
			}
			return
		}
		if text == "" {
			if err != nil || got.Micros != nil {
				t.Fatalf("ParseRate of nothing: got %v, %v", got, err)
			}
			return
		}

		exact, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatalf("cannot read %q as a rational", text)
		}
		exact.Mul(exact, big.NewRat(money.PerUnit, 1))
		half := new(big.Rat).Add(exact, big.NewRat(1, 2))
		want := new(big.Int).Div(half.Num(), half.Denom())

		if !want.IsInt64() {
			if err == nil {
				t.Fatalf("ParseRate(%q) = %d, but %s does not fit", text, *got.Micros, want)
			}
			return
		}
		if err != nil {
			t.Fatalf("ParseRate(%q): %v", text, err)
		}
		if int64(*got.Micros) != want.Int64() || got.Rounded == exact.IsInt() {
			t.Fatalf("ParseRate(%q) = %d, rounded %t; want %s, rounded %t", text, *got.Micros, got.Rounded, want, !exact.IsInt())
		}
	})
}

func TestValidate(t *testing.T) {
	type want struct {
		Note string
		Err  string
	}

	long := strings.Repeat("9", 1000)
	cases := map[string]struct {
		reason string
		book   Book
		want   want
	}{
		"Good": {
			reason: "A book whose rates parse has nothing to say.",
			book:   Book{Mode: Currency, Rates: &Rates{CPUHour: "0.025", GPUHour: "1.80"}},
		},
		"EmptyBlock": {
			reason: "An empty block is valid and prices everything at nothing (part 20.7).",
			book:   Book{Mode: Currency, Rates: &Rates{}},
		},
		"NoBlock": {
			reason: "Without the block there is no price list (BETTER-PB-5).",
			book:   Book{Mode: Currency},
			want:   want{Err: "rates must be set when valuationMode is currency"},
		},
		"PercentWithoutBlock": {
			reason: "A percent book is ready without any parsing (part 20.6).",
			book:   Book{Mode: "percent"},
		},
		"PercentWithNonsense": {
			reason: "A percent book is ready without any parsing (part 20.6).",
			book:   Book{Mode: "percent", Rates: &Rates{CPUHour: strings.Repeat("9", 30)}},
		},
		"TooLarge": {
			reason: "The documented form of the message.",
			book:   Book{Mode: Currency, Rates: &Rates{PVGbHour: "9223372036855"}},
			want:   want{Err: `rate "pvGbHour" ("9223372036855"): larger than 9223372036854.775807`},
		},
		"FirstFailureWins": {
			reason: "ramGbHour is checked before gpuHour (part 20.5).",
			book:   Book{Mode: Currency, Rates: &Rates{GPUHour: "x", RAMGbHour: "y"}},
			want:   want{Err: `rate "ramGbHour" ("y"): not a decimal number`},
		},
		"Rounded": {
			reason: "Whatever was lost is named, in the order of checking (OPEN-PB-7).",
			book:   Book{Mode: Currency, Rates: &Rates{NetworkGiB: "0.0000019", PVGbHour: "0.0000004"}},
			want:   want{Note: `rate "pvGbHour" ("0.0000004") rounded to 0 micros; rate "networkGiB" ("0.0000019") rounded to 2 micros`},
		},
		"LongValue": {
			reason: "A value that would not fit a condition is cut, or it could never be reported.",
			book:   Book{Mode: Currency, Rates: &Rates{CPUHour: long}},
			want:   want{Err: fmt.Sprintf("rate \"cpuHour\" (\"%s…\"): larger than 9223372036854.775807", long[:64])},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got want
			var err error
			if got.Note, err = tc.book.Validate(); err != nil {
				got.Err = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nValidate(): -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestParseKeepsUnsetApartFromZero(t *testing.T) {
	got, _, err := Parse(Rates{CPUHour: "0", RAMGbHour: "0.0035"})
	if err != nil {
		t.Fatal(err)
	}
	want := Tariff{FieldCPUHour: 0, FieldRAMGbHour: 3500}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("A rate that is not set has no entry, one of zero has.\nParse(...): -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]*money.Micros{new(money.Micros(0)), nil}, []*money.Micros{got.Micros(FieldCPUHour), got.Micros(FieldGPUHour)}); diff != "" {
		t.Errorf("Micros(...): -want +got:\n%s", diff)
	}
}

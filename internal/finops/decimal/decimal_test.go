package decimal

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestParse(t *testing.T) {
	type want struct {
		text string
		err  error
	}

	cases := map[string]struct {
		reason string
		text   string
		want   want
	}{
		"Zero":             {reason: "Most quantities are zero.", text: "0", want: want{text: "0"}},
		"NegativeZero":     {reason: "There is one zero.", text: "-0.00", want: want{text: "0"}},
		"ZeroToAnyPower":   {reason: "Zero is zero, and in range.", text: "0e999999999999", want: want{text: "0"}},
		"EighteenDigits":   {reason: "The most that surely fits into 64 bits.", text: "0.999999999999999999", want: want{text: "0.999999999999999999"}},
		"NineteenDigits":   {reason: "More may fit, or not.", text: "9223372036854775807", want: want{text: "9223372036854775807"}},
		"BeyondSixtyFour":  {reason: "One more does not.", text: "-9223372036854775809e-5", want: want{text: "-92233720368547.75809"}},
		"Whole":            {reason: "Bytes beyond 32 bits come in plain digits.", text: "2147483648", want: want{text: "2147483648"}},
		"Five":             {reason: "Five places are what the server sends.", text: "2.75833", want: want{text: "2.75833"}},
		"SmallExponent":    {reason: "Small numbers come with an exponent.", text: "7e-05", want: want{text: "0.00007"}},
		"LargeExponent":    {reason: "Large ones too.", text: "1e+21", want: want{text: "1000000000000000000000"}},
		"MixedExponent":    {reason: "The point moves by the exponent.", text: "12.5E1", want: want{text: "125"}},
		"TrailingZeros":    {reason: "Equal numbers have one form, so a replay changes nothing.", text: "1.50000", want: want{text: "1.5"}},
		"LeadingFraction":  {reason: "Zeros behind the point count.", text: "0.00012", want: want{text: "0.00012"}},
		"Negative":         {reason: "The sign is kept; who clamps is another's decision.", text: "-2.45", want: want{text: "-2.45"}},
		"Largest":          {reason: "Thirty digits are in range.", text: strings.Repeat("9", 30), want: want{text: strings.Repeat("9", 30)}},
		"Smallest":         {reason: "Thirty places are in range.", text: "1e-30", want: want{text: "0." + strings.Repeat("0", 29) + "1"}},
		"TooLarge":         {reason: "Thirty-one digits are not.", text: "1e30", want: want{err: ErrRange}},
		"TooSmall":         {reason: "Thirty-one places are not.", text: "1e-31", want: want{err: ErrRange}},
		"Absurd":           {reason: "A float's largest number has no place in a bill.", text: "1e300", want: want{err: ErrRange}},
		"AbsurdExponent":   {reason: "An exponent must not cost memory.", text: "1e99999999999999999999", want: want{err: ErrRange}},
		"AbsurdlySmall":    {reason: "Nor may a negative one.", text: "1e-99999999999999999999", want: want{err: ErrRange}},
		"Empty":            {reason: "Nothing is no number.", text: "", want: want{err: ErrSyntax}},
		"NaN":              {reason: "Not even in name.", text: "NaN", want: want{err: ErrSyntax}},
		"Infinity":         {reason: "JSON has none.", text: "-Infinity", want: want{err: ErrSyntax}},
		"Plus":             {reason: "JSON has no leading plus.", text: "+1", want: want{err: ErrSyntax}},
		"Octal":            {reason: "JSON has no leading zero.", text: "01", want: want{err: ErrSyntax}},
		"NoWhole":          {reason: "JSON wants a digit before the point.", text: ".5", want: want{err: ErrSyntax}},
		"NoFraction":       {reason: "And one after it.", text: "1.", want: want{err: ErrSyntax}},
		"NoExponent":       {reason: "And one in the exponent.", text: "1e+", want: want{err: ErrSyntax}},
		"Comma":            {reason: "No other point.", text: "1,5", want: want{err: ErrSyntax}},
		"Space":            {reason: "No space.", text: " 1", want: want{err: ErrSyntax}},
		"Hexadecimal":      {reason: "No other base.", text: "0x10", want: want{err: ErrSyntax}},
		"TrailingAfterExp": {reason: "Nothing may follow.", text: "1e5x", want: want{err: ErrSyntax}},
		"OtherDigits":      {reason: "Digits of other scripts are none.", text: "١", want: want{err: ErrSyntax}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(tc.text)
			text := ""
			if err == nil {
				text = got.String()
			}
			if diff := cmp.Diff(tc.want, want{text, err}, cmp.AllowUnexported(want{}), cmpopts.EquateErrors()); diff != "" {
				t.Errorf("%s\nParse(%q): -want, +got:\n%s", tc.reason, tc.text, diff)
			}
		})
	}
}

func TestMul(t *testing.T) {
	cases := map[string]struct {
		reason string
		a, b   string
		want   string
	}{
		"Exact":    {reason: "No place is lost.", a: "0.12345", b: "8", want: "0.9876"},
		"Zero":     {reason: "Nothing times anything.", a: "0", b: "8", want: "0"},
		"Negative": {reason: "Signs multiply.", a: "-0.5", b: "0.5", want: "-0.25"},
		"Widest":   {reason: "A product may be wider than its factors.", a: "1e-30", b: "1e-30", want: "0." + strings.Repeat("0", 59) + "1"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := parsed(t, tc.a).Mul(parsed(t, tc.b)).String()
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n%s × %s: -want, +got:\n%s", tc.reason, tc.a, tc.b, diff)
			}
		})
	}
}

// FuzzParse compares with the two decoders everybody trusts: what JSON calls a
// number is either read as exactly that number or out of range, and nothing
// else is read at all.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"0", "-0", "1e5", "7e-05", "1e+21", "0.1", "123456789.987654321", "1e31", "-1E-30", "01", "1.", "e5", "--1", "1e", "NaN", "00.1", "100e-2"} {
		f.Add(seed)
	}

	f.Fuzz(func(t *testing.T, text string) {
		isNumber := json.Valid([]byte(text)) && text != "" && strings.Trim(text, "0123456789+-.eE") == "" && (text[0] == '-' || '0' <= text[0] && text[0] <= '9')

		got, err := Parse(text)
		switch {
		case err == nil && !isNumber:
			t.Fatalf("Parse(%q) = %s, but JSON knows no such number", text, got)
		case err != nil && isNumber:
			if !strings.Contains(err.Error(), ErrRange.Error()) {
				t.Fatalf("Parse(%q): %v, but JSON knows this number", text, err)
			}
		case err == nil:
			want, ok := new(big.Rat).SetString(text)
			if !ok && got.Sign() != 0 {
				t.Fatalf("Parse(%q) = %s, which math/big cannot read", text, got)
			}
			if ok && want.Cmp(got.Rat()) != 0 {
				t.Fatalf("Parse(%q) = %s, want %s", text, got, want)
			}
			if again := parsed(t, got.String()); !cmp.Equal(again, got, cmp.AllowUnexported(Decimal{}), cmp.Comparer(sameInt)) {
				t.Fatalf("Parse(%q) has another form than Parse(%q)", text, got)
			}
		}
	})
}

func sameInt(a, b *big.Int) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Cmp(b) == 0
}

func parsed(t *testing.T, text string) Decimal {
	t.Helper()
	d, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

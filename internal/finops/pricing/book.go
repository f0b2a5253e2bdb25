package pricing

import (
	"errors"
	"fmt"
	"strings"

	"github.com/provider-finops/provider-finops/internal/finops/money"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

// Currency is the one valuation mode that is money. The other, percent, is
// accepted and prices nothing (part 20.6).
const Currency = "currency"

// Rates are a book's rates as they are written; an empty one is not set.
type Rates struct {
	CPUHour       string
	SpotCPUHour   string
	RAMGbHour     string
	SpotRAMGbHour string
	PVGbHour      string
	GPUHour       string
	NetworkGiB    string
}

// Of returns the text of one rate.
func (r Rates) Of(f Field) string {
	switch f {
	case FieldCPUHour:
		return r.CPUHour
	case FieldSpotCPUHour:
		return r.SpotCPUHour
	case FieldRAMGbHour:
		return r.RAMGbHour
	case FieldSpotRAMGbHour:
		return r.SpotRAMGbHour
	case FieldPVGbHour:
		return r.PVGbHour
	case FieldGPUHour:
		return r.GPUHour
	case FieldNetworkGiB:
		return r.NetworkGiB
	default:
		return ""
	}
}

// A Book is what pricing knows of one PriceBook.
type Book struct {
	Key        ref.Key
	Generation int64
	Active     bool
	Mode       string

	// Rates is nil if the book has no such block, which is not the same as an
	// empty one: an empty block prices everything at nothing (BETTER-PB-5).
	Rates *Rates
}

// errNoRates is reported as it is, so it speaks of the fields by name.
var errNoRates = errors.New("rates must be set when valuationMode is currency")

// A Tariff is a book's rates in micros. A field that is absent is not set; a
// zero is an explicit one (OPEN-PB-8).
type Tariff map[Field]money.Micros

// Micros returns the rate as a pointer, nil if it is not set.
func (t Tariff) Micros(f Field) *money.Micros {
	if m, ok := t[f]; ok {
		return &m
	}
	return nil
}

// Parse reads the rates of a book in the order of [Fields] and stops at the
// first that is none, with a [*RateError]. The notes say what was rounded.
func Parse(r Rates) (t Tariff, notes []string, err error) {
	t = Tariff{}
	for _, f := range Fields() {
		rate, err := ParseRate(r.Of(f))
		if err != nil {
			return nil, nil, &RateError{Field: f, Value: r.Of(f), Detail: err.Error()}
		}
		if rate.Micros == nil {
			continue
		}
		t[f] = *rate.Micros
		if rate.Rounded {
			notes = append(notes, fmt.Sprintf("rate %q (%q) rounded to %d micros", f, clip(r.Of(f)), *rate.Micros))
		}
	}
	return t, notes, nil
}

// Validate says whether a book is ready. The error is the text of its Ready
// condition, reason PricebookParseFailed; the note is what a ready book has to
// say, mostly nothing. Only books in currency mode can be wrong.
func (b Book) Validate() (note string, err error) {
	if b.Mode != Currency {
		return "", nil
	}
	_, notes, err := b.tariff()
	return strings.Join(notes, "; "), err
}

// tariff reads the rates of a book in currency mode.
func (b Book) tariff() (Tariff, []string, error) {
	if b.Rates == nil {
		return nil, nil, errNoRates
	}
	return Parse(*b.Rates)
}

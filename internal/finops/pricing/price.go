package pricing

import (
	"fmt"
	"slices"

	"github.com/provider-finops/provider-finops/internal/finops/money"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

// A Reason says why an Offering has no price.
type Reason string

// The reasons, as the Offering's conditions carry them.
const (
	// NoActivePricebook: no active book is in currency mode.
	NoActivePricebook Reason = "NoActivePricebook"

	// PricebookParseFailed: the active book does not state the rates.
	PricebookParseFailed Reason = "PricebookParseFailed"

	// ValidationError: the Offering asks for what cannot be priced.
	ValidationError Reason = "ValidationError"
)

// A Refusal is why there is no price. The zero Refusal refuses nothing.
type Refusal struct {
	Reason  Reason
	Message string
}

// A Fee is a subscription fee as an Offering states it. Only what pricing
// changes or reads is named by it; the rest is copied by the caller.
type Fee struct {
	Alignment   string
	Period      string
	PriceMicros money.Micros
}

// An Item is one entry of an Offering's resourcePricing.
type Item struct {
	Meter  Meter
	Margin money.Margin
}

// Terms are what an Offering charges for.
type Terms struct {
	Offering ref.Key
	Fee      *Fee
	Items    []Item
}

// A UnitPrice is what one unit of a meter costs, its margin included.
type UnitPrice struct {
	Meter  Meter
	Micros money.Micros
}

// A Price is what an Offering publishes.
type Price struct {
	// Units has an entry per declared meter, in the Offering's order. It is
	// empty, never nil.
	Units []UnitPrice

	// FeePeriod is the fee's period in its published form, empty without a fee.
	FeePeriod string

	// Origin says which book the units came from (BETTER-OFF-2).
	Origin string
}

// Duplicate returns a refusal if a meter is declared twice: the two would write
// one and the same charge row (OPEN-OFF-2).
func (t Terms) Duplicate() Refusal {
	seen := map[Meter]bool{}
	for _, item := range t.Items {
		if seen[item.Meter] {
			return Refusal{ValidationError, fmt.Sprintf("duplicate meter %q in resourcePricing", item.Meter)}
		}
		seen[item.Meter] = true
	}
	return Refusal{}
}

// Resolve gives the price of an Offering from all PriceBooks there are. The
// refusal is zero if there is a price. Refusing is deliberate: a margin on a
// missing rate would publish the margin as the price.
func Resolve(t Terms, books []Book) (Price, Refusal) {
	if r := t.Duplicate(); r != (Refusal{}) {
		return Price{}, r
	}

	price := Price{Units: []UnitPrice{}, Origin: originNone}
	if t.Fee != nil {
		price.FeePeriod = CanonicalPeriod(t.Fee.Alignment, t.Fee.Period)
	}
	if len(t.Items) == 0 {
		return price, Refusal{}
	}

	book, ok := sellingBook(books)
	if !ok {
		return Price{}, Refusal{NoActivePricebook, fmt.Sprintf("offering %s: no active pricebook to resolve metered pricing", t.Offering)}
	}
	if r := unfit(t, book); r != (Refusal{}) {
		return Price{}, r
	}
	tariff, _, err := book.tariff()
	if err != nil {
		return Price{}, Refusal{PricebookParseFailed, fmt.Sprintf("pricebook %s: %s", book.Key, err)}
	}

	for _, item := range t.Items {
		unit, refusal := unitPrice(t, item, book, tariff)
		if refusal != (Refusal{}) {
			return Price{}, refusal
		}
		price.Units = append(price.Units, unit)
	}
	price.Origin = origin(book)
	return price, Refusal{}
}

// Moved tells whether the books as they are now give other unit prices than the
// published ones (BETTER-OFF-3). Books that give none do not: what is
// published stays published, and nothing newer is charged.
func Moved(published []UnitPrice, t Terms, books []Book) bool {
	now, refusal := Resolve(t, books)
	return refusal == (Refusal{}) && !slices.Equal(now.Units, published)
}

// sellingBook returns the book that prices Offerings: the active one in currency
// mode. Should two claim the slot for a moment, neither is believed: which of
// them holds it is not decided here.
func sellingBook(books []Book) (Book, bool) {
	active := slices.DeleteFunc(slices.Clone(books), func(b Book) bool { return !b.Active || b.Mode != Currency })
	if len(active) != 1 {
		return Book{}, false
	}
	return active[0], true
}

// unfit looks only at the rates that the Offering needs, so that the message
// names the meter and not some rate the Offering does not use.
func unfit(t Terms, book Book) Refusal {
	if book.Rates == nil {
		return Refusal{}
	}
	for _, item := range t.Items {
		field, ok := item.Meter.Field()
		if !ok {
			continue
		}
		text := book.Rates.Of(field)
		if _, err := ParseRate(text); err != nil {
			bad := &RateError{Field: field, Value: text, Detail: err.Error()}
			return Refusal{PricebookParseFailed, fmt.Sprintf("meter %q: pricebook %s: %s", item.Meter, book.Key, bad)}
		}
	}
	return Refusal{}
}

func unitPrice(t Terms, item Item, book Book, tariff Tariff) (UnitPrice, Refusal) {
	if item.Meter == MeterSubscription {
		// The fee by another name: it never charges, and its margin is ignored
		// (OPEN-OFF-5).
		unit := UnitPrice{Meter: item.Meter}
		if t.Fee != nil {
			unit.Micros = t.Fee.PriceMicros
		}
		return unit, Refusal{}
	}
	field, ok := item.Meter.Field()
	if !ok {
		return UnitPrice{}, Refusal{ValidationError, fmt.Sprintf("meter %q is unknown", item.Meter)}
	}
	rate := tariff.Micros(field)
	if rate == nil {
		return UnitPrice{}, Refusal{PricebookParseFailed, fmt.Sprintf("rate %q is unset on pricebook %s", field, book.Key)} // OPEN-OFF-4.
	}
	micros, err := item.Margin.Apply(*rate)
	if err != nil {
		return UnitPrice{}, Refusal{ValidationError, fmt.Sprintf("meter %q: %s", item.Meter, err)}
	}
	return UnitPrice{Meter: item.Meter, Micros: micros}, Refusal{}
}

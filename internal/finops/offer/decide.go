package offer

import (
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
)

// Input is everything that is decided from.
type Input struct {
	Self   Offering
	Terms  pricing.Terms
	Lookup Lookup

	// Published is nil until a price has been.
	Published *Published

	// Books are all PriceBooks, unless reading them failed.
	Books    []pricing.Book
	BooksErr error
}

// Published is the price of an Offering as it stands in its status.
type Published struct {
	Units []pricing.UnitPrice

	// Message is that of the condition that tells about the price. It is the
	// only record of where the price came from.
	Message string
}

// A Decision is what one look at an Offering comes to.
type Decision struct {
	// Held is the objection, zero if the Offering can be sold.
	Held Verdict

	// Pricing is what is said about the price, whether held or not.
	Pricing string

	// Publish is the price to publish now, nil if there is one or can be none.
	// It cannot be taken back.
	Publish *pricing.Price

	// Retry says what could not be read.
	Retry error
}

// Decide says whether an Offering can be sold, and at which price. A price is
// published once: a book that changes or vanishes later does not move it.
func Decide(in Input) Decision {
	held, err := requirements(in.Self, in.Lookup)
	if err != nil {
		return in.held(Verdict{ValidationError, err.Error()}, err)
	}
	if !held.Passes() {
		return in.held(held, nil)
	}

	if in.Published != nil {
		moved := in.BooksErr == nil && pricing.Moved(in.Published.Units, in.Terms, in.Books)
		return Decision{Pricing: pricing.Published(in.origin(), moved), Retry: in.BooksErr}
	}
	if in.BooksErr != nil {
		return in.held(Verdict{ValidationError, in.BooksErr.Error()}, in.BooksErr)
	}
	price, refusal := pricing.Resolve(in.Terms, in.Books)
	if refusal != (pricing.Refusal{}) {
		return in.held(Verdict{Reason(refusal.Reason), refusal.Message}, nil)
	}
	return Decision{Pricing: pricing.Published(price.Origin, false), Publish: &price}
}

func (in Input) held(v Verdict, retry error) Decision {
	return Decision{Held: v, Pricing: pricing.StillPublished(v.Message, in.origin()), Retry: retry}
}

func (in Input) origin() string {
	if in.Published == nil {
		return ""
	}
	return pricing.OriginIn(in.Published.Message)
}

package charge

import (
	"math/big"

	"github.com/provider-finops/provider-finops/internal/finops/pricing"
)

// Claims say how much of what was measured in an hour somebody is billed for, by
// meter, in its units. A row counts as claimed if any Subscription is billed for
// any of it; which meters its Offering sells is no matter.
type Claims map[pricing.Meter]*Claim

// A Claim is about one meter. What is neither unclaimed nor unrated may be
// billed.
type Claim struct {
	Measured  *big.Rat
	Unclaimed *big.Rat // Selected by nobody.
	Unrated   *big.Rat // Selected by somebody, but its book has no rate for it, or it has no book.
}

// Add counts usage, all of which is claimed or none of it.
func (c Claims) Add(u Usage, claimed bool, books Books) {
	for _, m := range Sources() {
		field, metered := m.Field()
		if !metered {
			continue
		}
		of := c.of(m)
		quantity := u.quantity(m)
		of.Measured.Add(of.Measured, quantity)
		_, rated := books[u.BookID].Rates[field]
		switch {
		case !claimed:
			of.Unclaimed.Add(of.Unclaimed, quantity)
		case !rated:
			of.Unrated.Add(of.Unrated, quantity)
		}
	}
}

// Merge adds other claims.
func (c Claims) Merge(other Claims) {
	for m, o := range other {
		of := c.of(m)
		of.Measured.Add(of.Measured, o.Measured)
		of.Unclaimed.Add(of.Unclaimed, o.Unclaimed)
		of.Unrated.Add(of.Unrated, o.Unrated)
	}
}

func (c Claims) of(m pricing.Meter) *Claim {
	if c[m] == nil {
		c[m] = &Claim{Measured: new(big.Rat), Unclaimed: new(big.Rat), Unrated: new(big.Rat)}
	}
	return c[m]
}

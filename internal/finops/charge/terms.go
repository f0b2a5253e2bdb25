package charge

import (
	"fmt"
	"time"

	"github.com/provider-finops/provider-finops/internal/finops/hour"
	"github.com/provider-finops/provider-finops/internal/finops/money"
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
	"github.com/provider-finops/provider-finops/internal/finops/tick"
)

// A Meter is a usage meter an Offering charges for.
type Meter struct {
	Name   pricing.Meter
	Margin money.Margin
}

// Terms are what an Offering charges: a fee, usage, both or nothing.
type Terms struct {
	Fee    *tick.Terms // Nil if there is none.
	Meters []Meter     // Without the meter "subscription", which is never billed (OPEN-OFF-5).
}

// NewTerms checks the meters of an Offering and leaves out the one that no
// calculator exists for.
func NewTerms(fee *tick.Terms, meters []Meter) (Terms, error) {
	terms := Terms{Fee: fee}
	seen := map[pricing.Meter]bool{}
	for _, m := range meters {
		if seen[m.Name] {
			return Terms{}, fmt.Errorf("cannot charge meter %q: declared twice", m.Name)
		}
		seen[m.Name] = true
		if m.Name == pricing.MeterSubscription {
			continue
		}
		if _, known := m.Name.Field(); !known {
			return Terms{}, fmt.Errorf("cannot charge meter %q: there is no such meter", m.Name)
		}
		terms.Meters = append(terms.Meters, m)
	}
	return terms, nil
}

// A Bill is terms applied to the life of one Subscription.
type Bill struct {
	terms   Terms
	life    tick.Life
	fee     *tick.Fee
	metered bool
}

// NewBill applies terms to a life. Usage is charged only where both sides agree:
// hasSources says that the Subscription has a source that selects something.
func NewBill(terms Terms, life tick.Life, hasSources bool) Bill {
	b := Bill{terms: terms, life: life, metered: hasSources && len(terms.Meters) > 0}
	if terms.Fee != nil {
		fee := terms.Fee.Over(life)
		b.fee = &fee
	}
	return b
}

// Metered reports whether usage is charged, so that rows cannot be final before
// the measurements are.
func (b Bill) Metered() bool { return b.metered }

// Sources is how many rows an hour can have at most.
func (b Bill) Sources() int {
	n := 0
	if b.fee != nil {
		n++
	}
	if b.metered {
		n += len(b.terms.Meters)
	}
	return n
}

// end is the instant after which nothing is charged: the snap of the fee, and
// without a fee the recorded end itself (OPEN-CJ-17).
func (b Bill) end() (time.Time, bool) {
	if !b.life.Ended() {
		return time.Time{}, false
	}
	if b.fee == nil {
		return b.life.DeactivatedAt.UTC().Truncate(time.Second), true
	}
	return b.fee.Snap()
}

// hourAtOrAfter is the first start of an hour that is not before t.
func hourAtOrAfter(t time.Time) time.Time {
	if h := hour.Of(t); !h.Before(t) {
		return h
	}
	return hour.Of(t).Add(hour.Length)
}

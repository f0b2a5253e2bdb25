package charge

import (
	"errors"
	"fmt"
	"time"

	"github.com/provider-finops/provider-finops/internal/finops/money"
)

// ErrImplausible says that a charge breaks a bound and is held back, for it is
// more likely a mistake than a bill (design R5).
var ErrImplausible = errors.New("implausible charge")

// DefaultMaxAmount is the largest amount of a row that is believed: a thousand
// million units of a currency in one hour.
const DefaultMaxAmount money.Micros = 1_000_000_000_000_000

// Plausible checks the rows a run has computed for so many hours of one
// Subscription. The error names the figure and the bound.
func (b Bill) Plausible(rows []Row, hours int, maxAmount money.Micros) error {
	if most := hours * b.Sources(); len(rows) > most {
		return fmt.Errorf("%d rows for %d hours of %d sources: %w", len(rows), hours, b.Sources(), ErrImplausible)
	}
	for _, row := range rows {
		if row.Amount > maxAmount {
			return fmt.Errorf("%s of hour %s is %d micros, more than %d: %w",
				row.Source, row.Window.Format(time.RFC3339), row.Amount, maxAmount, ErrImplausible)
		}
	}
	return nil
}

// Parked reports whether an error means that a charge is held back rather than
// that something failed: it is implausible, or does not fit at all.
func Parked(err error) bool {
	return errors.Is(err, ErrImplausible) || errors.Is(err, money.ErrOverflow)
}

package charge

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/provider-finops/provider-finops/internal/finops/hour"
	"github.com/provider-finops/provider-finops/internal/finops/money"
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
)

// Sources are all that a row can be for, in the order in which they are shown
// (OPEN-BILL-5).
func Sources() []pricing.Meter {
	return []pricing.Meter{
		pricing.MeterSubscription, pricing.MeterCPUHour, pricing.MeterGPUHour,
		pricing.MeterRAMGbHour, pricing.MeterPVGbHour, pricing.MeterNetworkGb,
	}
}

// A Row is what one Subscription owes for one hour and one source.
type Row struct {
	Window    time.Time // The start of the hour.
	Source    pricing.Meter
	Amount    money.Micros
	Quantity  *big.Rat      // Ticks for the fee, units for usage.
	UnitPrice *money.Micros // Per tick or unit; nil if the measured rows had several.
	BookID    int64         // Zero for the fee, and if several books took part.
	Currency  string        // Empty if unknown, or if several took part.
	Finalized bool
	Details   Details
}

// Details say what a row was made of where its figures do not.
type Details struct {
	// ProratedSeconds is the length of the opening tick, if it is in the row and
	// was charged by its length.
	ProratedSeconds int64 `json:"proratedSeconds,omitempty"`

	// CloseOut marks a row that was written before its hour had come (OPEN-CJ-23).
	CloseOut bool `json:"closeOut,omitempty"`

	// Books is the split of a row in which several books took part (OPEN-BILL-12).
	Books []BookShare `json:"books,omitempty"`
}

// IsZero reports whether there is nothing to say.
func (d Details) IsZero() bool {
	return d.ProratedSeconds == 0 && !d.CloseOut && len(d.Books) == 0
}

// A BookShare is the part of a usage row that was measured under one book.
type BookShare struct {
	BookID          int64  `json:"pricebookId"`
	Currency        string `json:"currency"`
	UnitPriceMicros int64  `json:"unitPriceMicros"`
	Quantity        string `json:"quantity"`
}

// QuantityDigits is how many digits behind the point a quantity is recorded
// with. A quantity explains an amount; no amount is computed from it.
const QuantityDigits = 12

// DecimalQuantity is a quantity as it is recorded, cut off after
// [QuantityDigits]: a coefficient to be divided by 10^QuantityDigits.
func DecimalQuantity(q *big.Rat) *big.Int {
	scaled := new(big.Int).Mul(q.Num(), quantityScale)
	return scaled.Quo(scaled, q.Denom())
}

var quantityScale = new(big.Int).Exp(big.NewInt(10), big.NewInt(QuantityDigits), nil)

// Closed gives the rows of an hour that has ended: the fee for the boundaries
// in it, which is a row even if it is nothing (OPEN-CJ-15), and a row for every
// meter that has usage with a rate. feeCurrency is the one of the active book,
// for a fee has none of its own (OPEN-DB-8).
func (b Bill) Closed(run Run, window time.Time, usage []Usage, books Books, feeCurrency string) ([]Row, error) {
	return b.rows(window, window.Add(hour.Length), usage, books, feeCurrency, b.Final(run, window))
}

// Current gives the rows of the hour in progress, none of them final. Its fee is
// zero until the hour has closed (OPEN-CJ-19).
func (b Bill) Current(run Run, usage []Usage, books Books, feeCurrency string) ([]Row, error) {
	return b.rows(run.Hour, run.Hour, usage, books, feeCurrency, false)
}

func (b Bill) rows(window, feeEnd time.Time, usage []Usage, books Books, feeCurrency string, final bool) ([]Row, error) {
	rows := make([]Row, 0, 1+len(b.terms.Meters))
	if b.fee != nil {
		row, err := b.feeRow(window, feeEnd, feeCurrency)
		if err != nil {
			return nil, fmt.Errorf("cannot charge %s of hour %s: %w", pricing.MeterSubscription, window.Format(time.RFC3339), err)
		}
		row.Finalized = final
		rows = append(rows, row)
	}
	if !b.metered {
		return rows, nil
	}
	for _, m := range b.terms.Meters {
		row, used, err := m.row(window, usage, books)
		if err != nil {
			return nil, fmt.Errorf("cannot charge %s of hour %s: %w", m.Name, window.Format(time.RFC3339), err)
		}
		if used {
			row.Finalized = final
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func (b Bill) feeRow(window, end time.Time, currency string) (Row, error) {
	due, err := b.fee.Due(window, end)
	if err != nil {
		return Row{}, err
	}
	price := b.terms.Fee.PriceMicros
	return Row{
		Window:    window,
		Source:    pricing.MeterSubscription,
		Amount:    due.Amount,
		Quantity:  new(big.Rat).SetInt64(due.Ticks),
		UnitPrice: &price,
		Currency:  currency,
		Details:   Details{ProratedSeconds: due.ProratedSeconds},
	}, nil
}

// row prices the usage of one hour. Usage without a book, or whose book has no
// rate for the meter, is dropped and never billed at the bare margin; without
// any other the hour has no row, which is not the same as a row of nothing.
func (m Meter) row(window time.Time, usage []Usage, books Books) (Row, bool, error) {
	field, _ := m.Name.Field()
	amount, quantity := new(big.Rat), new(big.Rat)
	var parts []part
	for _, u := range usage {
		book, known := books[u.BookID]
		rate, rated := book.Rates[field]
		if !known || !rated {
			continue
		}
		price, err := m.Margin.Apply(rate)
		if err != nil {
			return Row{}, false, fmt.Errorf("rate %d of pricebook %d: %w", rate, u.BookID, err)
		}
		q := u.quantity(m.Name)
		quantity.Add(quantity, q)
		amount.Add(amount, new(big.Rat).Mul(q, new(big.Rat).SetInt64(int64(price))))
		parts = add(parts, part{book: book, price: price, quantity: q})
	}
	if len(parts) == 0 {
		return Row{}, false, nil
	}

	micros, err := money.Floor(amount)
	if err != nil {
		return Row{}, false, err
	}
	row := Row{Window: window, Source: m.Name, Amount: micros, Quantity: quantity}
	row.attribute(parts)
	return row, true, nil
}

// A part is the usage of a row under one book.
type part struct {
	book     Book
	price    money.Micros
	quantity *big.Rat
}

// add keeps one part per book.
func add(parts []part, p part) []part {
	for i := range parts {
		if parts[i].book.ID == p.book.ID {
			parts[i].quantity = new(big.Rat).Add(parts[i].quantity, p.quantity)
			return parts
		}
	}
	return append(parts, p)
}

// attribute records the book, price and currency the parts have in common, and
// the split if they have no common book.
func (r *Row) attribute(parts []part) {
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.book.ID, b.book.ID) })
	first := parts[0]
	r.BookID, r.Currency, r.UnitPrice = first.book.ID, first.book.Currency, &first.price
	if len(parts) == 1 {
		return
	}

	r.BookID = 0
	for _, p := range parts {
		if p.book.Currency != first.book.Currency {
			r.Currency = ""
		}
		if p.price != first.price {
			r.UnitPrice = nil
		}
		r.Details.Books = append(r.Details.Books, BookShare{
			BookID:          p.book.ID,
			Currency:        p.book.Currency,
			UnitPriceMicros: int64(p.price),
			Quantity:        decimalText(p.quantity),
		})
	}
}

// decimalText writes a quantity as it is recorded, in plain digits.
func decimalText(q *big.Rat) string {
	recorded := new(big.Rat).SetFrac(DecimalQuantity(q), quantityScale)
	if digits, exact := recorded.FloatPrec(); exact {
		return recorded.FloatString(digits)
	}
	return recorded.FloatString(QuantityDigits)
}

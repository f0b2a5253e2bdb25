package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/charge"
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
)

// charges are rows on their way in, in the order of uid and hour.
type charges struct {
	next func() (postgres.RecordedCharge, error, bool)
	stop func()

	ahead postgres.RecordedCharge
	ended bool
	err   error
}

func openCharges(ctx context.Context, db postgres.DB, q postgres.ChargeQuery) *charges {
	c := &charges{}
	c.next, c.stop = iter.Pull2(postgres.RecordedCharges(ctx, db, q))
	c.advance()
	return c
}

func (c *charges) advance() {
	row, err, more := c.next()
	c.ahead, c.err, c.ended = row, err, !more || err != nil
}

// take returns the rows of one hour of a Subscription. Tenures cover all hours of
// everybody who had rows when they were read; those of others have come since, and
// are passed over.
func (c *charges) take(uid string, window time.Time) []postgres.RecordedCharge {
	var taken []postgres.RecordedCharge
	for !c.ended && (c.ahead.UID < uid || c.ahead.UID == uid && c.ahead.Window.Before(window)) {
		c.advance()
	}
	for !c.ended && c.ahead.UID == uid && c.ahead.Window.Equal(window) {
		taken = append(taken, c.ahead)
		c.advance()
	}
	return taken
}

// differences says what of a row is not what it should be.
func differences(want charge.Row, got postgres.RecordedCharge) ([]string, error) {
	var different []string
	differ := func(what, want, got string) {
		if want != got {
			different = append(different, fmt.Sprintf("%s is %s, should be %s", what, got, want))
		}
	}
	differ("amount", strconv.FormatInt(int64(want.Amount), 10), strconv.FormatInt(got.AmountMicros, 10))
	differ("quantity", decimal(recordedQuantity(want)), decimal(got.Quantity))
	differ("unit price", price(want.UnitPrice), price(got.UnitPriceMicros))
	differ("price book", strconv.FormatInt(want.BookID, 10), strconv.FormatInt(got.PricebookID, 10))
	if want.Source != pricing.MeterSubscription {
		differ("currency", strconv.Quote(want.Currency), strconv.Quote(got.Currency))
	}

	details, err := detailsOf(got)
	if err != nil {
		return nil, err
	}
	want.Details.CloseOut = details.CloseOut // It says when the row was written, and nothing about the amount.
	if !reflect.DeepEqual(want.Details, details) {
		wanted, err := json.Marshal(want.Details)
		if err != nil {
			return nil, fmt.Errorf("cannot encode the details of a charge for %s: %w", got.Source, err)
		}
		differ("details", string(wanted), strings.Join(strings.Fields(string(got.Details)), ""))
	}
	return different, nil
}

func detailsOf(row postgres.RecordedCharge) (charge.Details, error) {
	var details charge.Details
	if row.Details == nil {
		return details, nil
	}
	if err := json.Unmarshal(row.Details, &details); err != nil {
		return details, fmt.Errorf("cannot read the details of a charge for %s: %w", row.Source, err)
	}
	return details, nil
}

// recordedQuantity is a quantity as precise as it is recorded.
func recordedQuantity(row charge.Row) *big.Rat {
	if row.Source == pricing.MeterSubscription {
		return row.Quantity
	}
	return cutOff(row.Quantity)
}

func cutOff(q *big.Rat) *big.Rat {
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(charge.QuantityDigits), nil)
	return new(big.Rat).SetFrac(charge.DecimalQuantity(q), scale)
}

func price[T ~int64](p *T) string {
	if p == nil {
		return "several"
	}
	return strconv.FormatInt(int64(*p), 10)
}

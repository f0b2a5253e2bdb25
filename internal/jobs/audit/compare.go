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
	"github.com/provider-finops/provider-finops/internal/finops/hour"
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
	"github.com/provider-finops/provider-finops/internal/jobs/inputs"
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

// look compares one hour of a tenure, if there is anything to compare. Rows are
// expected in the hours that are settled.
func (v *verification) look(ctx context.Context, t *tenure, window time.Time, settled charge.Windows, usage *inputs.UsageStream, rows []postgres.RecordedCharge) error {
	if t.versionID == 0 {
		v.unexplained(t, window, rows)
		return nil
	}
	expected := !window.Before(settled.First) && window.Before(settled.End)
	if len(rows) == 0 && !expected {
		return nil
	}
	if overtaken, err := v.overtaken(ctx, t, window, rows); err != nil || overtaken {
		return err
	}
	var measured []charge.Usage
	if expected {
		measured = usage.Take(t.usage, window)
	}
	return v.compare(t, window, expected, measured, rows)
}

// compare holds the rows of one hour of one Subscription against what they should
// be. Beyond the settled hours that is the fee alone, and only where there is a
// row: what has been closed out.
func (v *verification) compare(t *tenure, window time.Time, expected bool, usage []charge.Usage, stored []postgres.RecordedCharge) error {
	run := charge.Run{Hour: window.Add(hour.Length), SettledBefore: window.Add(hour.Length)}
	computed, err := t.bill.Closed(run, window, usage, v.books, "")
	if err != nil {
		v.differ(t, window, "", fmt.Sprintf("cannot be computed again: %v", err))
		return nil
	}

	bySource := make(map[pricing.Meter]postgres.RecordedCharge, len(stored))
	for _, row := range stored {
		bySource[pricing.Meter(row.Source)] = row
	}
	for _, want := range computed {
		if !expected && want.Source != pricing.MeterSubscription {
			continue
		}
		got, there := bySource[want.Source]
		delete(bySource, want.Source)
		if !there {
			if expected {
				v.result.Amount.Add(v.result.Amount, big.NewInt(int64(want.Amount)))
				v.differ(t, window, string(want.Source), fmt.Sprintf("has no final row, should be %d micros", want.Amount))
			}
			continue
		}
		v.result.Rows++
		v.result.Amount.Add(v.result.Amount, big.NewInt(int64(want.Amount)))
		different, err := differences(want, got)
		if err != nil {
			return err
		}
		for _, d := range different {
			v.differ(t, window, got.Source, d)
		}
	}
	for _, source := range charge.Sources() {
		if row, left := bySource[source]; left {
			v.result.Rows++
			v.differ(t, window, row.Source, fmt.Sprintf("has a row of %d micros, should have none", row.AmountMicros))
		}
	}
	return nil
}

// unexplained reports the rows of one hour of somebody who was never recorded:
// there is nothing to compute them from.
func (v *verification) unexplained(t *tenure, window time.Time, stored []postgres.RecordedCharge) {
	for _, row := range stored {
		v.result.Rows++
		v.differ(t, window, row.Source, fmt.Sprintf("has a row of %d micros, and no version of such a Subscription is recorded", row.AmountMicros))
	}
}

func (v *verification) differ(t *tenure, window time.Time, source, what string) {
	v.result.Differences++
	if v.result.Differences > maxShown {
		return
	}
	v.out.linef("%s (%s) %s %s: %s", t.name, t.uid, window.UTC().Format(time.RFC3339), source, what)
}

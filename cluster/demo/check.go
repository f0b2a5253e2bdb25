package demo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"time"
)

// handHour is the hour, from the story's first, whose figure is worked out in the text.
const handHour = 2 * time.Hour

// check works out one figure in the text, and all figures behind it.
func (d *demo) check(ctx context.Context) error {
	s, err := d.subscription(ctx, child)
	if err != nil {
		return err
	}
	if err := d.checkByHand(ctx, s, d.first.Add(handHour)); err != nil {
		return err
	}
	return d.checkAll(ctx, s)
}

// checkByHand writes out the CPU charge of one whole hour.
func (d *demo) checkByHand(ctx context.Context, s subscription, hour time.Time) error {
	terms, err := d.offering(ctx, s)
	if err != nil {
		return err
	}
	book, err := d.priceBook(ctx)
	if err != nil {
		return err
	}
	measured, err := d.allocations(ctx, hour)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(terms.Spec.Pricing.ResourcePricing, func(m meter) bool { return m.Name == cpuMeter })
	if at < 0 {
		return fmt.Errorf("the Offering of %q has no meter cpuHour to work out", child)
	}
	cpu := terms.Spec.Pricing.ResourcePricing[at]
	price, err := unitPrice(cpu, book)
	if err != nil {
		return err
	}
	d.sayf("%s on %s, %s to %s. OpenCost measured for Deployment shop/web, in average cores:", cpuMeter, child,
		hour.Format("15:04"), hour.Add(time.Hour).Format("15:04"))
	used := new(big.Rat)
	for _, a := range measured {
		if s.selects(a) {
			d.sayf("    %-36s %s", a.Properties.Pod+"/"+a.Properties.Container, a.CPUCoreUsageAverage)
			used.Add(used, amount(a.CPUCoreUsageAverage))
		}
	}
	exact := new(big.Rat).Mul(used, price)
	want := new(big.Int).Quo(exact.Num(), exact.Denom()).Int64()
	d.sayf("    sum                                  %s core hours, as all ran the whole hour", plain(used))
	d.sayf("    rate                                 %s %s; with the margin of %d/1000: %s micros",
		book.Spec.Rates[cpuMeter], book.Spec.Currency, *cpu.Margins.FactorMilli, plain(price))
	d.sayf("    %s x %s = %s, rounded down: %d micros, %s %s", plain(used), plain(price), plain(exact), want, currency(want), book.Spec.Currency)

	stored, err := d.storedCharges(ctx)
	if err != nil {
		return err
	}
	got := stored[key{child, hour.Unix(), cpuMeter}]
	d.sayf("    charged                              %d micros", got)
	if got != want {
		return fmt.Errorf("the charge of %s for cpuHour at %s is %d micros, want %d", child, hour.Format(time.RFC3339), got, want)
	}
	return nil
}

// plain writes an exact number with the digits it has.
func plain(r *big.Rat) string {
	for digits := range 30 {
		if text := r.FloatString(digits); isExactly(text, r) {
			return text
		}
	}
	return r.RatString()
}

func isExactly(text string, r *big.Rat) bool {
	value, ok := new(big.Rat).SetString(text)
	return ok && value.Cmp(r) == 0
}

// A key names one charge row.
type key struct {
	Subscription string
	Hour         int64 // Unix seconds.
	Source       string
}

// storedCharges reads every row that is not zero.
func (d *demo) storedCharges(ctx context.Context) (map[key]int64, error) {
	var rows []struct {
		Name, Source string
		Hour, Micros int64
	}
	err := d.Psql.Rows(ctx, &rows, `
SELECT s.name, c.charge_source AS source, extract(epoch FROM c.window_start)::bigint AS hour, c.amount_micros AS micros
  FROM subscription_charges c
  JOIN subscriptions s ON s.cluster_id = c.cluster_id AND s.id = c.subscription_version_id
 WHERE c.amount_micros <> 0`)
	stored := make(map[key]int64, len(rows))
	for _, r := range rows {
		stored[key{r.Name, r.Hour, r.Source}] = r.Micros
	}
	return stored, err
}

// checkAll compares every stored charge with the bill computed anew. The child
// is handed in, because it may be gone.
func (d *demo) checkAll(ctx context.Context, ofChild subscription) error {
	ofParent, err := d.subscription(ctx, parent)
	if err != nil {
		return err
	}
	last := d.Product.Now().Truncate(time.Hour)
	want := map[key]int64{}
	for _, s := range []subscription{ofParent, ofChild} {
		bill, err := d.expectedBill(ctx, s, last)
		if err != nil {
			return err
		}
		for _, c := range bill {
			want[key{c.Subscription, c.Hour.Unix(), c.Source}] = c.Micros
		}
	}
	stored, err := d.storedCharges(ctx)
	if err != nil {
		return err
	}
	if err := differences(want, stored); err != nil {
		return fmt.Errorf("the bill is not what it should be: %w", err)
	}
	d.blank()
	d.sayf("All %d charges so far were computed anew, tick by tick and from OpenCost's own answers:", len(stored))
	d.sayf("they agree to the micro.")
	return nil
}

func differences(want, got map[key]int64) error {
	var found []error
	for _, k := range slices.Collect(maps.Keys(want)) {
		if want[k] != got[k] {
			found = append(found, fmt.Errorf("%s %s at %s: stored %d micros, computed %d",
				k.Subscription, k.Source, time.Unix(k.Hour, 0).UTC().Format(time.RFC3339), got[k], want[k]))
		}
	}
	for k, micros := range got {
		if _, ok := want[k]; !ok {
			found = append(found, fmt.Errorf("%s %s at %s: stored %d micros, computed none",
				k.Subscription, k.Source, time.Unix(k.Hour, 0).UTC().Format(time.RFC3339), micros))
		}
	}
	return errors.Join(found...)
}

package charge

import (
	"context"
	"fmt"
	"math/big"
	"time"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/charge"
	"github.com/provider-finops/provider-finops/internal/finops/hour"
)

// A tally says of hours that have become final, and that no run has counted
// before, how much of their usage somebody is billed for. Nobody guesses whose the
// rest may be; it is reported.
type tally struct {
	hours map[time.Time]charge.Claims // Of the batch at hand.
	sum   charge.Claims               // Of the run.
	count int                         // Of hours.
}

// uncounted are the hours that are final now and were not counted yet. Who looks
// at one Subscription cannot say what nobody claims.
func (r *run) uncounted(ctx context.Context) (postgres.Hours, error) {
	if r.one != nil {
		return postgres.Hours{}, nil
	}
	last, err := postgres.CountedThrough(ctx, r.pool, r.scope())
	if err != nil {
		return postgres.Hours{}, err
	}
	hours := postgres.Hours{End: r.pinned.SettledBefore}
	if !last.IsZero() {
		hours.First = last.Add(hour.Length)
	}
	return hours, nil
}

// countUsage takes in the usage of one hour.
func (d *desk) countUsage(window time.Time, u charge.Usage, claimed bool) {
	window = window.UTC()
	if d.tally.hours[window] == nil {
		d.tally.hours[window] = charge.Claims{}
	}
	d.tally.hours[window].Add(u, claimed, d.books)
}

// storeTally writes what was counted in a batch, along with its charges.
func (d *desk) storeTally(ctx context.Context, tx postgres.DB) error {
	var claims []postgres.UsageClaim
	for window, counted := range d.tally.hours {
		for meter, c := range counted {
			claims = append(claims, postgres.UsageClaim{
				Hour: window, Meter: string(meter), Measured: c.Measured, Unclaimed: c.Unclaimed, Unrated: c.Unrated,
			})
		}
	}
	if len(claims) == 0 {
		return nil
	}
	return postgres.AddUsageClaims(ctx, tx, d.scope(), d.now, claims)
}

// close adds the batch to the run.
func (t *tally) close() {
	for _, counted := range t.hours {
		t.sum.Merge(counted)
		t.count++
	}
	t.hours = nil
}

// reportClaims says how much of the usage that was counted is billed to nobody.
func (r *run) reportClaims() {
	if r.tally.count == 0 {
		return
	}
	figures := []any{"hours", r.tally.count}
	for _, m := range charge.Sources() {
		if c := r.tally.sum[m]; c != nil && c.Measured.Sign() > 0 {
			figures = append(figures, string(m), fmt.Sprintf("%s measured, %s unclaimed, %s without a rate",
				c.Measured.FloatString(5), share(c.Unclaimed, c.Measured), share(c.Unrated, c.Measured)))
		}
	}
	r.log.Info("usage of hours that are final now", figures...)
}

// share is a part in percent, for people.
func share(part, whole *big.Rat) string {
	percent := new(big.Rat).Quo(part, whole)
	return percent.Mul(percent, big.NewRat(100, 1)).FloatString(1) + " %"
}

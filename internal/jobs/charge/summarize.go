package charge

import (
	"context"
	"fmt"
	"math/big"
	"slices"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/charge"
	"github.com/provider-finops/provider-finops/internal/finops/money"
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
)

// sums are what is recorded of one Subscription, in the order of
// charge.Sources and charge.Granularities.
type sums struct {
	amounts  [6][3]money.Micros
	currency currency
	err      error // A sum that cannot be shown, so that none is.
}

func (s *sums) recorded() charge.Recorded {
	recorded := charge.Recorded{}
	for g, granularity := range charge.Granularities() {
		recorded[granularity] = map[pricing.Meter]money.Micros{}
		for m, meter := range charge.Sources() {
			recorded[granularity][meter] = s.amounts[m][g]
		}
	}
	return recorded
}

// A currency is what the rows of a month are in: a code, mixed, or unknown if
// none of them says.
type currency struct {
	code  string
	mixed bool
	none  bool // Some rows have none.
}

// with adds rows whose currencies lie between first and last in the order of
// codes, some of them perhaps without any.
func (c currency) with(first, last string, some bool) currency {
	sum := currency{code: c.code, none: c.none || some}
	if sum.code == "" {
		sum.code = first
	}
	sum.mixed = c.mixed || first != last || first != "" && first != sum.code || sum.none && sum.code != ""
	return sum
}

// mixedCurrency is said of rows in more than one currency, or of which some have
// none.
const mixedCurrency = "mixed"

// String is the end of the CostsResolved message (BETTER-BILL-2).
func (c currency) String() string {
	switch {
	case c.mixed:
		return ", currency=" + mixedCurrency
	case c.code != "":
		return ", currency=" + c.code
	}
	return ""
}

// summarize reads the sums of the Subscriptions. An error is one of the run; who
// has no sums is then published from the calculator.
func (r *run) summarize(ctx context.Context) error {
	byUID := make(map[string]*subject, len(r.world.subjects))
	for _, s := range r.world.subjects {
		byUID[s.uid] = s
	}
	span := func(g charge.Granularity) postgres.Hours {
		start, end := g.Span(r.pinned.Hour)
		return postgres.Hours{First: start, End: end}
	}
	q := postgres.SummaryQuery{ClusterID: r.ClusterID, Hour: span(charge.Hour), Day: span(charge.Day), Month: span(charge.Month)}

	if r.one != nil {
		q.SubscriptionUID = string(r.one.UID)
	}
	for row, err := range postgres.Summaries(ctx, r.pool, q) {
		if err != nil {
			return err
		}
		if s := byUID[row.UID]; s != nil {
			s.add(row)
		}
	}
	return nil
}

// add takes in the sums of one source.
func (s *subject) add(row postgres.Summary) {
	if s.sums == nil {
		s.sums = &sums{}
	}
	source := slices.Index(charge.Sources(), pricing.Meter(row.Source))
	if source < 0 {
		s.sums.err = fmt.Errorf("cannot sum up charges for %q: there is no such source", row.Source)
		return
	}
	for g, sum := range []*big.Int{row.Hour, row.Day, row.Month} {
		amount, err := money.FromInt(sum)
		if err != nil {
			s.sums.err = fmt.Errorf("cannot sum up the %s for %s: %w", charge.Granularities()[g], row.Source, err)
			return
		}
		s.sums.amounts[source][g] = amount
	}
	s.sums.currency = s.sums.currency.with(row.FirstCurrency, row.LastCurrency, row.SomeWithoutCurrency)
}

package audit

import (
	"cmp"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/charge"
	"github.com/provider-finops/provider-finops/internal/finops/money"
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
)

// A printer writes lines for a terminal and remembers the first error.
type printer struct {
	out io.Writer
	err error
}

func (p *printer) linef(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.out, format+"\n", args...)
	}
}

func (p *printer) heading(who postgres.NamedSubscription, namesakes []postgres.NamedSubscription, q Question) {
	p.linef("Subscription %s/%s, uid %s", who.Namespace, who.Name, who.UID)
	if who.ActivatedAt != nil {
		life := "activated " + instant(*who.ActivatedAt)
		if who.DeactivatedAt != nil {
			life += ", ended " + instant(*who.DeactivatedAt)
		}
		p.linef("%s", life)
	}
	for _, n := range namesakes {
		p.linef("Another one has held the name: uid %s", n.UID)
	}
	p.linef("Charges of the %s from %s to %s\n", q.Period.Granularity, instant(q.Period.Start), instant(q.Period.End))
}

// sums writes what a bucket is the sum of: every hour that is not free, and the
// sum of each source.
func (p *printer) sums(rows []postgres.RecordedCharge, period Period) {
	type key struct {
		source   string
		currency string
	}
	sums := map[key]*big.Int{}
	total := new(big.Int)
	for _, row := range rows {
		k := key{row.Source, row.Currency}
		if sums[k] == nil {
			sums[k] = new(big.Int)
		}
		amount := big.NewInt(row.AmountMicros)
		sums[k].Add(sums[k], amount)
		total.Add(total, amount)
		if row.AmountMicros != 0 {
			p.linef("  %s  %-12s %20d micros  %s%s", instant(row.Window), row.Source, row.AmountMicros, row.Currency, standing(row))
		}
	}

	keys := make([]key, 0, len(sums))
	for k := range sums {
		keys = append(keys, k)
	}
	order := charge.Sources()
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(
			cmp.Compare(slices.Index(order, pricing.Meter(a.source)), slices.Index(order, pricing.Meter(b.source))),
			cmp.Compare(a.currency, b.currency),
		)
	})
	p.linef("")
	for _, k := range keys {
		p.linef("  %-34s %20s micros  %s", "sum of "+k.source, sums[k], k.currency)
	}
	p.linef("  %-34s %20s micros", "sum of the "+string(period.Granularity), total)
	p.linef("\nName an hour for how it was computed, such as %s.", rows[0].Window.UTC().Format("2006-01-02T15"))
}

// standing marks a row that may still change.
func standing(row postgres.RecordedCharge) string {
	if row.Finalized {
		return ""
	}
	return "  not final"
}

func (p *printer) rowHeading(row postgres.RecordedCharge, offerings []postgres.RecordedOffering) {
	p.linef("%s: %d micros = %s%s", row.Source, row.AmountMicros, p.micros(row.AmountMicros, row.Currency), standing(row))
	for _, o := range offerings {
		p.linef("  Offering    %s/%s, version %d", o.Namespace, o.Name, o.ID)
	}
}

// measured writes what one allocation row adds.
func (p *printer) measured(name, namespace string, l charge.Line, currency string) {
	p.linef("  Measured    %s in %s, %s to %s, %d of %d seconds billable", name, namespace, instant(l.Start), instant(l.End), l.SpanSeconds, l.WholeSeconds)
	if l.BookID == 0 {
		p.linef("              %s, not billed: it was measured without a price book", decimal(l.Quantity))
		return
	}
	if !l.Rated {
		p.linef("              %s, not billed: price book %d has no rate for it", decimal(l.Quantity), l.BookID)
		return
	}
	p.linef("              %s x %s = %s micros (price book %d: rate %d, with the margin %d)",
		decimal(l.Quantity), p.micros(int64(l.Price), currency), decimal(l.Amount), l.BookID, l.Rate, l.Price)
}

// verdict says whether the row is what it was computed again as.
func (p *printer) verdict(row postgres.RecordedCharge, micros int64) {
	if row.AmountMicros == micros {
		p.linef("  Amount      %d micros, as recorded\n", micros)
		return
	}
	if !row.Finalized {
		p.linef("  Amount      %d micros from what is stored now; the next run will write it\n", micros)
		return
	}
	p.linef("  Amount      %d micros, but %d are recorded: DIFFERENT\n", micros, row.AmountMicros)
}

// micros writes an amount of money as people read it.
func (*printer) micros(amount int64, currency string) string {
	text := strings.TrimRight(big.NewRat(amount, 1_000_000).FloatString(6), "0")
	whole, part, _ := strings.Cut(text, ".")
	for len(part) < 2 {
		part += "0"
	}
	return strings.TrimSpace(whole + "." + part + " " + currency)
}

func margin(m money.Margin) string {
	switch {
	case m.AbsoluteMicros != nil:
		return fmt.Sprintf("the rate plus %d micros", *m.AbsoluteMicros)
	case m.FactorMilli != nil:
		return fmt.Sprintf("the rate times %d / 1000, rounded down", *m.FactorMilli)
	}
	return "none, the rate as it is"
}

// decimal writes an exact number, cut off after twelve digits behind the point.
func decimal(q *big.Rat) string {
	digits, exact := q.FloatPrec()
	if exact && digits <= charge.QuantityDigits {
		return q.FloatString(digits)
	}
	return cutOff(q).FloatString(charge.QuantityDigits) + "..."
}

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func ordinal(n int64) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}

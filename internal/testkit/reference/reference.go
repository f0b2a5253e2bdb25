// Package reference computes bills a second time, for tests.
//
// It is written from the billing model alone and shares no code with the
// product. It walks where the product uses closed forms, looks at every row
// where the product adds up sets, and keeps everything a fraction until the end.
// It is meant to be obvious, not quick.
package reference

import (
	"math/big"
	"strconv"
	"strings"
	"time"
)

// How Offerings and usage sources spell what matters here.
const (
	activatedAt   = "ActivatedAt"
	hourBoundary  = "HourBoundary"
	dayBoundary   = "DayBoundary"
	monthBoundary = "MonthBoundary"

	pod = "Pod"
)

// A Fee is a fee block as an Offering states it.
type Fee struct {
	Alignment string
	Period    string
	Price     int64
}

// A Meter is an entry of resourcePricing.
type Meter struct {
	Name             string
	Absolute, Factor *int64
}

// A Source is an entry of usageSources.
type Source struct {
	Kind, Name, Namespace string
}

// A Subscription is everything a bill depends on.
type Subscription struct {
	Fee         *Fee
	Meters      []Meter
	Sources     []Source
	Activated   time.Time
	Deactivated time.Time // Zero if it goes on.
}

// An Allocation is one measured row. Quantities are decimal text.
type Allocation struct {
	Namespace, Controller, Kind, Pod string
	Start, End                       time.Time
	CPU, RAM, GPU                    string // Averages: cores, bytes, devices.
	PVByteHours, Sent, Received      string
	Book                             *Book
}

// A Book is a price book: a rate in micros for the meters that have one.
type Book struct {
	Rates map[string]int64
}

// Boundaries lists the tick boundaries after the activation and up to a time.
func (f Fee) Boundaries(activated, until time.Time) []time.Time {
	digits := strings.TrimRight(f.Period, "hmsdo")
	n, err := strconv.Atoi(digits)
	if err != nil {
		panic(err)
	}
	unit := strings.TrimPrefix(f.Period, digits)

	var all []time.Time
	switch f.Alignment {
	case activatedAt:
		step := map[string]time.Duration{"h": time.Hour, "m": time.Minute, "s": time.Second}[unit] * time.Duration(n)
		for b := activated.Add(step); !b.After(until); b = b.Add(step) {
			all = append(all, b)
		}
	case hourBoundary:
		// Multiples of n hours since the epoch.
		step := int64(n) * 3600
		for b := activated.Unix() / step * step; b <= until.Unix(); b += step {
			if b > activated.Unix() {
				all = append(all, time.Unix(b, 0).UTC())
			}
		}
	case dayBoundary:
		y, m, d := activated.Date()
		for b := time.Date(y, m, d+1, 0, 0, 0, 0, time.UTC); !b.After(until); b = b.AddDate(0, 0, n) {
			all = append(all, b)
		}
	case monthBoundary:
		y, m, _ := activated.Date()
		for b := time.Date(y, m+time.Month(n), 1, 0, 0, 0, 0, time.UTC); !b.After(until); b = b.AddDate(0, n, 0) {
			all = append(all, b)
		}
	default:
		panic("no alignment " + f.Alignment)
	}
	return all
}

// tickPrice is what the boundary at b1 is worth as the opening one.
func (f Fee) openingPrice(activated, b1 time.Time) *big.Int {
	n, _ := strconv.ParseInt(strings.TrimRight(f.Period, "hmsdo"), 10, 64)
	full := map[string]int64{hourBoundary: 3600, dayBoundary: 86400, monthBoundary: 2629800}[f.Alignment] * n
	price := big.NewInt(f.Price)
	if full == 0 {
		return price
	}
	opening := new(big.Int).Mul(price, big.NewInt(b1.Unix()-activated.Unix()))
	opening.Div(opening, big.NewInt(full))
	if opening.Cmp(price) > 0 {
		return price
	}
	return opening
}

// Snap is the first boundary that is not before the end.
func (f Fee) Snap(activated, deactivated time.Time) time.Time {
	for reach := deactivated.AddDate(0, 0, 1); ; reach = reach.AddDate(1, 0, 0) {
		for _, b := range f.Boundaries(activated, reach) {
			if !b.Before(deactivated) {
				return b
			}
		}
	}
}

// Between is the fee in (start, end].
func (s Subscription) Between(start, end time.Time) *big.Int {
	total := new(big.Int)
	if s.Fee == nil {
		return total
	}
	if !s.Deactivated.IsZero() {
		if snap := s.Fee.Snap(s.Activated, s.Deactivated); end.After(snap) {
			end = snap
		}
	}
	for i, b := range s.Fee.Boundaries(s.Activated, end) {
		if !b.After(start) {
			continue
		}
		if i == 0 {
			total.Add(total, s.Fee.openingPrice(s.Activated, b))
		} else {
			total.Add(total, big.NewInt(s.Fee.Price))
		}
	}
	return total
}

// Hour is what a closed hour costs, by source. A meter without a matching,
// rated row that lies in the life is absent.
func (s Subscription) Hour(hour time.Time, rows []Allocation) map[string]*big.Int {
	bill := map[string]*big.Int{}
	if s.Fee != nil {
		bill["subscription"] = s.Between(hour, hour.Add(time.Hour))
	}
	for _, m := range s.Meters {
		if m.Name == "subscription" {
			continue
		}
		total, used := new(big.Rat), false
		for _, row := range rows {
			if !s.selects(row) || row.Book == nil {
				continue
			}
			rate, rated := row.Book.Rates[m.Name]
			if !rated {
				continue
			}
			q, counts := s.quantity(m.Name, hour, row)
			if !counts {
				continue
			}
			used = true
			total.Add(total, q.Mul(q, new(big.Rat).SetInt(m.unitPrice(rate))))
		}
		if used {
			bill[m.Name] = new(big.Int).Div(total.Num(), total.Denom())
		}
	}
	return bill
}

func (m Meter) unitPrice(rate int64) *big.Int {
	u := big.NewInt(rate)
	if m.Absolute != nil {
		u.Add(u, big.NewInt(*m.Absolute))
	}
	if m.Factor != nil {
		u.Mul(u, big.NewInt(*m.Factor)).Div(u, big.NewInt(1000))
	}
	if u.Sign() < 0 {
		u.SetInt64(0)
	}
	return u
}

func (s Subscription) quantity(meter string, hour time.Time, row Allocation) (*big.Rat, bool) {
	start, end := later(row.Start, hour), earlier(row.End, hour.Add(time.Hour))
	whole := seconds(start, end)
	start = later(start, s.Activated)
	if !s.Deactivated.IsZero() {
		end = earlier(end, s.Deactivated)
	}
	span := seconds(start, end)
	if span == 0 {
		return nil, false
	}
	hours, share := big.NewRat(span, 3600), big.NewRat(span, whole)
	gib := big.NewRat(1, 1<<30)
	switch meter {
	case "cpuHour":
		return product(number(row.CPU), hours), true
	case "gpuHour":
		return product(number(row.GPU), hours), true
	case "ramGbHour":
		return product(number(row.RAM), gib, hours), true
	case "pvGbHour":
		return product(number(row.PVByteHours), gib, share), true
	case "networkGb":
		return product(number(row.Sent).Add(number(row.Sent), number(row.Received)), gib, share), true
	}
	panic("no meter " + meter)
}

func (s Subscription) selects(row Allocation) bool {
	for _, src := range s.Sources {
		if src.Selects(row) {
			return true
		}
	}
	return false
}

// Selects says whether an entry of usageSources selects a row.
func (s Source) Selects(row Allocation) bool {
	if s.Name == "" && s.Namespace == "" && (s.Kind == "" || s.Kind == pod) {
		return false
	}
	pseudo := row.Namespace == "__idle__" || row.Namespace == "__unmounted__" || row.Namespace == "__unallocated__"
	if s.Namespace == "" && pseudo || s.Namespace != "" && s.Namespace != row.Namespace {
		return false
	}
	if s.Kind == pod {
		return s.Name == "" || s.Name == row.Pod
	}
	kind := strings.ToLower(row.Kind)
	if s.Kind == "CronJob" && kind == "job" && s.Name != "" {
		made := strings.TrimPrefix(row.Controller, s.Name+"-")
		return row.Controller == s.Name || made != row.Controller && made != "" && strings.Trim(made, "0123456789") == ""
	}
	return (s.Kind == "" || strings.ToLower(s.Kind) == kind) && (s.Name == "" || s.Name == row.Controller)
}

func seconds(start, end time.Time) int64 {
	if n := end.Unix() - start.Unix(); n > 0 {
		return n
	}
	return 0
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func number(text string) *big.Rat {
	if text == "" {
		return new(big.Rat)
	}
	n, ok := new(big.Rat).SetString(text)
	if !ok {
		panic("no number " + text)
	}
	return n
}

func product(factors ...*big.Rat) *big.Rat {
	p := big.NewRat(1, 1)
	for _, f := range factors {
		p.Mul(p, f)
	}
	return p
}

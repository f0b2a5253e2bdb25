package charge

import (
	"flag"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/provider-finops/provider-finops/internal/finops/money"
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
	"github.com/provider-finops/provider-finops/internal/finops/tick"
	"github.com/provider-finops/provider-finops/internal/testkit/reference"
)

var (
	// lives is how many random lives are billed twice. Before a release more of
	// them are: go test ./internal/finops/charge -run Reference -lives 100000.
	lives = flag.Int("lives", 20_000, "random lives to bill twice")

	seed = flag.Uint64("seed", 7, "of what is random")
)

// anywhere draws an hour of the eighteen months around a leap day.
func anywhere(r *rand.Rand) time.Time {
	begin, end := at("2027-06-01T00:00:00Z"), at("2028-12-01T00:00:00Z")
	return begin.Add(time.Duration(r.IntN(int(end.Sub(begin)/time.Hour))) * time.Hour)
}

// billOf states a random Subscription in the product's terms.
func billOf(t *testing.T, s reference.Subscription) Bill {
	t.Helper()
	var f *tick.Terms
	if s.Fee != nil {
		f = fee(tick.Alignment(s.Fee.Alignment), s.Fee.Period, money.Micros(s.Fee.Price))
	}
	meters := make([]Meter, 0, len(s.Meters))
	for _, m := range s.Meters {
		meters = append(meters, Meter{pricing.Meter(m.Name), money.Margin{AbsoluteMicros: m.Absolute, FactorMilli: m.Factor}})
	}
	terms, err := NewTerms(f, meters)
	if err != nil {
		t.Fatal(err)
	}
	hasSources := false
	for _, src := range s.Sources {
		hasSources = hasSources || !Source(src).Ignored()
	}
	return NewBill(terms, tick.Life{ActivatedAt: s.Activated, DeactivatedAt: s.Deactivated}, hasSources)
}

// measured adds rows up as the database does: by book, and for rows that are
// billable in part by their length.
func measured(s reference.Subscription, rows []reference.Allocation, ids map[*reference.Book]int64) []Usage {
	type key struct{ book, share int64 }
	sums := map[key]*Usage{}
	sources := make([]Source, 0, len(s.Sources))
	for _, src := range s.Sources {
		sources = append(sources, Source(src))
	}
	for _, row := range rows {
		w := Workload{Namespace: row.Namespace, Controller: row.Controller, ControllerKind: row.Kind, Pod: row.Pod}
		if row.Book == nil || !w.SelectedBy(sources) {
			continue
		}
		from, to := max(row.Start.Unix(), s.Activated.Unix()), row.End.Unix()
		if !s.Deactivated.IsZero() {
			to = min(to, s.Deactivated.Unix())
		}
		if to <= from {
			continue
		}
		span, seconds := to-from, row.End.Unix()-row.Start.Unix()
		k, weight := key{ids[row.Book], 1}, int64(1)
		if span != seconds {
			k.share, weight = seconds, span
		}
		u := sums[k]
		if u == nil {
			u = &Usage{k.book, k.share, new(big.Rat), new(big.Rat), new(big.Rat), new(big.Rat), new(big.Rat)}
			sums[k] = u
		}
		times := func(n int64, texts ...string) *big.Rat {
			sum := new(big.Rat)
			for _, text := range texts {
				sum.Add(sum, rat(text))
			}
			return sum.Mul(sum, new(big.Rat).SetInt64(n))
		}
		u.CoreSeconds.Add(u.CoreSeconds, times(span, row.CPU))
		u.GPUSeconds.Add(u.GPUSeconds, times(span, row.GPU))
		u.ByteSeconds.Add(u.ByteSeconds, times(span, row.RAM))
		u.PVByteHours.Add(u.PVByteHours, times(weight, row.PVByteHours))
		u.NetworkBytes.Add(u.NetworkBytes, times(weight, row.Sent, row.Received))
	}
	all := make([]Usage, 0, len(sums))
	for _, u := range sums { // In whatever order the map gives them: it must not matter.
		all = append(all, *u)
	}
	return all
}

// TestAgreesWithReference bills random lives hour by hour and compares every row,
// to the micro, with the reference calculator.
func TestAgreesWithReference(t *testing.T) {
	t.Logf("%d lives, seed %d", *lives, *seed)
	r := rand.New(rand.NewPCG(*seed, 8))
	usageRows, feeTicks := 0, 0
	for n := range *lives {
		begin := anywhere(r)
		sub := reference.RandomSubscription(r, begin, 4)
		bill := billOf(t, sub)
		now := run(begin.Add(12 * time.Hour).Format(time.RFC3339))

		refBooks := []*reference.Book{reference.RandomBook(r), reference.RandomBook(r)}
		ids, books := map[*reference.Book]int64{}, Books{}
		for i, b := range refBooks {
			id := int64(i) + 1
			ids[b], books[id] = id, Book{ID: id, Currency: "EUR", Rates: pricing.Tariff{}}
			for m, rate := range b.Rates {
				field, _ := pricing.Meter(m).Field()
				books[id].Rates[field] = money.Micros(rate)
			}
		}

		bill.Windows(now, time.Time{}).Each(func(window time.Time) bool {
			rows := reference.RandomRows(r, window, refBooks, r.IntN(4))
			got, err := bill.Closed(now, window, measured(sub, rows, ids), books, "")
			if err != nil {
				t.Fatal(err)
			}
			want := sub.Hour(window, rows)
			if len(got) != len(want) {
				t.Fatalf("life %d, hour %s: want %v, got %+v", n, window, want, got)
			}
			for _, row := range got {
				if w := want[string(row.Source)]; w == nil || w.Cmp(big.NewInt(int64(row.Amount))) != 0 {
					t.Fatalf("seed %d, life %d %+v, hour %s, %s: want %s, got %d", *seed, n, sub, window, row.Source, w, row.Amount)
				}
				if row.Source != pricing.MeterSubscription {
					usageRows++
				} else if row.Amount > 0 {
					feeTicks++
				}
			}
			return true
		})
	}
	if usageRows < *lives/2 || feeTicks < *lives/2 {
		t.Errorf("Only %d rows of usage and %d with a fee: the random world is too empty to say anything", usageRows, feeTicks)
	}
}

// TestLongLivesAgreeWithReference looks at single hours of the fee all over the
// eighteen months that follow an activation, most of them around a boundary.
func TestLongLivesAgreeWithReference(t *testing.T) {
	r := rand.New(rand.NewPCG(*seed, 11))
	ticks := 0
	for n := range *lives / 20 {
		sub := reference.RandomSubscription(r, anywhere(r), 18*30*24)
		if sub.Fee == nil {
			continue
		}
		bill := billOf(t, sub)
		until := sub.Activated.AddDate(1, 6, 0)
		for range 8 {
			window := sub.Activated.Truncate(time.Hour).Add(time.Duration(r.IntN(18*30*24)) * time.Hour)
			if r.IntN(2) == 0 { // The midnight that begins a month closes the hour before it.
				window = time.Date(window.Year(), window.Month()+1, 1, 0, 0, 0, 0, time.UTC).Add(-time.Hour)
			}
			if window.After(until) {
				continue
			}
			got, err := bill.Closed(Run{Hour: window.Add(time.Hour)}, window, nil, nil, "")
			if err != nil {
				t.Fatal(err)
			}
			want := sub.Between(window, window.Add(time.Hour))
			if want.Cmp(big.NewInt(int64(got[0].Amount))) != 0 {
				t.Fatalf("seed %d, life %d %+v of %+v, hour %s: want %s, got %d", *seed, n, sub.Fee, sub, window, want, got[0].Amount)
			}
			if got[0].Amount > 0 {
				ticks++
			}
		}
	}
	if ticks < *lives/50 {
		t.Errorf("Only %d hours with a fee: the random world is too empty to say anything", ticks)
	}
}

// TestWholeLifeIsCharged checks for random ended lives that what the passes and
// the close-out write adds up to the reference's fee of the whole life, whenever
// the Subscription is let go.
func TestWholeLifeIsCharged(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for n := range *lives / 10 {
		begin := anywhere(r)
		sub := reference.RandomSubscription(r, begin, 40)
		if sub.Fee == nil || sub.Deactivated.IsZero() {
			continue
		}
		bill := billOf(t, sub)
		ended := sub.Deactivated.Truncate(time.Hour)
		now := Run{Hour: ended.Add(time.Duration(1+r.IntN(60)) * time.Hour)}
		now.SettledBefore = ended.Add(time.Duration(1+r.IntN(60)) * time.Hour)
		if now.SettledBefore.After(now.Hour) {
			now.SettledBefore = now.Hour
		}
		departure := Departure{Run: now, Life: tick.Life{ActivatedAt: sub.Activated, DeactivatedAt: sub.Deactivated}, Bill: &bill}
		if hold := Departing.Hold(departure); hold != (Hold{}) {
			t.Fatalf("life %d: %+v", n, hold)
		}

		final := map[time.Time]money.Micros{}
		keep := func(rows []Row, err error) {
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				if row.Finalized {
					final[row.Window] = row.Amount
				}
			}
		}
		bill.Windows(now, time.Time{}).Each(func(window time.Time) bool {
			rows, err := bill.Closed(now, window, nil, nil, "")
			keep(rows, err)
			return true
		})
		keep(bill.CloseOut(now, ""))

		amounts := make([]money.Micros, 0, len(final))
		for _, amount := range final {
			amounts = append(amounts, amount)
		}
		got, err := money.Sum(amounts...)
		if err != nil {
			t.Fatal(err)
		}
		want := sub.Between(sub.Activated, sub.Deactivated.AddDate(10, 0, 0))
		if want.Cmp(big.NewInt(int64(got))) != 0 {
			t.Fatalf("life %d %+v %s of %+v, run %+v: want %s, got %d", n, sub.Fee, strings.Join([]string{sub.Activated.String(), sub.Deactivated.String()}, " to "), sub, now, want, got)
		}
	}
}

package charge

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/provider-finops/provider-finops/internal/finops/hour"
	"github.com/provider-finops/provider-finops/internal/finops/money"
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
	"github.com/provider-finops/provider-finops/internal/finops/tick"
	"github.com/provider-finops/provider-finops/internal/testkit/reference"
)

// A store is the database as far as one Subscription is concerned: rows, its
// watermark, and whether its object is still there. It takes a batch whole or
// not at all, never changes a final row, and drops open rows that a batch speaks
// for and does not hold.
type store struct {
	rows      map[slot]Row
	watermark time.Time
	released  bool
}

type slot struct {
	window time.Time
	source pricing.Meter
}

func newStore() *store { return &store{rows: map[slot]Row{}} }

// commit takes a batch over the hours from first to end, not included.
func (s *store) commit(rows []Row, first, end, watermark time.Time) {
	held := map[slot]bool{}
	for _, row := range rows {
		held[slot{row.Window, row.Source}] = true
	}
	maps.DeleteFunc(s.rows, func(at slot, row Row) bool {
		return !row.Finalized && !at.window.Before(first) && at.window.Before(end) && !held[at]
	})
	for _, row := range rows {
		at := slot{row.Window, row.Source}
		if stands, there := s.rows[at]; !there || !stands.Finalized {
			s.rows[at] = row
		}
	}
	if watermark.After(s.watermark) {
		s.watermark = watermark
	}
}

// dump is everything that is final, in words, and whether the object is there.
// Hours of nothing after the end are left out: there is a row for as many of them
// as the release has waited.
func (s *store) dump(ended time.Time) []string {
	var lines []string
	for at, row := range s.rows {
		waited := row.Amount == 0 && !ended.IsZero() && at.window.After(ended)
		if row.Finalized && !waited {
			lines = append(lines, fmt.Sprintf("%s %s %d", at.window.Format(time.RFC3339), at.source, row.Amount))
		}
	}
	slices.SortFunc(lines, cmp.Compare[string])
	return append(lines, fmt.Sprintf("released %t", s.released))
}

// A lifetime is what a simulation is about: one Subscription, and what is
// measured in each hour, first for the time being and then for good.
type lifetime struct {
	sub      reference.Subscription
	begin    time.Time
	hours    int
	deletion time.Time // When it is deleted; zero for one that lives on.
	early    map[time.Time][]reference.Allocation
	final    map[time.Time][]reference.Allocation
	delay    time.Duration // How long after its hour a measurement is final.
	ids      map[*reference.Book]int64
	books    Books
}

func randomLifetime(r *rand.Rand) *lifetime {
	l := &lifetime{
		begin: anywhere(r), hours: 6 + r.IntN(30), delay: time.Duration(r.IntN(5)) * time.Hour,
		early: map[time.Time][]reference.Allocation{}, final: map[time.Time][]reference.Allocation{},
		ids: map[*reference.Book]int64{}, books: Books{},
	}
	l.sub = reference.RandomSubscription(r, l.begin, max(2, l.hours/2))
	l.deletion = l.sub.Deactivated
	drawn := []*reference.Book{reference.RandomBook(r), reference.RandomBook(r)}
	for i, b := range drawn {
		id := int64(i) + 1
		l.ids[b], l.books[id] = id, Book{ID: id, Currency: "EUR", Rates: pricing.Tariff{}}
		for m, rate := range b.Rates {
			field, _ := pricing.Meter(m).Field()
			l.books[id].Rates[field] = money.Micros(rate)
		}
	}
	for n := range l.hours {
		window := l.begin.Add(time.Duration(n) * hour.Length)
		l.final[window] = reference.RandomRows(r, window, drawn, r.IntN(4))
		l.early[window] = l.final[window][:r.IntN(len(l.final[window])+1)]
	}
	return l
}

// seen is the Subscription as a run at that hour finds it.
func (l *lifetime) seen(now time.Time) reference.Subscription {
	sub := l.sub
	if sub.Deactivated.After(now) {
		sub.Deactivated = time.Time{}
	}
	return sub
}

// A step is one transaction of a run, or one write to the API server.
type step func()

// steps are a run at an hour, as the collector takes them: the closed hours in
// batches, the hour in progress, the close-out, the release. Each sees what the
// store holds when it is its turn. What was measured is what stands at clock,
// which for a late retry lies after the hour.
func (l *lifetime) steps(t *testing.T, s *store, pinned, clock time.Time, batch int) []step {
	sub := l.seen(clock)
	if s.released || sub.Activated.After(clock) {
		return nil
	}
	bill := billOf(t, sub)
	run := Run{Hour: pinned, SettledBefore: hour.Of(clock.Add(-l.delay))}
	if run.SettledBefore.After(pinned) {
		run.SettledBefore = pinned
	}
	usage := func(window time.Time) []Usage {
		if window.Before(hour.Of(clock.Add(-l.delay))) {
			return measured(sub, l.final[window], l.ids)
		}
		return measured(sub, l.early[window], l.ids)
	}
	must := func(rows []Row, err error) []Row {
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	departure := Departure{Run: run, Life: tick.Life{ActivatedAt: sub.Activated, DeactivatedAt: sub.Deactivated}, Bill: &bill}
	leaves := !sub.Deactivated.IsZero() && Departing.Hold(departure) == Hold{}

	windows := bill.Windows(run, s.watermark)
	var steps []step
	for first := windows.First; first.Before(windows.End); first = first.Add(time.Duration(batch) * hour.Length) {
		part := windows.Within(first, first.Add(time.Duration(batch)*hour.Length))
		steps = append(steps, func() {
			var rows []Row
			part.Each(func(window time.Time) bool {
				rows = append(rows, must(bill.Closed(run, window, usage(window), l.books, ""))...)
				return true
			})
			through, _ := bill.FinalThrough(run, part)
			s.commit(rows, part.First, part.End, through)
		})
	}
	if windows.Current && !leaves {
		steps = append(steps, func() {
			s.commit(must(bill.Current(run, usage(pinned), l.books, "")), pinned, pinned.Add(hour.Length), time.Time{})
		})
	}
	if leaves {
		steps = append(steps,
			func() {
				s.commit(must(bill.CloseOut(run, "")), hour.Of(sub.Deactivated), sub.Deactivated.AddDate(100, 0, 0), time.Time{})
			},
			func() { s.released = true })
	}
	return steps
}

// owed is what the reference says that was owed for every hour of an ended life.
func (l *lifetime) owed(released bool, settled time.Time) map[slot]string {
	want := map[slot]string{}
	end := l.sub.Deactivated
	if l.sub.Fee != nil && !end.IsZero() {
		end = l.sub.Fee.Snap(l.sub.Activated, l.sub.Deactivated)
	}
	for window := hour.Of(l.sub.Activated); window.Before(settled); window = window.Add(hour.Length) {
		if !end.IsZero() && !window.Before(end) {
			break
		}
		for source, amount := range l.sub.Hour(window, l.final[window]) {
			want[slot{window, pricing.Meter(source)}] = amount.String()
		}
	}
	if released && l.sub.Fee != nil {
		if last := end.Add(-time.Second).Truncate(time.Hour); !last.Before(settled) {
			amount := l.sub.Between(last, last.Add(time.Hour))
			if amount.Sign() > 0 {
				want[slot{last, pricing.MeterSubscription}] = amount.String()
			}
		}
	}
	return want
}

// TestInterleavings runs random schedules: hours that are skipped, repeated, or
// retried late, batches of any size, and a crash after any step. What is final
// afterwards is what undisturbed hourly runs leave, and what the reference says;
// no final row ever changes; and nothing goes before its rows are there (F2, F12,
// I7, I8).
func TestInterleavings(t *testing.T) {
	crashes, released := 0, 0
	for n := range *lives / 10 {
		r := rand.New(rand.NewPCG(*seed, uint64(n)))
		l := randomLifetime(r)
		last := l.begin.Add(time.Duration(l.hours+6) * hour.Length)

		undisturbed := newStore()
		for now := l.begin; !now.After(last); now = now.Add(hour.Length) {
			for _, do := range l.steps(t, undisturbed, now, now, 24) {
				do()
			}
		}

		disturbed := newStore()
		for now := l.begin; now.Before(last); now = now.Add(hour.Length) {
			for range r.IntN(4) {
				pinned := now.Add(-time.Duration(r.IntN(4)/2*r.IntN(5)) * hour.Length)
				steps := l.steps(t, disturbed, pinned, now, 1+r.IntN(24))
				until := len(steps)
				if r.IntN(2) == 0 && until > 0 {
					until = r.IntN(until)
					crashes++
				}
				for _, do := range steps[:until] {
					before := maps.Clone(disturbed.rows)
					do()
					l.check(t, n, before, disturbed)
				}
			}
		}
		for range 2 { // The second one has nothing to do.
			for _, do := range l.steps(t, disturbed, last, last, 24) {
				do()
			}
		}

		if want, got := undisturbed.dump(l.sub.Deactivated), disturbed.dump(l.sub.Deactivated); !slices.Equal(want, got) {
			t.Fatalf("seed %d, life %d %+v: undisturbed %v, disturbed %v", *seed, n, l.sub, want, got)
		}
		if disturbed.released {
			released++
		}
		l.compare(t, n, disturbed, last)
	}
	if crashes < *lives/10 || released < *lives/100 {
		t.Errorf("%d crashes and %d releases: the random world is too quiet to say anything", crashes, released)
	}
}

// check holds after every step.
func (l *lifetime) check(t *testing.T, n int, before map[slot]Row, s *store) {
	t.Helper()
	for at, row := range before {
		if now, there := s.rows[at]; row.Finalized && (!there || now.Amount != row.Amount || !now.Finalized) {
			t.Fatalf("seed %d, life %d %+v: the final row %v has changed from %+v to %+v", *seed, n, l.sub, at, row, now)
		}
	}
	if !s.released {
		return
	}
	for at, amount := range l.owed(true, hour.Of(l.sub.Deactivated).Add(hour.Length)) {
		if row, there := s.rows[at]; !there || !row.Finalized || fmt.Sprint(row.Amount) != amount {
			t.Fatalf("seed %d, life %d %+v: released while %v is %+v, should be %s", *seed, n, l.sub, at, row, amount)
		}
	}
}

// compare holds at the end: everything settled is what the reference says.
func (l *lifetime) compare(t *testing.T, n int, s *store, last time.Time) {
	t.Helper()
	settled := last
	if bill := billOf(t, l.sub); bill.Metered() {
		settled = hour.Of(last.Add(-l.delay))
	}
	if s.released {
		settled = hour.Of(l.sub.Deactivated).Add(hour.Length)
	}
	for at, amount := range l.owed(s.released, settled) {
		if row, there := s.rows[at]; !there || !row.Finalized || fmt.Sprint(row.Amount) != amount {
			t.Fatalf("seed %d, life %d %+v: %v is %+v at the end, should be %s", *seed, n, l.sub, at, row, amount)
		}
	}
	for at, row := range s.rows {
		if !row.Finalized && s.released {
			t.Fatalf("seed %d, life %d %+v: %v was left open by a release", *seed, n, l.sub, at)
		}
	}
}

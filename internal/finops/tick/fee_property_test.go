package tick

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/provider-finops/provider-finops/internal/finops/money"
)

// walked is the fee computed the slow way: boundary by boundary with the
// calendar of the standard library, adding up one price each.
func walked(alignment Alignment, count int, suffix string, price int64, life Life, start, end time.Time) (*big.Int, int64) {
	activated := life.ActivatedAt.UTC()
	var next func(time.Time) time.Time
	var first time.Time
	var full int64
	switch alignment {
	case ActivatedAt:
		length := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}[suffix]
		next = func(b time.Time) time.Time { return b.Add(time.Duration(count) * length) }
		first = next(activated)
	case HourBoundary:
		next = func(b time.Time) time.Time { return b.Add(time.Duration(count) * time.Hour) }
		for first = time.Unix(0, 0).UTC(); !first.After(activated); {
			first = next(first)
		}
		full = int64(count) * 3600
	case DayBoundary:
		next = func(b time.Time) time.Time { return b.AddDate(0, 0, count) }
		first = time.Date(activated.Year(), activated.Month(), activated.Day()+1, 0, 0, 0, 0, time.UTC)
		full = int64(count) * 86400
	case MonthBoundary:
		next = func(b time.Time) time.Time { return b.AddDate(0, count, 0) }
		first = time.Date(activated.Year(), activated.Month()+time.Month(count), 1, 0, 0, 0, 0, time.UTC)
		full = int64(count) * 2629800
	}

	if life.Ended() {
		snap := first
		for snap.Before(life.DeactivatedAt) {
			snap = next(snap)
		}
		if end.After(snap) {
			end = snap
		}
	}

	total, ticks := new(big.Int), int64(0)
	for b := first; !b.After(end); b = next(b) {
		if !b.After(start) {
			continue
		}
		ticks++
		worth := big.NewInt(price)
		if b.Equal(first) && alignment != ActivatedAt {
			worth.Mul(worth, big.NewInt(int64(first.Sub(activated)/time.Second)))
			worth.Quo(worth, big.NewInt(full))
			if worth.Cmp(big.NewInt(price)) > 0 {
				worth.SetInt64(price)
			}
		}
		total.Add(total, worth)
	}
	return total, ticks
}

// randomFee draws terms and a life of days to years.
func randomFee(r *rand.Rand) (Alignment, int, string, int64, Life) {
	alignment := []Alignment{ActivatedAt, HourBoundary, DayBoundary, MonthBoundary}[r.IntN(4)]
	suffix := map[Alignment]string{HourBoundary: "h", DayBoundary: "d", MonthBoundary: "mo"}[alignment]
	count := 1 + r.IntN(40)
	if alignment == ActivatedAt {
		suffix = []string{"s", "m", "h"}[r.IntN(3)]
		if suffix == "s" {
			count += 1000 // A life of years in single seconds is a long walk.
		}
	}
	activated := time.Unix(1_700_000_000+r.Int64N(4*365*86400), 0).UTC()
	if r.IntN(4) == 0 {
		activated = activated.Truncate([]time.Duration{time.Hour, 24 * time.Hour}[r.IntN(2)])
	}
	life := Life{ActivatedAt: activated}
	if r.IntN(2) == 0 {
		life.DeactivatedAt = activated.Add(time.Duration(r.Int64N(60*86400)) * time.Second)
		if r.IntN(3) == 0 {
			life.DeactivatedAt = life.DeactivatedAt.Truncate(time.Hour)
		}
		if life.DeactivatedAt.Before(activated) {
			life.DeactivatedAt = activated
		}
	}
	return alignment, count, suffix, 1 + r.Int64N(1_000_000_000_000), life
}

// TestAgreesWithWalking compares the closed form with a walk over the calendar,
// for random terms, lives and spans.
func TestAgreesWithWalking(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 3000 {
		alignment, count, suffix, price, life := randomFee(r)
		fee := terms(t, alignment, strconv.Itoa(count)+suffix, money.Micros(price)).Over(life)
		start := life.ActivatedAt.Add(time.Duration(r.Int64N(40*86400)-5*86400) * time.Second)
		end := start.Add(time.Duration(r.Int64N(40*86400)) * time.Second)

		want, ticks := walked(alignment, count, suffix, price, life, start, end)
		got, err := fee.Due(start, end)
		if err != nil || big.NewInt(int64(got.Amount)).Cmp(want) != 0 || got.Ticks != ticks {
			t.Fatalf("seed case %d: %s %d%s of %d micros, life %+v, span (%s, %s]: walked %d ticks for %s micros, got %+v, %v",
				n, alignment, count, suffix, price, life, start, end, ticks, want, got, err)
		}
	}
}

// TestSplitsAddUp checks that however a span is split the parts cost what the
// whole costs, and that asking again or in another order changes nothing.
func TestSplitsAddUp(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := range 2000 {
		alignment, count, suffix, price, life := randomFee(r)
		fee := terms(t, alignment, strconv.Itoa(count)+suffix, money.Micros(price)).Over(life)

		cuts := make([]time.Time, 2+r.IntN(30))
		for i := range cuts {
			cuts[i] = life.ActivatedAt.Add(time.Duration(r.Int64N(90*86400)-5*86400) * time.Second)
		}
		slices.SortFunc(cuts, time.Time.Compare)

		parts := make([]money.Micros, 0, len(cuts))
		for _, i := range r.Perm(len(cuts) - 1) {
			part, err := fee.Amount(cuts[i], cuts[i+1])
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, part)
		}
		sum, err := money.Sum(parts...)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := fee.Amount(cuts[0], cuts[len(cuts)-1])
		if err != nil || sum != whole {
			t.Fatalf("seed case %d: %s %d%s, life %+v, cut at %v: parts add up to %d, the whole is %d, %v", n, alignment, count, suffix, life, cuts, sum, whole, err)
		}
	}
}

// FuzzAmount looks for a span whose halves do not add up, and for a result that
// is negative, which only an overflow could make it.
func FuzzAmount(f *testing.F) {
	f.Add(uint8(0), uint16(90), int64(1000000), int64(1772705100), int64(0), int64(1772705100), uint32(3600), uint32(1800))
	f.Add(uint8(3), uint16(1), int64(500000000), int64(1773100800), int64(3160800), int64(1773100800), uint32(9000000), uint32(77))
	f.Add(uint8(1), uint16(5), int64(9_000_000_000_000_000_000), int64(-1), int64(5), int64(-9999), uint32(4000000000), uint32(2000000000))
	f.Fuzz(func(t *testing.T, kind uint8, count uint16, price, activated, lived, start int64, length, cut uint32) {
		alignment := []Alignment{ActivatedAt, HourBoundary, DayBoundary, MonthBoundary}[kind%4]
		suffix := []string{"m", "h", "d", "mo"}[kind%4]
		parsed, err := ParseTerms(alignment, fmt.Sprintf("%d%s", count, suffix), money.Micros(price), 0)
		if err != nil {
			return
		}
		const century = 100 * 365 * 86400
		activated, lived, start = activated%century, lived%century, start%century
		life := Life{ActivatedAt: time.Unix(activated, 0)}
		if lived > 0 {
			life.DeactivatedAt = time.Unix(activated+lived, 0)
		}
		fee := parsed.Over(life)

		from, to := time.Unix(start, 0), time.Unix(start+int64(length), 0)
		middle := time.Unix(start+int64(min(cut, length)), 0)
		whole, err := fee.Amount(from, to)
		if err != nil {
			return // Refused, not wrapped around.
		}
		left, errLeft := fee.Amount(from, middle)
		right, errRight := fee.Amount(middle, to)
		if errLeft != nil || errRight != nil {
			t.Fatalf("a part of a span that costs %d overflows: %v, %v", whole, errLeft, errRight)
		}
		if sum, err := money.Sum(left, right); err != nil || sum != whole || left < 0 || right < 0 {
			t.Fatalf("%s %s from %d for %d: (%d, %d] costs %d, cut at %d it costs %d + %d (%v)", alignment, parsed.Period, activated, lived, from.Unix(), to.Unix(), whole, middle.Unix(), left, right, err)
		}
	})
}

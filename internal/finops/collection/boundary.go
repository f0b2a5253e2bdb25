package collection

import (
	"time"

	"github.com/provider-finops/provider-finops/internal/finops/hour"
)

// A Boundary is the allocation boundary of a charge run: what was measured for
// the hours below it is final, hours without any measurement included, which
// count as measured zero. The zero Boundary lies below every hour.
type Boundary struct {
	none bool
	at   time.Time
}

// Unbounded is the Boundary above every hour: nobody collects.
func Unbounded() Boundary { return Boundary{none: true} }

// Below returns the Boundary under which every hour before at lies.
func Below(at time.Time) Boundary { return Boundary{at: at.UTC()} }

// Settles says whether the measurements of an hour are final.
func (b Boundary) Settles(h time.Time) bool {
	return b.none || h.Before(b.at)
}

// Cap returns the earlier of the Boundary and an hour: the end of what a charge
// run pinned to that hour may finalize for a metered Subscription.
func (b Boundary) Cap(h time.Time) time.Time {
	if b.Settles(h) {
		return h
	}
	return b.at
}

// Evidence is what the Boundary is decided from.
type Evidence struct {
	// Collecting says that a CostJob of type ResourceCostCollection exists.
	Collecting bool

	// Measured says that the cluster has any allocation row at all.
	Measured bool

	// EarliestOpen is the earliest hour that holds a row which is not final;
	// zero if there is none.
	EarliestOpen time.Time

	Ledger Ledger
}

// Boundary returns the allocation boundary of a charge run pinned to an hour.
//
// The documented rule is the earliest hour with a row that is not final. It
// alone holds where nobody collects. Where somebody does, a collector that is
// dead must not make usage final at zero (OPEN-CJ-12): without any row nothing
// is final, and no hour after the last collected one is. Nor is an hour that
// failed, whose emptiness is unconfirmed, or that no run has looked at yet,
// while it may still be fetched (OPEN-CJ-25).
func (l Limits) Boundary(pinned time.Time, ev Evidence) Boundary {
	b := Unbounded()
	if !ev.EarliestOpen.IsZero() {
		b = Below(ev.EarliestOpen)
	}

	switch {
	case !ev.Collecting:
		return b
	case !ev.Measured || ev.Ledger.LastCollected.IsZero():
		return Boundary{}
	}

	end := b.Cap(ev.Ledger.LastCollected.Add(hour.Length))
	for h := l.Oldest(pinned); h.Before(end); h = h.Add(hour.Length) {
		if ev.Ledger.missing(h) {
			return Below(h)
		}
	}
	return Below(end)
}

// Gap returns how many hours before the present one are not settled, of those
// that a run may still fetch.
func (l Limits) Gap(present time.Time, known Ledger) int {
	gap := 0
	for h := l.Oldest(present); h.Before(present); h = h.Add(hour.Length) {
		if known.missing(h) {
			gap++
		}
	}
	return gap
}

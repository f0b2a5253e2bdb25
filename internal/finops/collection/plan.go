package collection

import (
	"time"

	"github.com/provider-finops/provider-finops/internal/finops/hour"
)

// A Plan is what a run fetches, each list in the order of time.
type Plan struct {
	// CatchUp are the hours before the documented window that were missed. Each
	// is committed on its own, so that a long catch-up keeps what it has.
	CatchUp []time.Time

	// Window are the hours of the documented window, the pinned one included,
	// that are not fully finalized yet.
	Window []time.Time
}

// Plan returns the hours a run fetches. The documented window is the pinned
// hour and those of the lookback before it; hours that were missed earlier are
// caught up with (BETTER-CJ-8), stragglers among them.
func (l Limits) Plan(pinned time.Time, known Ledger) Plan {
	var p Plan

	window := pinned.Add(-time.Duration(l.LookbackHours) * hour.Length)
	for h := l.Oldest(pinned); h.Before(window); h = h.Add(hour.Length) {
		if known.missing(h) {
			p.CatchUp = append(p.CatchUp, h)
		}
	}
	for h := window; !h.After(pinned); h = h.Add(hour.Length) {
		if !known.At(h).finished() {
			p.Window = append(p.Window, h)
		}
	}

	return p
}

// Finalizes says whether what a run pinned to an hour stores for h is final: h
// has closed before the pinned hour, and by the clock at least the settle delay
// ago (OPEN-CJ-8).
func (l Limits) Finalizes(h, pinned, now time.Time) bool {
	return h.Before(pinned) && !now.Before(h.Add(hour.Length+l.SettleDelay))
}

// Spared returns the hours before the pinned one that a run must not finalize
// yet, because the settle delay has not passed since they closed.
func (l Limits) Spared(pinned, now time.Time) []time.Time {
	var spared []time.Time
	for h := l.Oldest(pinned); h.Before(pinned); h = h.Add(hour.Length) {
		if !l.Finalizes(h, pinned, now) {
			spared = append(spared, h)
		}
	}
	return spared
}

// An Answer is how the fetch of an hour ended.
type Answer struct {
	Failed bool      // It did not end with a whole answer.
	Items  int64     // What the answer held.
	Began  time.Time // When the fetch began.
}

// Conclude returns the state of an hour after an answer. Rows that are stored
// outlive an answer without any item (OPEN-CJ-7: OpenCost forgets), and a fetch
// that fails takes nothing back that was confirmed.
func (l Limits) Conclude(before Entry, a Answer, pinned, now time.Time) State {
	measured := a.Items > 0 || before.stored()
	switch {
	case a.Failed && before.State == Empty:
		return Empty
	case a.Failed:
		return Failed
	case measured && l.Finalizes(before.Hour, pinned, now):
		return Final
	case measured:
		return Open
	case before.State == Empty || l.believes(before.Hour, a):
		return Empty
	default:
		return Open
	}
}

// Late returns how many rows of an answer came too late for the bill, given how
// many final ones it tells otherwise: those, and every row of an hour that was
// confirmed to be empty. Charges may have become final in between.
func Late(before Entry, a Answer, otherwise int64) int64 {
	if before.State == Empty && !before.stored() {
		return a.Items
	}
	return otherwise
}

// believes says whether an answer without any item was asked for so late that
// nothing is to be expected any more (OPEN-CJ-25).
func (l Limits) believes(h time.Time, a Answer) bool {
	return !a.Began.Before(h.Add(hour.Length + l.ConfirmAfter))
}

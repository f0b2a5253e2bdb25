// Package collection decides which hours an allocation run asks OpenCost for,
// what becomes of an hour it has asked for, and up to where charges may rely on
// what was collected.
//
// Everything here is decided from the ledger: one entry per hour that a run has
// looked at. The plan of a run and the boundary of the charges share one notion
// of an hour that is still missing, so that the boundary never passes an hour
// whose measurement may yet arrive. How hours are fetched and stored is left to
// the job, what is charged for them to others.
package collection

import (
	"slices"
	"time"

	"github.com/provider-finops/provider-finops/internal/finops/hour"
)

// A State is what the ledger says about an hour.
type State string

// The states of an hour. The zero State means that no run has looked at it.
const (
	Open   State = "open"   // Answered, but not for good.
	Final  State = "final"  // Measured, and never fetched again.
	Empty  State = "empty"  // Confirmed to hold nothing: measured zero.
	Failed State = "failed" // Asked for in vain.
)

// An Entry is what is known about one hour.
type Entry struct {
	Hour  time.Time
	State State

	// HasOpen and HasFinal say whether rows of either kind are stored.
	HasOpen  bool
	HasFinal bool
}

// stored says whether the hour has rows at all.
func (e Entry) stored() bool {
	return e.HasOpen || e.HasFinal
}

// finished says that the hour is fully finalized: it has rows, and all of them
// are final.
func (e Entry) finished() bool {
	return e.HasFinal && !e.HasOpen
}

// A Ledger is what is known about the hours of one cluster and aggregation.
type Ledger struct {
	// First is the earliest hour any run has looked at, LastCollected the latest
	// one that was fetched with success, empty or not. Zero if there is none.
	First, LastCollected time.Time

	// Entries are the hours something is known about, in the order of time.
	// Those before the oldest hour of the limits need not be among them.
	Entries []Entry
}

// At returns what is known about an hour.
func (l Ledger) At(h time.Time) Entry {
	i, known := slices.BinarySearchFunc(l.Entries, h, func(e Entry, h time.Time) int { return e.Hour.Compare(h) })
	if !known {
		return Entry{Hour: h}
	}
	return l.Entries[i]
}

// missing says that the measurement of an hour is not settled: it failed, it is
// provisional, its emptiness is unconfirmed, or it lies in a gap that no run
// has looked at since the first one.
func (l Ledger) missing(h time.Time) bool {
	e := l.At(h)
	switch {
	case e.finished():
		return false
	case e.HasOpen:
		return true
	case e.State == "":
		return !l.First.IsZero() && h.After(l.First)
	default:
		return e.State == Open || e.State == Failed
	}
}

// Limits bound what a run does. Each is a setting of the pods.
type Limits struct {
	LookbackHours int           // HOURS_LOOKBACK: hours before the pinned one that every run looks at.
	BackfillHours int           // MAX_BACKFILL_HOURS: how far back a missed hour is still fetched (BETTER-CJ-8).
	SettleDelay   time.Duration // SETTLE_DELAY: how long a closed hour stays provisional (OPEN-CJ-8).
	ConfirmAfter  time.Duration // EMPTY_CONFIRM_AFTER: how long an empty hour is doubted (OPEN-CJ-25).
}

// Oldest returns the earliest hour a run pinned to an hour may fetch. A backfill
// shorter than the lookback takes nothing from the lookback.
func (l Limits) Oldest(pinned time.Time) time.Time {
	return pinned.Add(-time.Duration(max(l.BackfillHours, l.LookbackHours)) * hour.Length)
}

package charge

import (
	"fmt"
	"time"

	"github.com/provider-finops/provider-finops/internal/finops/hour"
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
	"github.com/provider-finops/provider-finops/internal/finops/tick"
)

// A Departure is what decides whether a deleted Subscription may go.
type Departure struct {
	Run  Run
	Life tick.Life // Without ActivatedAt if it was never billed.

	// Bill is nil if the terms could not be read, and for a Subscription that
	// was never activated, for which they are not (OPEN-SUB-11).
	Bill *Bill

	// Failure is what was recorded against it in this run, empty if nothing was.
	Failure string
}

func (d Departure) billed() bool { return !d.Life.ActivatedAt.IsZero() }

// A Gate is something a deleted Subscription has to pass before it is let go.
type Gate string

// The gates, as the collector names them.
const (
	GateDeactivated Gate = "deactivated"
	GateMinPeriods  Gate = "minPeriods"
	GateSettled     Gate = "settled"
	GateError       Gate = "error"
)

// A Hold is why a Subscription is kept. The zero Hold lets it go.
type Hold struct {
	Gate   Gate
	Reason string // For the log.
}

// Departing is what a deleted Subscription has to pass, all on one run (50.8).
// Holding is no error: the next run asks again.
var Departing = Chain{deactivated, minPeriodsPassed, settled, nothingRecorded}

// A Chain is a row of gates of which the first that holds is reported.
type Chain []func(Departure) Hold

// Hold asks the gates in their order.
func (c Chain) Hold(d Departure) Hold {
	for _, gate := range c {
		if h := gate(d); h != (Hold{}) {
			return h
		}
	}
	return Hold{}
}

// deactivated holds while the last billable instant is unknown.
func deactivated(d Departure) Hold {
	if d.Life.Ended() {
		return Hold{}
	}
	return Hold{GateDeactivated, "Not deactivated yet, keeping finalizer"}
}

// minPeriodsPassed counts to the pinned hour, so that retries decide alike
// (OPEN-CJ-22), and past the end, so that an early deletion reaches the count.
func minPeriodsPassed(d Departure) Hold {
	if !d.billed() || d.Bill == nil || d.Bill.fee == nil || d.Bill.fee.MinPeriodsPassed(d.Run.Hour) {
		return Hold{}
	}
	return Hold{GateMinPeriods, "MinPeriods not yet satisfied, keeping finalizer"}
}

// settled holds until the hour of the end is final in this run.
func settled(d Departure) Hold {
	if !d.billed() {
		return Hold{}
	}
	if d.Bill != nil && d.Bill.Final(d.Run, hour.Of(d.Life.DeactivatedAt)) {
		return Hold{}
	}
	return Hold{GateSettled, "Charges not finalized through deactivation hour, keeping finalizer"}
}

// nothingRecorded holds after any error, so that the next run retries rather
// than lets something go whose final hours were never charged.
func nothingRecorded(d Departure) Hold {
	if d.Failure == "" {
		return Hold{}
	}
	return Hold{GateError, d.Failure}
}

// CloseOut gives the rows that nobody will be there to write or to finish once
// the Subscription is gone. A settled one has no usage left, so its fee is
// known up to the snap: the closed hours that the run could not make final, and
// the closing tick of a long period in the hour of the snap, final although
// that hour has not come (OPEN-CJ-23).
func (b Bill) CloseOut(run Run, feeCurrency string) ([]Row, error) {
	end, ended := b.end()
	if !ended || b.fee == nil {
		return nil, nil
	}

	var rows []Row
	first, last := b.finalEnd(run), hourAtOrAfter(end).Add(-hour.Length)
	if ending := hour.Of(b.life.DeactivatedAt); first.Before(ending) {
		first = ending
	}
	for h := first; h.Before(run.Hour) && !h.After(last); h = h.Add(hour.Length) {
		row, err := b.finalFee(h, feeCurrency)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	if last.Before(run.Hour) {
		return rows, nil
	}

	row, err := b.finalFee(last, feeCurrency)
	if err != nil {
		return nil, err
	}
	if row.Amount == 0 {
		return rows, nil
	}
	row.Details.CloseOut = true
	return append(rows, row), nil
}

func (b Bill) finalFee(window time.Time, currency string) (Row, error) {
	row, err := b.feeRow(window, window.Add(hour.Length), currency)
	if err != nil {
		return Row{}, fmt.Errorf("cannot close out %s of hour %s: %w", pricing.MeterSubscription, window.Format(time.RFC3339), err)
	}
	row.Finalized = true
	return row, nil
}

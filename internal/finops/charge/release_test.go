package charge

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/internal/finops/money"
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
	"github.com/provider-finops/provider-finops/internal/finops/tick"
)

// TestDeparting holds the four gates of the specification, 50.8, and the
// deletion of its worked run, 50.9.
func TestDeparting(t *testing.T) {
	minimum := Terms{Fee: feeWithMinimum(tick.ActivatedAt, "1h", 40000000, 24)}
	departure := func(terms Terms, metered bool, life tick.Life, r Run) Departure {
		bill := NewBill(terms, life, metered)
		return Departure{Run: r, Life: life, Bill: &bill}
	}
	failed := departure(hourly, false, between("2026-04-01T09:00:00Z", "2026-04-01T13:42:07Z"), run("2026-04-01T14:00:00Z"))
	failed.Failure = "cannot store"
	noTerms := Departure{Run: run("2026-04-01T14:00:00Z"), Life: between("2026-04-01T09:00:00Z", "2026-04-01T13:42:07Z"), Failure: "cannot read offering"}
	neverActivated := Departure{Run: run("2026-04-01T13:00:00Z"), Life: tick.Life{DeactivatedAt: at("2026-04-01T13:42:07Z")}}
	neverActivatedAndFailed := neverActivated
	neverActivatedAndFailed.Failure = "cannot write"

	cases := map[string]struct {
		reason    string
		departure Departure
		want      Gate
	}{
		"Settled": {
			reason:    "The hour of the end has closed.",
			departure: departure(hourly, false, between("2026-04-01T09:00:00Z", "2026-04-01T13:42:07Z"), run("2026-04-01T14:00:00Z")),
		},
		"InProgress": {
			reason:    "The hour of the end has not.",
			departure: departure(hourly, false, between("2026-04-01T09:00:00Z", "2026-04-01T13:42:07Z"), run("2026-04-01T13:00:00Z")),
			want:      GateSettled,
		},
		"MeteredOpen": {
			reason:    "It has, but its measurements are provisional (50.9).",
			departure: departure(both, true, between("2026-04-01T09:00:00Z", "2026-04-01T13:42:07Z"), runSettled("2026-04-01T14:00:00Z", "2026-04-01T13:00:00Z")),
			want:      GateSettled,
		},
		"MeteredSettled": {
			reason:    "One run later they are not (50.9).",
			departure: departure(both, true, between("2026-04-01T09:00:00Z", "2026-04-01T13:42:07Z"), runSettled("2026-04-01T15:00:00Z", "2026-04-01T14:00:00Z")),
		},
		"NotDeactivated": {
			reason:    "The last billable instant is unknown.",
			departure: departure(hourly, false, since("2026-04-01T09:00:00Z"), run("2026-04-01T14:00:00Z")),
			want:      GateDeactivated,
		},
		"MinPeriodsOpen": {
			reason:    "23 ticks have passed at 09:00 (60.6).",
			departure: departure(minimum, false, between("2026-03-05T09:15:00Z", "2026-03-05T10:00:00Z"), run("2026-03-06T09:00:00Z")),
			want:      GateMinPeriods,
		},
		"MinPeriodsPassed": {
			reason:    "The count goes on after the end, or it could never be reached.",
			departure: departure(minimum, false, between("2026-03-05T09:15:00Z", "2026-03-05T10:00:00Z"), run("2026-03-06T10:00:00Z")),
		},
		"Failed": {
			reason:    "Whatever was recorded in this run keeps it.",
			departure: failed,
			want:      GateError,
		},
		"WithoutTerms": {
			reason:    "Without terms nothing was charged, so nothing is settled.",
			departure: noTerms,
			want:      GateSettled,
		},
		"NeverActivated": {
			reason:    "Nothing was ever billed, so there is nothing to settle (OPEN-SUB-11).",
			departure: neverActivated,
		},
		"NeverActivatedAndFailed": {
			reason:    "The last gate is for everybody.",
			departure: neverActivatedAndFailed,
			want:      GateError,
		},
		"NeverActivatedNorEnded": {
			reason:    "And the first.",
			departure: Departure{Run: run("2026-04-01T13:00:00Z")},
			want:      GateDeactivated,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Departing.Hold(tc.departure); got.Gate != tc.want || (got.Reason == "") != (tc.want == "") {
				t.Errorf("%s\nHold(...): want gate %q with a reason, got %+v", tc.reason, tc.want, got)
			}
		})
	}
}

func TestCloseOut(t *testing.T) {
	price := money.Micros(500000000)
	row := func(window string, amount money.Micros, ticks string, details Details) Row {
		return Row{
			Window: at(window), Source: pricing.MeterSubscription, Amount: amount, Quantity: rat(ticks),
			UnitPrice: &price, Currency: "EUR", Finalized: true, Details: details,
		}
	}
	meteredMonthly := Terms{Fee: monthly.Fee, Meters: usage.Meters}

	cases := map[string]struct {
		reason string
		bill   Bill
		run    Run
		want   []Row
	}{
		"Monthly": {
			reason: "The closing tick lies weeks ahead, and nobody will be there to write it (OPEN-CJ-23).",
			bill:   NewBill(monthly, between("2026-03-10T00:00:00Z", "2026-04-15T13:42:07Z"), false), run: run("2026-04-15T14:00:00Z"),
			want: []Row{row("2026-04-30T23:00:00Z", price, "1", Details{CloseOut: true})},
		},
		"OpeningIsClosing": {
			reason: "If it is the opening tick too it stays reduced.",
			bill:   NewBill(monthly, between("2026-03-10T00:00:00Z", "2026-03-10T00:10:00Z"), false), run: run("2026-03-10T01:00:00Z"),
			want: []Row{row("2026-03-31T23:00:00Z", 361396303, "1", Details{ProratedSeconds: 1900800, CloseOut: true})},
		},
		"SnapInThePinnedHour": {
			reason: "The hour in progress counts as one that has not come.",
			bill:   NewBill(monthly, between("2026-03-10T00:00:00Z", "2026-03-31T22:10:00Z"), false), run: run("2026-03-31T23:00:00Z"),
			want: []Row{row("2026-03-31T23:00:00Z", 361396303, "1", Details{ProratedSeconds: 1900800, CloseOut: true})},
		},
		"SnapAtThePinnedHour": {
			reason: "A tick that is due has been written by the pass.",
			bill:   NewBill(monthly, between("2026-03-10T00:00:00Z", "2026-03-31T23:10:00Z"), false), run: run("2026-04-01T00:00:00Z"),
		},
		"HeldByMinPeriods": {
			reason: "Long after the snap nothing is left.",
			bill:   NewBill(monthly, between("2026-03-10T00:00:00Z", "2026-03-31T23:10:00Z"), false), run: run("2026-06-01T00:00:00Z"),
		},
		"MeteredAheadOfTheBoundary": {
			reason: "Hours after the end that waited for measurements have none to wait for.",
			bill:   NewBill(meteredMonthly, between("2026-03-10T00:00:00Z", "2026-04-30T20:10:00Z"), true), run: runSettled("2026-04-30T23:00:00Z", "2026-04-30T21:00:00Z"),
			want: []Row{
				row("2026-04-30T21:00:00Z", 0, "0", Details{}),
				row("2026-04-30T22:00:00Z", 0, "0", Details{}),
				row("2026-04-30T23:00:00Z", price, "1", Details{CloseOut: true}),
			},
		},
		"MeteredSnapBehindThePinnedHour": {
			reason: "A closing tick that the pass could not make final is made final.",
			bill:   NewBill(meteredMonthly, between("2026-03-10T00:00:00Z", "2026-04-30T22:10:00Z"), true), run: runSettled("2026-05-01T02:00:00Z", "2026-04-30T23:00:00Z"),
			want: []Row{row("2026-04-30T23:00:00Z", price, "1", Details{})},
		},
		"UsageOnly": {
			reason: "Usage is never written in advance.",
			bill:   NewBill(usage, between("2026-04-01T09:20:00Z", "2026-04-01T10:30:00Z"), true), run: run("2026-04-01T11:00:00Z"),
		},
		"NotEnded": {
			reason: "What goes on has no close.",
			bill:   NewBill(monthly, since("2026-03-10T00:00:00Z"), false), run: run("2026-04-01T11:00:00Z"),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := tc.bill.CloseOut(tc.run, "EUR")
			if err != nil {
				t.Fatalf("%s\nCloseOut: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got, compareRats); diff != "" {
				t.Errorf("%s\nCloseOut(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

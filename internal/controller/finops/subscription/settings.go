package subscription

import (
	"context"
	"time"

	"github.com/provider-finops/provider-finops/internal/finops/gate"
	"github.com/provider-finops/provider-finops/internal/finops/tick"
)

// Settings choose, each under the name of a flag, what differs from the
// documented behaviour. The zero Settings are that.
type Settings struct {
	// EnforceAllowOverride makes the policy of an Offering that forbids to
	// override it stand (BETTER-SUB-1).
	EnforceAllowOverride bool

	// DetectParentCycles gives a Subscription whose parents run into a loop
	// another reason (BETTER-SUB-3).
	DetectParentCycles bool

	// ReleaseNeverActivated lets a deleted Subscription that was never activated
	// go at once, without a charge run (OPEN-SUB-11).
	ReleaseNeverActivated bool

	// BuiltinReleaseAfter is how long a deleted Subscription waits for a charge
	// collector where none exists, before the Settler settles it and lets it go
	// (BETTER-SUB-11). Zero, or no Settler, is for ever.
	BuiltinReleaseAfter time.Duration
	Settler             Settler

	// Follow, if it is set, is handed what tells the lives of all Subscriptions.
	Follow func(func(context.Context) (map[string]tick.Life, bool))

	// TargetKinds are those that may be named as targets, as apiVersion/Kind; none
	// means all (BETTER-SUB-8).
	TargetKinds []string

	// TargetSameNamespaceOnly forbids targets in other namespaces, and those
	// without one (BETTER-SUB-8).
	TargetSameNamespaceOnly bool
}

func (s Settings) rules() gate.Rules {
	return gate.Rules{
		EnforceAllowOverride:    s.EnforceAllowOverride,
		DetectParentCycles:      s.DetectParentCycles,
		TargetKinds:             s.TargetKinds,
		TargetSameNamespaceOnly: s.TargetSameNamespaceOnly,
	}
}

package gate

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/provider-finops/provider-finops/internal/finops/family"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

const root = "uid-root"

var (
	activation = time.Date(2026, time.March, 2, 10, 0, 3, 0, time.UTC)
	earlier    = time.Date(2026, time.March, 2, 11, 0, 0, 0, time.UTC)
	now        = time.Date(2026, time.March, 2, 12, 0, 1, 987654321, time.UTC)
	second     = time.Date(2026, time.March, 2, 12, 0, 1, 0, time.UTC)

	errTimeout = errors.New("the server did not answer")

	self     = ref.Key{Namespace: "team", Name: "disk"}
	parent   = ref.Key{Namespace: "team", Name: "vm"}
	offering = ref.Key{Namespace: "catalogue", Name: "vm-disk"}
	needed   = ref.Key{Namespace: "catalogue", Name: "vm-standard"}
	workload = Target{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: "data", Name: "pg"}
)

// waiting is a Subscription with a parent and a target that passes every gate
// and has never been activated.
func waiting(with ...func(*Input)) Input {
	in := Input{
		Now:      now,
		Self:     Subscription{UID: "uid-disk", Key: self, Offering: offering, Parent: &parent, Target: &workload},
		Offering: Found(Offering{UID: "uid-offering", Ready: true, SpecHash: "a"}),
		Recorded: Gone[Recorded](),
		Parent:   Found(Parent{Ready: true}),
		Root:     Found(root),
		Family:   Found(family.New(root, nil, nil)),
		Target:   Found(Existing{}),
	}
	for _, f := range with {
		f(&in)
	}
	return in
}

// active is the same Subscription after its activation.
func active(with ...func(*Input)) Input {
	return waiting(append([]func(*Input){func(in *Input) {
		in.Self.ActivatedAt = &activation
		in.Self.SoldAt = activation
		in.Self.Root = root
	}}, with...)...)
}

func offeringIs(r Read[Offering]) func(*Input) { return func(in *Input) { in.Offering = r } }
func parentIs(r Read[Parent]) func(*Input)     { return func(in *Input) { in.Parent = r } }
func targetIs(r Read[Existing]) func(*Input)   { return func(in *Input) { in.Target = r } }

func unready(in *Input) { in.Offering = Found(Offering{UID: "uid-offering", SpecHash: "a"}) }
func deleted(in *Input) { in.Self.Deleting = true }
func ownTarget(in *Input) {
	in.Self.Target = &Target{APIVersion: "finops.stakater.com/v1alpha1", Kind: "Subscription", Namespace: self.Namespace, Name: self.Name}
}

func policyIs(p Policy) func(*Input) { return func(in *Input) { in.Self.OnParentEnd = &p } }

func offers(t Terms) func(*Input) {
	return offeringIs(Found(Offering{UID: "uid-offering", Ready: true, SpecHash: "a", Terms: t}))
}

// requires makes the Offering require the one that covered provides.
func requires(in *Input) { offers(Terms{Requires: []ref.Key{needed}})(in) }

func covered(in *Input) {
	in.Family = Found(family.New(root, []family.Member{
		{UID: "uid-vm", Key: parent, Root: root, Offering: needed, Active: true},
	}, nil))
}

// compare leaves errors to errors.Is.
//
// Which Offering is recorded has a test of its own.
func compare(want, got Decision) string {
	return cmp.Diff(want, got, cmpopts.EquateErrors(), cmpopts.IgnoreFields(Decision{}, "OfferingUID"))
}

// TestStateTable holds the rows of part 40.11 by their numbers. Row 1 is what
// stands before the first decision, and row 26 what stands after the last.
func TestStateTable(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     Input
		want   Decision
	}{
		"Row02OfferingMissing": {
			reason: "Nothing is sold without an Offering, and nothing is stamped before the parent gate.",
			in:     waiting(offeringIs(Gone[Offering]())),
			want:   Decision{Reason: OfferingNotFound, Message: "offering catalogue/vm-disk does not exist"},
		},
		"Row03OfferingNotReady": {
			reason: "An Offering that is not ready is not sold yet.",
			in:     waiting(unready),
			want:   Decision{Reason: OfferingNotReady, Message: "offering catalogue/vm-disk is not ready"},
		},
		"Row04ParentMissing": {
			reason: "A child may be applied before its parent; there is no chain to stamp.",
			in:     waiting(parentIs(Gone[Parent]())),
			want:   Decision{Reason: ParentSubscriptionNotFound, Message: "parent subscription team/vm does not exist"},
		},
		"Row05ParentNotReady": {
			reason: "A parent that waits makes its children wait.",
			in:     waiting(parentIs(Found(Parent{}))),
			want:   Decision{Reason: ParentSubscriptionNotReady, Message: "parent subscription team/vm is not ready"},
		},
		"Row06ParentEnded": {
			reason: "The policy is for active Subscriptions only: this one is held, for ever.",
			in:     waiting(parentIs(Found(Parent{Deactivated: true})), policyIs(Orphan)),
			want:   Decision{Reason: ParentSubscriptionDeactivated, Message: "parent subscription team/vm has been deactivated, which never clears"},
		},
		"Row07OwnParent": {
			reason: "What admission refuses may have arrived past it.",
			in:     waiting(func(in *Input) { in.Self.Parent = &self }),
			want:   Decision{Reason: CircularDependencyDetected, Message: "subscription team/disk names itself as its parent"},
		},
		"Row08ParentLoop": {
			reason: "The loop is named, the reason stays (BETTER-SUB-3).",
			in:     waiting(parentIs(Found(Parent{})), func(in *Input) { in.ParentLoop = []ref.Key{self, parent, self} }),
			want: Decision{
				Reason:  ParentSubscriptionNotReady,
				Message: "parent subscription team/vm is not ready; parent cycle: team/disk -> team/vm -> team/disk",
				Loop:    []ref.Key{self, parent, self},
			},
		},
		"Row09NeverCovered": {
			reason: "It waits for a provider, and is stamped so that it hears of one.",
			in:     waiting(requires),
			want: Decision{
				Reason:  CompatibilityRequirementNotMet,
				Message: "required offering catalogue/vm-standard not covered by an active subscription in the family",
				Root:    root,
			},
		},
		"Row10TargetMissing": {
			reason: "It waits for its target.",
			in:     waiting(targetIs(Gone[Existing]())),
			want:   Decision{Reason: TargetNotFound, Message: "target StatefulSet data/pg does not exist", Root: root},
		},
		"Row11OwnTarget": {
			reason: "What admission refuses may have arrived past it.",
			in:     waiting(ownTarget),
			want:   Decision{Reason: TargetIsSelfReference, Message: "subscription team/disk names itself as its target", Root: root},
		},
		"Row11OwnTargetWhileActive": {
			reason: "Only a target that is really missing ends anything (OPEN-SUB-1).",
			in:     active(ownTarget, targetIs(Gone[Existing]())),
			want:   Decision{Reason: TargetIsSelfReference, Message: "subscription team/disk names itself as its target"},
		},
		"Row12OfferingUnread": {
			reason: "Could not look is no verdict.",
			in:     waiting(offeringIs(Failed[Offering](errTimeout))),
			want:   Decision{Reason: ValidationError, Message: "the server did not answer", Retry: errTimeout},
		},
		"Row12ParentUnread": {
			reason: "Could not look is no verdict.",
			in:     waiting(parentIs(Failed[Parent](errTimeout))),
			want:   Decision{Reason: ValidationError, Message: "the server did not answer", Retry: errTimeout},
		},
		"Row12RootUnread": {
			reason: "Nothing activates without a root.",
			in:     waiting(func(in *Input) { in.Root = Failed[string](errTimeout) }),
			want: Decision{
				Reason: ValidationError, Message: "cannot find the root of subscription team/disk: the server did not answer", Retry: errTimeout,
			},
		},
		"Row12FamilyUnread": {
			reason: "Could not look is no verdict.",
			in:     waiting(requires, func(in *Input) { in.Family = Failed[family.Family](errTimeout) }),
			want: Decision{
				Reason: ValidationError, Message: "cannot list the family of subscription team/disk: the server did not answer", Root: root, Retry: errTimeout,
			},
		},
		"Row12TargetUnread": {
			reason: "Could not look is no verdict.",
			in:     waiting(targetIs(Failed[Existing](errTimeout))),
			want:   Decision{Reason: ValidationError, Message: "the server did not answer", Root: root, Retry: errTimeout},
		},
		"Row13AllPass": {
			reason: "Activation is stamped in whole seconds, together with the root.",
			in:     waiting(requires, covered),
			want:   Decision{Kind: Billed, Reason: ActivationSucceeded, ActivatedAt: &second, Root: root},
		},
		"Row13StillPasses": {
			reason: "What was stamped is not stamped again.",
			in:     active(requires, covered),
			want:   Decision{Kind: Billed, Reason: ActivationSucceeded},
		},
		"Row13NothingToPass": {
			reason: "Without parent, requirements and target only the Offering counts.",
			in: waiting(func(in *Input) {
				in.Self.Parent, in.Self.Target = nil, nil
				in.Parent, in.Target = Read[Parent]{}, Read[Existing]{}
			}),
			want: Decision{Kind: Billed, Reason: ActivationSucceeded, ActivatedAt: &second, Root: root},
		},
		"Row14OfferingUnreadyWhileActive": {
			reason: "Whatever happens to the Offering, what was sold goes on.",
			in:     active(unready),
			want:   Decision{Reason: OfferingNotReady, Message: "offering catalogue/vm-disk is not ready"},
		},
		"Row15OfferingDeletedWhileActive": {
			reason: "That it does not exist is known, so there is nothing to retry.",
			in:     active(offeringIs(Gone[Offering]())),
			want:   Decision{Reason: OfferingNotFound, Message: "offering catalogue/vm-disk does not exist"},
		},
		"Row16ParentNotReadyWhileActive": {
			reason: "A parent that is briefly not ready ends nothing.",
			in:     active(parentIs(Found(Parent{}))),
			want:   Decision{Reason: ParentSubscriptionNotReady, Message: "parent subscription team/vm is not ready"},
		},
		"Row17ParentGone": {
			reason: "Without any lifecycle block a child ends with its parent.",
			in:     active(parentIs(Gone[Parent]())),
			want:   Decision{Kind: Ended, Reason: ParentDeactivated, Message: "parent subscription team/vm has ended", DeactivatedAt: &second},
		},
		"Row17ParentEnded": {
			reason: "A parent that ended is as good as gone, ready or not.",
			in:     active(parentIs(Found(Parent{Deactivated: true, Ready: true}))),
			want:   Decision{Kind: Ended, Reason: ParentDeactivated, Message: "parent subscription team/vm has ended", DeactivatedAt: &second},
		},
		"Row18Orphan": {
			reason: "An orphan goes on, as long as it is covered.",
			in:     active(requires, policyIs(Orphan), parentIs(Gone[Parent]()), covered),
			want: Decision{
				Kind: Billed, Reason: Orphaned, Message: "parent subscription team/vm has ended; the subscription goes on without it",
			},
		},
		"Row19OrphanNotCovered": {
			reason: "Orphan is about the lifecycle, not an exemption from the requirement.",
			in:     active(requires, policyIs(Orphan), parentIs(Gone[Parent]())),
			want: Decision{
				Kind: Ended, Reason: CompatibilityRequirementNotMet, DeactivatedAt: &second,
				Message: "required offering catalogue/vm-standard not covered by an active subscription in the family",
			},
		},
		"Row20CoverageLost": {
			reason: "Coverage is not a one-time check.",
			in:     active(requires),
			want: Decision{
				Kind: Ended, Reason: CompatibilityRequirementNotMet, DeactivatedAt: &second,
				Message: "required offering catalogue/vm-standard not covered by an active subscription in the family",
			},
		},
		"Row21TargetDeleted": {
			reason: "What was paid for is gone.",
			in:     active(targetIs(Gone[Existing]())),
			want:   Decision{Kind: Ended, Reason: TargetNotFound, Message: "target StatefulSet data/pg does not exist", DeactivatedAt: &second},
		},
		"Row22TargetUnreadWhileActive": {
			reason: "Could not look ends nothing.",
			in:     active(targetIs(Failed[Existing](errTimeout))),
			want:   Decision{Reason: ValidationError, Message: "the server did not answer", Retry: errTimeout},
		},
		"Row23DeletedWhileActive": {
			reason: "A deletion ends it, and waits.",
			in:     active(deleted),
			want: Decision{
				Kind: WindingDown, Reason: MarkedForDeletion, Message: deletedMessage, DeactivatedAt: &second,
				Waiting: "DeletionBlocked: waiting for a SubscriptionChargeCollection run to settle the charges",
			},
		},
		"Row24DeletedAfterAnEnd": {
			reason: "An earlier end keeps its time; the reason is rewritten.",
			in:     active(deleted, func(in *Input) { in.Self.DeactivatedAt = &earlier }),
			want: Decision{
				Kind: WindingDown, Reason: MarkedForDeletion, Message: deletedMessage,
				Waiting: "DeletionBlocked: waiting for a SubscriptionChargeCollection run to settle the charges",
			},
		},
		"Row25DeletedNeverActivated": {
			reason: "It winds down like everybody else, or it would hang for ever (OPEN-SUB-11); gates are not asked.",
			in:     waiting(deleted, offeringIs(Gone[Offering]()), func(in *Input) { in.NoCollector = true }),
			want: Decision{
				Kind: WindingDown, Reason: MarkedForDeletion, Message: deletedMessage, DeactivatedAt: &second,
				Waiting: "DeletionBlocked: waiting for a SubscriptionChargeCollection run to settle the charges; no SubscriptionChargeCollection CostJob exists",
			},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := compare(tc.want, Decide(tc.in)); diff != "" {
				t.Errorf("%s\nDecide(...): -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

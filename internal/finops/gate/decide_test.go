package gate

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/internal/finops/family"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

// TestEndings holds what part 40.3 says about several causes at once: an
// active Subscription is tested for each of the three, whatever an earlier gate
// says (BETTER-SUB-2), and what could not be read ends nothing.
func TestEndings(t *testing.T) {
	const uncovered = "required offering catalogue/vm-standard not covered by an active subscription in the family"
	charged, farAhead := second.Add(time.Hour), second.Add(25*time.Hour)
	unreadyRequires := func(in *Input) {
		in.Offering = Found(Offering{UID: "uid-offering", SpecHash: "a", Terms: Terms{Requires: []ref.Key{needed}}})
	}

	cases := map[string]struct {
		reason string
		in     Input
		want   Decision
	}{
		"Order": {
			reason: "Of three causes the first by the order of the gates is recorded.",
			in:     active(requires, parentIs(Gone[Parent]()), targetIs(Gone[Existing]())),
			want:   Decision{Kind: Ended, Reason: ParentDeactivated, Message: "parent subscription team/vm has ended", DeactivatedAt: &second},
		},
		"BehindAnUnreadyOffering": {
			reason: "An Offering that is not ready does not keep anybody alive.",
			in:     active(unreadyRequires),
			want:   Decision{Kind: Ended, Reason: CompatibilityRequirementNotMet, Message: uncovered, DeactivatedAt: &second},
		},
		"BehindAnUnreadParent": {
			reason: "A cause that can be told counts although another cannot.",
			in:     active(parentIs(Failed[Parent](errTimeout)), targetIs(Gone[Existing]())),
			want:   Decision{Kind: Ended, Reason: TargetNotFound, Message: "target StatefulSet data/pg does not exist", DeactivatedAt: &second},
		},
		"MissingOfferingIsNoEvidence": {
			reason: "Without the Offering coverage is not evaluated, whatever was recorded.",
			in: active(offeringIs(Gone[Offering]()), func(in *Input) {
				in.Recorded = Found(Recorded{OfferingUID: "uid-offering", Terms: Terms{Requires: []ref.Key{needed}}})
			}),
			want: Decision{Reason: OfferingNotFound, Message: "offering catalogue/vm-disk does not exist"},
		},
		"UnreadOfferingIsNoEvidence": {
			reason: "A failed read of the Offering is retried and ends nothing.",
			in:     active(offeringIs(Failed[Offering](errTimeout))),
			want:   Decision{Reason: ValidationError, Message: "the server did not answer", Retry: errTimeout},
		},
		"TargetGoneBehindMissingOffering": {
			reason: "The target needs no Offering to be judged.",
			in:     active(offeringIs(Gone[Offering]()), targetIs(Gone[Existing]())),
			want:   Decision{Kind: Ended, Reason: TargetNotFound, Message: "target StatefulSet data/pg does not exist", DeactivatedAt: &second},
		},
		"FamilyUnread": {
			reason: "A list that failed ends nothing.",
			in:     active(requires, func(in *Input) { in.Family = Failed[family.Family](errTimeout) }),
			want: Decision{
				Reason: ValidationError, Message: "cannot list the family of subscription team/disk: the server did not answer", Retry: errTimeout,
			},
		},
		"NobodyRead": {
			reason: "What nobody read is not gone.",
			in:     active(parentIs(Read[Parent]{}), targetIs(Read[Existing]{})),
			want:   Decision{Reason: ValidationError, Message: "not read", Retry: errNotRead},
		},
		"UnknownKind": {
			reason: "A kind that seems to be gone may be a discovery that failed (OPEN-SUB-6).",
			in:     active(targetIs(Failed[Existing](&UnknownKindError{workload}))),
			want: Decision{
				Reason: ValidationError, Message: "the cluster has no kind StatefulSet in apps/v1", Retry: &UnknownKindError{workload},
			},
		},
		"UnknownKindWhileWaiting": {
			reason: "An object of a kind that does not exist does not exist (OPEN-SUB-6).",
			in:     waiting(targetIs(Failed[Existing](&UnknownKindError{workload}))),
			want: Decision{
				Reason: TargetNotFound, Message: "target StatefulSet data/pg does not exist: the cluster has no kind StatefulSet in apps/v1", Root: root,
			},
		},
		"RootOfAFamilyWithRequirements": {
			reason: "Everybody is beneath a root; the message says that it will never be covered (BETTER-SUB-9).",
			in:     waiting(requires, covered, func(in *Input) { in.Self.Parent = nil; in.Self.UID = root; in.Self.Key = parent }),
			want: Decision{
				Reason: CompatibilityRequirementNotMet, Message: uncovered + "; a subscription without parent can never be covered", Root: root,
			},
		},
		"OwnParentWhileActive": {
			reason: "A parent that is oneself exists and has not ended.",
			in:     active(func(in *Input) { in.Self.Parent = &self }, parentIs(Gone[Parent]())),
			want:   Decision{Reason: CircularDependencyDetected, Message: "subscription team/disk names itself as its parent"},
		},
		"ClockSetBack": {
			reason: "Nothing ends before it began.",
			in:     active(targetIs(Gone[Existing]()), func(in *Input) { in.Now = activation.Add(-time.Hour) }),
			want:   Decision{Kind: Ended, Reason: TargetNotFound, Message: "target StatefulSet data/pg does not exist", DeactivatedAt: &activation},
		},
		"ClockBehindTheChargeRuns": {
			reason: "What was charged for good stays true: nothing ends in an hour that is final.",
			in:     active(targetIs(Gone[Existing]()), func(in *Input) { in.Self.ChargedTo = &charged }),
			want:   Decision{Kind: Ended, Reason: TargetNotFound, Message: "target StatefulSet data/pg does not exist", DeactivatedAt: &charged},
		},
		"ChargedBefore": {
			reason: "The hour in progress has begun, so the clock counts.",
			in:     active(targetIs(Gone[Existing]()), func(in *Input) { in.Self.ChargedTo = &activation }),
			want:   Decision{Kind: Ended, Reason: TargetNotFound, Message: "target StatefulSet data/pg does not exist", DeactivatedAt: &second},
		},
		"ChargedFarAhead": {
			reason: "No clock is days behind: what says so was forged, and would make the contract go on.",
			in:     active(targetIs(Gone[Existing]()), func(in *Input) { in.Self.ChargedTo = &farAhead }),
			want:   Decision{Kind: Ended, Reason: TargetNotFound, Message: "target StatefulSet data/pg does not exist", DeactivatedAt: &second},
		},
		"DeletedBehindTheChargeRuns": {
			reason: "A deletion is an end like any other.",
			in:     active(func(in *Input) { in.Self.Deleting = true; in.Self.ChargedTo = &charged }),
			want: Decision{
				Kind: WindingDown, Reason: MarkedForDeletion, Message: deletedMessage, Waiting: blocked, DeactivatedAt: &charged,
			},
		},
		"EndedEarlier": {
			reason: "What has ended is not tested any more.",
			in:     active(parentIs(Gone[Parent]()), func(in *Input) { in.Self.DeactivatedAt = &earlier }),
			want:   Decision{Kind: Resting},
		},
		"RecreatedParent": {
			reason: "A parent that is back by name is a parent again (OPEN-SUB-18).",
			in:     active(policyIs(Orphan), parentIs(Found(Parent{Ready: true}))),
			want:   Decision{Kind: Billed, Reason: ActivationSucceeded},
		},
		"OrphanWithUnreadyOffering": {
			reason: "An orphan in row 14 is held; that it is an orphan stays on Active (OPEN-SUB-17).",
			in:     active(policyIs(Orphan), parentIs(Gone[Parent]()), unready),
			want:   Decision{Reason: OfferingNotReady, Message: "offering catalogue/vm-disk is not ready"},
		},
		"RootlessButActive": {
			reason: "Active since before there were roots: no stamp, no coverage, billed on, retried (BETTER-SUB-4).",
			in: active(requires, func(in *Input) {
				in.Self.Root = ""
				in.Root = Failed[string](&family.BrokenChainError{Missing: parent})
			}),
			want: Decision{
				Kind: Billed, Reason: ActivationSucceeded,
				Rootless: &family.BrokenChainError{Missing: parent}, Retry: &family.BrokenChainError{Missing: parent},
			},
		},
		"LateStamp": {
			reason: "An active Subscription without a stamp takes it whenever the root is found.",
			in:     active(unready, func(in *Input) { in.Self.Root = "" }),
			want:   Decision{Reason: OfferingNotReady, Message: "offering catalogue/vm-disk is not ready", Root: root},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Decide(tc.in)
			if tc.want.Rootless != nil || tc.want.Retry != nil {
				sameText(t, tc.want.Retry, got.Retry)
				sameText(t, tc.want.Rootless, got.Rootless)
				tc.want.Rootless, tc.want.Retry, got.Rootless, got.Retry = nil, nil, nil, nil
			}
			if diff := compare(tc.want, got); diff != "" {
				t.Errorf("%s\nDecide(...): -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// sameText wants an error to end in the text of another: it may have been
// wrapped on the way.
func sameText(t *testing.T, want, got error) {
	t.Helper()
	if want == nil && got == nil {
		return
	}
	if want == nil || got == nil {
		t.Fatalf("error: want %v, got %v", want, got)
	}
	w, g := want.Error(), got.Error()
	if len(g) < len(w) || g[len(g)-len(w):] != w {
		t.Errorf("error: want one that ends in %q, got %q", w, g)
	}
}

// TestPolicy holds the effective policy of part 40.4. The parent of an active
// Subscription is gone, so Orphan goes on and Deactivate ends.
func TestPolicy(t *testing.T) {
	recordedOrphan := func(in *Input) {
		in.Recorded = Found(Recorded{OfferingUID: "uid-offering", SpecHash: "a", Terms: Terms{OnParentEnd: new(Orphan)}})
	}

	cases := map[string]struct {
		reason string
		with   []func(*Input)
		want   Kind
	}{
		"Nobody":                 {reason: "Without a word from anybody it ends.", want: Ended},
		"OfferingOrphan":         {reason: "The Offering's word counts if the Subscription has none.", with: []func(*Input){offers(Terms{OnParentEnd: new(Orphan)})}, want: Billed},
		"OwnOrphan":              {reason: "The Subscription's own word counts first.", with: []func(*Input){offers(Terms{OnParentEnd: new(Deactivate)}), policyIs(Orphan)}, want: Billed},
		"OwnDeactivate":          {reason: "Worked sequence C: a block that only names a target overrides the Offering's Orphan.", with: []func(*Input){offers(Terms{OnParentEnd: new(Orphan)}), policyIs(Deactivate)}, want: Ended},
		"OwnBlockWithoutWord":    {reason: "A block that does not say means Deactivate.", with: []func(*Input){offers(Terms{OnParentEnd: new(Orphan)}), policyIs("")}, want: Ended},
		"OfferingGoneRecorded":   {reason: "With the Offering gone the recorded policy counts.", with: []func(*Input){offeringIs(Gone[Offering]()), recordedOrphan}, want: Held},
		"OfferingGoneDeactivate": {reason: "With the Offering gone the recorded policy counts.", with: []func(*Input){offeringIs(Gone[Offering]()), func(in *Input) { in.Recorded = Found(Recorded{}) }}, want: Ended},
		"OfferingGoneOwnWord":    {reason: "The own word needs no Offering.", with: []func(*Input){offeringIs(Gone[Offering]()), policyIs(Deactivate)}, want: Ended},
		"NothingKnown":           {reason: "If nobody knows the policy nothing ends.", with: []func(*Input){offeringIs(Gone[Offering]())}, want: Held},
		"NothingRead":            {reason: "If nobody could read the policy nothing ends.", with: []func(*Input){offeringIs(Failed[Offering](errTimeout)), func(in *Input) { in.Recorded = Failed[Recorded](errTimeout) }}, want: Held},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := active(append(tc.with, parentIs(Gone[Parent]()))...)
			if diff := cmp.Diff(tc.want, Decide(in).Kind); diff != "" {
				t.Errorf("%s\nDecide(...).Kind: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestPolicyIsAskedAgain has the Offering gone and the database away: what is
// missing is what was recorded, and with that the Subscription may have to end.
func TestPolicyIsAskedAgain(t *testing.T) {
	in := active(offeringIs(Gone[Offering]()), parentIs(Gone[Parent]()), func(in *Input) { in.Recorded = Failed[Recorded](errTimeout) })
	want := Decision{Reason: OfferingNotFound, Message: "offering catalogue/vm-disk does not exist", Retry: errTimeout}
	if diff := compare(want, Decide(in)); diff != "" {
		t.Errorf("Decide(...): -want +got:\n%s", diff)
	}
}

// TestReplacedOffering holds BETTER-OFF-5.
func TestReplacedOffering(t *testing.T) {
	demanding := Terms{Requires: []ref.Key{needed}}
	sold := Recorded{OfferingUID: "uid-sold", SpecHash: "sold", Active: true}
	soldOrphan := Recorded{OfferingUID: "uid-sold", SpecHash: "sold", Active: true, Terms: Terms{OnParentEnd: new(Orphan)}}
	whileWaiting := Recorded{OfferingUID: "uid-sold", SpecHash: "sold", Terms: demanding}
	current := func(hash string, created time.Time, t Terms) func(*Input) {
		return offeringIs(Found(Offering{UID: "uid-other", SpecHash: hash, CreatedAt: created, Ready: true, Terms: t}))
	}
	recorded := func(r Read[Recorded]) func(*Input) { return func(in *Input) { in.Recorded = r } }
	before, after := activation.Add(-time.Hour), activation.Add(time.Hour)

	cases := map[string]struct {
		reason string
		in     Input
		want   Decision
	}{
		"RecordedWhileWaiting": {
			reason: "It took the new terms when it was activated, and nobody could record that: the old ones must not come back and end it.",
			in:     active(current("other", before, Terms{}), recorded(Found(whileWaiting))),
			want:   Decision{Kind: Billed, Reason: ActivationSucceeded, OfferingUID: "uid-other"},
		},
		"RecordedWhileWaitingAndOfferingYounger": {
			reason: "It was sold the recorded one, which requires something.",
			in:     active(current("other", after, Terms{}), recorded(Found(whileWaiting)), covered),
			want:   Decision{Kind: Billed, Reason: ActivationSucceeded, Message: "offering was replaced; recorded terms apply", Replaced: true},
		},
		"OtherTerms": {
			reason: "The recorded terms require nothing, so the new requirement ends nobody.",
			in:     active(current("other", after, demanding), recorded(Found(sold))),
			want:   Decision{Kind: Billed, Reason: ActivationSucceeded, Message: "offering was replaced; recorded terms apply", Replaced: true},
		},
		"RecordedPolicy": {
			reason: "The lifecycle policy is one of the terms.",
			in:     active(current("other", after, Terms{}), recorded(Found(soldOrphan)), parentIs(Gone[Parent]())),
			want:   Decision{Kind: Billed, Reason: Orphaned, Message: "offering was replaced; recorded terms apply", Replaced: true},
		},
		"NotReady": {
			reason: "Gate 1 judges the Offering as it is now.",
			in:     active(offeringIs(Found(Offering{UID: "uid-other", SpecHash: "other"})), recorded(Found(sold))),
			want:   Decision{Reason: OfferingNotReady, Message: "offering catalogue/vm-disk is not ready", Replaced: true},
		},
		"EqualTerms": {
			reason: "An Offering recreated with its own spec is the documented repair.",
			in:     active(current("sold", after, Terms{}), recorded(Found(sold))),
			want:   Decision{Kind: Billed, Reason: ActivationSucceeded},
		},
		"NeverActivated": {
			reason: "Whoever has not been activated takes the new terms.",
			in:     waiting(current("other", after, demanding), recorded(Found(sold)), covered),
			want:   Decision{Kind: Billed, Reason: ActivationSucceeded, ActivatedAt: &second, Root: root},
		},
		"NothingRecorded": {
			reason: "Without a record there are only the terms of now.",
			in:     active(current("other", after, Terms{}), recorded(Gone[Recorded]())),
			want:   Decision{Kind: Billed, Reason: ActivationSucceeded},
		},
		"RecordUnreadAndOfferingOlder": {
			reason: "An Offering older than the activation cannot be a replacement, so the database is not needed to end for it.",
			in:     active(current("other", before, demanding), recorded(Failed[Recorded](errTimeout))),
			want: Decision{
				Kind: Ended, Reason: CompatibilityRequirementNotMet, DeactivatedAt: &second,
				Message: "required offering catalogue/vm-standard not covered by an active subscription in the family",
			},
		},
		"RecordUnreadAndSaleUnknown": {
			reason: "Without knowing when it was sold nothing can be told from the age of the Offering.",
			in: active(current("other", before, demanding), recorded(Failed[Recorded](errTimeout)), func(in *Input) {
				in.Self.SoldAt = time.Time{}
			}),
			want: Decision{
				Reason: ValidationError, Retry: errTimeout,
				Message: "cannot tell what offering catalogue/vm-disk requires: the offering may have been replaced, " +
					"and the recorded terms could not be read: the server did not answer",
			},
		},
		"RecordUnreadAndOfferingYounger": {
			reason: "Whether the new requirement applies is not known, so it ends nobody.",
			in:     active(current("other", after, demanding), recorded(Failed[Recorded](errTimeout))),
			want: Decision{
				Reason: ValidationError, Retry: errTimeout,
				Message: "cannot tell what offering catalogue/vm-disk requires: the offering may have been replaced, " +
					"and the recorded terms could not be read: the server did not answer",
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

// TestRecordedOffering says which Offering is recorded: the one whose terms
// apply, and never one that was not compared with what is recorded.
func TestRecordedOffering(t *testing.T) {
	recorded := func(r Read[Recorded]) func(*Input) { return func(in *Input) { in.Recorded = r } }
	other := Recorded{OfferingUID: "uid-sold", SpecHash: "sold", Active: true}

	cases := map[string]struct {
		reason string
		in     Input
		want   string
	}{
		"Waiting":         {reason: "Who waits takes the Offering of now.", in: waiting(recorded(Found(other))), want: "uid-offering"},
		"Activated":       {reason: "What is sold is recorded from the start.", in: waiting(covered), want: "uid-offering"},
		"Active":          {reason: "It is the one that is recorded.", in: active(recorded(Found(Recorded{OfferingUID: "uid-offering"}))), want: "uid-offering"},
		"NothingRecorded": {reason: "What was not recorded yet is recorded late.", in: active(), want: "uid-offering"},
		"Replaced":        {reason: "The recorded one stands.", in: active(recorded(Found(other)))},
		"EqualTerms":      {reason: "One with equal terms is adopted.", in: active(recorded(Found(Recorded{OfferingUID: "uid-sold", SpecHash: "a"}))), want: "uid-offering"},
		"Unread":          {reason: "What was not read is not overwritten.", in: active(recorded(Failed[Recorded](errTimeout)))},
		"Missing":         {reason: "The recorded one stands.", in: active(offeringIs(Gone[Offering]()), recorded(Found(other)))},
		"OfferingUnread":  {reason: "The recorded one stands.", in: active(offeringIs(Failed[Offering](errTimeout)))},
		"Deleted":         {reason: "The recorded one stands.", in: active(deleted)},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Decide(tc.in).OfferingUID); diff != "" {
				t.Errorf("%s\nDecide(...).OfferingUID: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestFinal(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     Input
		want   bool
	}{
		"Activation": {reason: "activatedAt is never taken back.", in: waiting(), want: true},
		"Stamp":      {reason: "A root is never taken back.", in: waiting(requires), want: true},
		"End":        {reason: "deactivatedAt is never taken back.", in: active(targetIs(Gone[Existing]())), want: true},
		"Hold":       {reason: "A hold clears by itself.", in: waiting(unready)},
		"Billed":     {reason: "Nothing new is written.", in: active()},
		"Deletion":   {reason: "It is known from the object itself.", in: active(deleted)},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Decide(tc.in).Final()); diff != "" {
				t.Errorf("%s\nFinal(): -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestTargetString(t *testing.T) {
	got := fmt.Sprint(workload, " ", Target{APIVersion: "v1", Kind: "Namespace", Name: "blue"})
	if diff := cmp.Diff("StatefulSet data/pg Namespace blue", got); diff != "" {
		t.Errorf("A target without namespace has none in its text.\nString(): -want +got:\n%s", diff)
	}
}

package gate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

// TestChoices tests what departs from the documented behaviour, each with and
// without its choice being made.
func TestChoices(t *testing.T) {
	deactivate, orphan := Deactivate, Orphan
	forbids := func(in *Input) {
		in.Self.OnParentEnd = &deactivate
		in.Offering = Found(Offering{UID: "uid-offering", SpecHash: "a", Ready: true, Terms: Terms{OnParentEnd: &orphan, ForbidsOverride: true}})
	}
	circle := func(in *Input) {
		in.Parent = Found(Parent{})
		in.ParentLoop = []ref.Key{{Namespace: "a", Name: "x"}, {Namespace: "b", Name: "y"}, {Namespace: "a", Name: "x"}}
	}
	rule := func(r Rules) func(*Input) { return func(in *Input) { in.Rules = r } }
	soldTo := func(namespaces ...string) func(*Input) {
		return func(in *Input) {
			in.Offering = Found(Offering{UID: "uid-offering", SpecHash: "a", Ready: true, SoldTo: namespaces})
		}
	}
	unready := func(in *Input) {
		in.Self.TargetGate = TargetReady
		targetIs(Found(Existing{Unready: true}))(in)
	}

	type want struct {
		Kind   Kind
		Reason Reason
	}
	cases := map[string]struct {
		reason string
		in     Input
		want   want
	}{
		"OverrideAllowed": {
			reason: "Without the rule a block of one's own decides, whatever the Offering forbids.",
			in:     active(forbids, parentIs(Gone[Parent]())),
			want:   want{Ended, ParentDeactivated},
		},
		"OverrideForbidden": {
			reason: "With the rule the Offering's policy stands (BETTER-SUB-1).",
			in:     active(forbids, parentIs(Gone[Parent]()), rule(Rules{EnforceAllowOverride: true})),
			want:   want{Billed, Orphaned},
		},
		"Circle":         {reason: "A loop is told in the message only.", in: waiting(circle), want: want{Held, ParentSubscriptionNotReady}},
		"CircleDetected": {reason: "With the rule it has a reason of its own (BETTER-SUB-3).", in: waiting(circle, rule(Rules{DetectParentCycles: true})), want: want{Held, CircularDependencyDetected}},
		"SoldElsewhere":  {reason: "An Offering that lists namespaces is not sold to others (BETTER-SEC-3).", in: waiting(soldTo("other")), want: want{Held, OfferingNotReady}},
		"SoldHere":       {reason: "It is sold to those it lists.", in: waiting(soldTo("other", "team")), want: want{Billed, ActivationSucceeded}},
		"SoldBefore":     {reason: "What was sold goes on.", in: active(soldTo("other")), want: want{Billed, ActivationSucceeded}},
		"Unready":        {reason: "Who asks for a ready target waits for it (BETTER-SUB-10).", in: waiting(unready), want: want{Held, TargetNotFound}},
		"UnreadyLater":   {reason: "It is asked before the activation only.", in: active(unready), want: want{Billed, ActivationSucceeded}},
		"KindPermitted": {
			reason: "A kind on the list is read as ever (BETTER-SUB-8).",
			in:     waiting(targetIs(Found(Existing{})), rule(Rules{TargetKinds: []string{"apps/v1/StatefulSet"}})),
			want:   want{Billed, ActivationSucceeded},
		},
		"KindForbidden": {
			reason: "Any other is held, and that it does not exist is not told.",
			in:     waiting(targetIs(Gone[Existing]()), rule(Rules{TargetKinds: []string{"v1/ConfigMap"}})),
			want:   want{Held, ValidationError},
		},
		"KindForbiddenLater": {
			reason: "Nor does it end anybody: nobody looks at it.",
			in:     active(targetIs(Gone[Existing]()), rule(Rules{TargetKinds: []string{"v1/ConfigMap"}})),
			want:   want{Held, ValidationError},
		},
		"NamespaceForbidden": {
			reason: "Nobody learns what another namespace holds.",
			in:     waiting(targetIs(Gone[Existing]()), rule(Rules{TargetSameNamespaceOnly: true})),
			want:   want{Held, ValidationError},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := Decide(tc.in)
			if diff := cmp.Diff(tc.want, want{d.Kind, d.Reason}); diff != "" {
				t.Errorf("%s\nDecide(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

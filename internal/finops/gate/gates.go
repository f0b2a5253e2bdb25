package gate

import (
	"errors"
	"fmt"
	"slices"

	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

// offeringReady is gate 1.
func offeringReady(in Input) (Verdict, error) {
	offering, err := in.Offering.Get()
	switch {
	case err != nil:
		return Verdict{}, err
	case offering == nil:
		return Verdict{OfferingNotFound, fmt.Sprintf("offering %s does not exist", in.Self.Offering)}, nil
	case !offering.Ready:
		return Verdict{OfferingNotReady, fmt.Sprintf("offering %s is not ready", in.Self.Offering)}, nil
	case !in.Self.Active() && offering.SoldTo != nil && !slices.Contains(offering.SoldTo, in.Self.Key.Namespace):
		return Verdict{OfferingNotReady, fmt.Sprintf("offering %s is not sold to namespace %s", in.Self.Offering, in.Self.Key.Namespace)}, nil
	}
	return Verdict{}, nil
}

// parentReady is gate 2. An active Subscription passes it without a parent if
// its policy lets it go on as an orphan.
func parentReady(in Input) (Verdict, error) {
	if in.Self.Parent == nil {
		return Verdict{}, nil
	}
	if v := SelfParent(in.Self.Key, in.Self.Parent); !v.Passes() {
		return v, nil
	}
	lost, err := parentLost(in)
	if err != nil {
		return Verdict{}, err
	}
	if !lost.Passes() {
		if orphaned, err := orphaned(in); err != nil || orphaned {
			return Verdict{}, err
		}
		return lost, nil
	}
	if parent, _ := in.Parent.Get(); !parent.Ready {
		if len(in.ParentLoop) > 0 && in.Rules.DetectParentCycles {
			return Verdict{CircularDependencyDetected, "parent cycle: " + ref.Path(in.ParentLoop)}, nil
		}
		message := fmt.Sprintf("parent subscription %s is not ready", in.Self.Parent)
		if len(in.ParentLoop) > 0 {
			message += "; parent cycle: " + ref.Path(in.ParentLoop)
		}
		return Verdict{ParentSubscriptionNotReady, message}, nil
	}
	return Verdict{}, nil
}

// parentLost objects to a parent that is missing or has ended. Neither is ever
// taken back.
func parentLost(in Input) (Verdict, error) {
	parent, err := in.Parent.Get()
	switch {
	case err != nil:
		return Verdict{}, err
	case parent == nil:
		return Verdict{ParentSubscriptionNotFound, fmt.Sprintf("parent subscription %s does not exist", in.Self.Parent)}, nil
	case parent.Deactivated:
		return Verdict{ParentSubscriptionDeactivated, fmt.Sprintf("parent subscription %s has been deactivated, which never clears", in.Self.Parent)}, nil
	}
	return Verdict{}, nil
}

// parentEnded ends an active Subscription together with its parent.
func parentEnded(in Input) (Verdict, error) {
	if in.Self.Parent == nil || *in.Self.Parent == in.Self.Key {
		return Verdict{}, nil
	}
	lost, err := parentLost(in)
	if err != nil || lost.Passes() {
		return Verdict{}, err
	}
	if orphaned, err := orphaned(in); err != nil || orphaned {
		return Verdict{}, err
	}
	return Verdict{ParentDeactivated, fmt.Sprintf("parent subscription %s has ended", in.Self.Parent)}, nil
}

// orphaned tells whether an active Subscription has lost its parent and goes on
// without. The policy is asked only then.
func orphaned(in Input) (bool, error) {
	if !in.Self.Active() || in.Self.Parent == nil {
		return false, nil
	}
	lost, err := parentLost(in)
	if err != nil || lost.Passes() {
		return false, err
	}
	policy, err := in.policy()
	return policy == Orphan, err
}

// rooted is not a gate of its own: it keeps a Subscription without a root from
// being activated. One that has been active since before there were roots goes
// on without one, and without coverage (BETTER-SUB-4).
func rooted(in Input) (Verdict, error) {
	if _, err := in.root(); err != nil && !in.Self.Active() {
		return Verdict{}, err
	}
	return Verdict{}, nil
}

// root is the uid of the root, stamped earlier or found now.
func (in Input) root() (string, error) {
	if in.Self.Root != "" {
		return in.Self.Root, nil
	}
	root, err := in.Root.Get()
	if err == nil && root == nil {
		err = errors.New("there is no root")
	}
	if err != nil {
		return "", fmt.Errorf("cannot find the root of subscription %s: %w", in.Self.Key, err)
	}
	return *root, nil
}

// requirementsCovered is gate 3.
func requirementsCovered(in Input) (Verdict, error) {
	terms, err := in.terms()
	if err != nil {
		return Verdict{}, fmt.Errorf("cannot tell what offering %s requires: %w", in.Self.Offering, err)
	}
	if len(terms.Requires) == 0 {
		return Verdict{}, nil
	}
	if _, err := in.root(); err != nil {
		return Verdict{}, nil //nolint:nilerr // It never joined a family (rooted), so nothing is searched.
	}
	kin, err := in.Family.Get()
	if err == nil && kin == nil {
		err = errors.New("there is no family")
	}
	if err != nil {
		return Verdict{}, fmt.Errorf("cannot list the family of subscription %s: %w", in.Self.Key, err)
	}

	offering, uncovered := kin.Uncovered(in.Self.Member(), terms.Requires)
	if !uncovered {
		return Verdict{}, nil
	}
	message := fmt.Sprintf("required offering %s not covered by an active subscription in the family", offering)
	if in.Self.Parent == nil {
		message += "; a subscription without parent can never be covered" // BETTER-SUB-9.
	}
	return Verdict{CompatibilityRequirementNotMet, message}, nil
}

// targetExists is gate 4. To exist is enough, unless the Subscription asks for
// more before it is activated.
func targetExists(in Input) (Verdict, error) {
	if v := TargetPermitted(in); !v.Passes() {
		return v, nil
	}
	if v, err := targetGone(in); err != nil || !v.Passes() {
		return v, err
	}
	if target, err := in.Target.Get(); err == nil && target != nil && target.Unready && !in.Self.Active() {
		return Verdict{TargetNotFound, fmt.Sprintf("target %s exists and is not ready", in.Self.Target)}, nil
	}
	return Verdict{}, nil
}

// TargetPermitted objects to a target that must not be named. Nobody reads such
// a target: to be told whether it exists is more than its author may know.
func TargetPermitted(in Input) Verdict {
	t := in.Self.Target
	if t == nil {
		return Verdict{}
	}
	if v := SelfTarget(in.Self.Key, t); !v.Passes() {
		return v
	}
	if in.Rules.TargetSameNamespaceOnly && t.Namespace != in.Self.Key.Namespace {
		return Verdict{ValidationError, fmt.Sprintf("target %s is not in the namespace of the subscription, and no other is permitted", t)}
	}
	if kinds := in.Rules.TargetKinds; len(kinds) > 0 && !slices.Contains(kinds, t.APIVersion+"/"+t.Kind) {
		return Verdict{ValidationError, fmt.Sprintf("targets of kind %s/%s are not permitted", t.APIVersion, t.Kind)}
	}
	return Verdict{}
}

// targetGone objects to a target that is proved not to exist. A Subscription
// that names itself is no such thing, and never ends for it (OPEN-SUB-1).
func targetGone(in Input) (Verdict, error) {
	if in.Self.Target == nil || !TargetPermitted(in).Passes() {
		return Verdict{}, nil
	}
	target, err := in.Target.Get()

	// An object of a kind that does not exist does not exist. But a kind that
	// seems to be gone may be a discovery that failed, and that ends nothing
	// (OPEN-SUB-6).
	var unknown *UnknownKindError
	if errors.As(err, &unknown) && !in.Self.Active() {
		return Verdict{TargetNotFound, fmt.Sprintf("target %s does not exist: %s", in.Self.Target, unknown)}, nil
	}
	if err != nil {
		return Verdict{}, err
	}
	if target == nil {
		return Verdict{TargetNotFound, fmt.Sprintf("target %s does not exist", in.Self.Target)}, nil
	}
	return Verdict{}, nil
}

package gate

import (
	"fmt"

	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

// What a Subscription is called when it is somebody's target.
const (
	subscriptionAPIVersion = "finops.stakater.com/v1alpha1"
	subscriptionKind       = "Subscription"
)

// SelfParent objects to a Subscription that names itself as its parent. It is
// asked at admission and again by the parent gate.
func SelfParent(self ref.Key, parent *ref.Key) Verdict {
	if parent == nil || *parent != self {
		return Verdict{}
	}
	return Verdict{CircularDependencyDetected, fmt.Sprintf("subscription %s names itself as its parent", self)}
}

// SelfTarget objects to a Subscription that names itself as its target. It is
// asked at admission and again by the target gate.
func SelfTarget(self ref.Key, target *Target) Verdict {
	own := Target{APIVersion: subscriptionAPIVersion, Kind: subscriptionKind, Namespace: self.Namespace, Name: self.Name}
	if target == nil || *target != own {
		return Verdict{}
	}
	return Verdict{TargetIsSelfReference, fmt.Sprintf("subscription %s names itself as its target", self)}
}

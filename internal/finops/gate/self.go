package gate

import (
	"fmt"
	"strings"

	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

// What a Subscription is called when it is somebody's target.
const (
	subscriptionGroup = "finops.stakater.com"
	subscriptionKind  = "Subscription"
)

// SelfParent objects to a Subscription that names itself as its parent. It is
// asked at admission and again by the parent gate.
func SelfParent(self ref.Key, parent *ref.Key) Verdict {
	if parent == nil || *parent != self {
		return Verdict{}
	}
	return Verdict{CircularDependencyDetected, fmt.Sprintf("subscription %s names itself as its parent", self)}
}

// SelfTarget objects to a Subscription that names itself as its target, in
// whatever version of the API: versions are spellings of one object. It is
// asked at admission and again by the target gate.
func SelfTarget(self ref.Key, target *Target) Verdict {
	if target == nil {
		return Verdict{}
	}
	group, _, versioned := strings.Cut(target.APIVersion, "/")
	if !versioned || group != subscriptionGroup || target.Kind != subscriptionKind || target.Namespace != self.Namespace || target.Name != self.Name {
		return Verdict{}
	}
	return Verdict{TargetIsSelfReference, fmt.Sprintf("subscription %s names itself as its target", self)}
}

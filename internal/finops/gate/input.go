package gate

import (
	"fmt"
	"time"

	"github.com/provider-finops/provider-finops/internal/finops/family"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

// Input is everything that is decided from.
type Input struct {
	// Now is business time. It is used in whole seconds, as it is stored
	// (OPEN-SUB-2).
	Now time.Time

	Self Subscription

	// Rules are those that are chosen.
	Rules Rules

	Offering Read[Offering]

	// Recorded are the terms that were recorded for the Subscription, gone if
	// there are none (BETTER-OFF-5).
	Recorded Read[Recorded]

	// Parent counts only if Self names one.
	Parent Read[Parent]

	// ParentLoop is the loop that the parents run into, if one was found. It
	// only completes a message (BETTER-SUB-3).
	ParentLoop []ref.Key

	// Root is the uid of the root ancestor. It counts only while Self carries no
	// stamp, and fails if there is no root to be found.
	Root Read[string]

	// Family counts only if there are requirements. It is the family under the
	// root.
	Family Read[family.Family]

	// Target counts only if Self names one.
	Target Read[Existing]

	// NoCollector says that it is proved that nothing releases deleted
	// Subscriptions in this cluster (BETTER-SUB-11).
	NoCollector bool

	// Unserved is what follows from that, nil if nothing does.
	Unserved *Unserved
}

// Rules choose what differs from the documented behaviour. The zero Rules are
// that.
type Rules struct {
	// EnforceAllowOverride makes the policy of an Offering stand that forbids to
	// override it, whatever the Subscription says (BETTER-SUB-1).
	EnforceAllowOverride bool

	// DetectParentCycles gives a loop of parents a reason of its own
	// (BETTER-SUB-3).
	DetectParentCycles bool

	// TargetKinds are those that may be targets, as apiVersion/Kind; none means
	// all. TargetSameNamespaceOnly forbids all targets but those beside the
	// Subscription (BETTER-SUB-8).
	TargetKinds             []string
	TargetSameNamespaceOnly bool
}

// Existing is a target that is there. To exist is enough, unless the
// Subscription asks for more.
type Existing struct {
	// Unready says that it is not ready, if somebody asked.
	Unready bool
}

// A TargetGate says what a target has to be before the Subscription is
// activated.
type TargetGate string

// TargetReady asks for more than existence (BETTER-SUB-10).
const TargetReady TargetGate = "ready"

// A Subscription is the one that is decided about.
type Subscription struct {
	UID string
	Key ref.Key

	// Offering is what it is bound to.
	Offering ref.Key

	// Parent is nil if it names none.
	Parent *ref.Key

	// OnParentEnd is its own policy, nil if it has no lifecycle block. In a block
	// that does not say, the policy is Deactivate.
	OnParentEnd *Policy

	// Target is nil if it names none.
	Target *Target

	// TargetGate is what it asks of its target.
	TargetGate TargetGate

	// Deleting says that it has been deleted.
	Deleting bool

	// What has been decided earlier; none of it is ever undone.
	ActivatedAt   *time.Time
	DeactivatedAt *time.Time
	Root          string

	// ChargedTo is the hour in progress of the last charge run, nil if there was
	// none: what lies before it may be final.
	ChargedTo *time.Time

	// SoldAt is when it became active by the clock that also stamps the creation
	// of objects, which business time need not follow. Zero if unknown.
	SoldAt time.Time
}

// Active tells whether the Subscription is being billed. Readiness plays no
// part.
func (s Subscription) Active() bool { return s.ActivatedAt != nil && s.DeactivatedAt == nil }

// Member is the Subscription as its family sees it.
func (s Subscription) Member() family.Member {
	m := family.Member{UID: s.UID, Key: s.Key, Root: s.Root, Offering: s.Offering, Active: s.Active()}
	if s.Parent != nil {
		m.Parent = *s.Parent
	}
	return m
}

// Terms are what an Offering says about the life of its Subscriptions.
type Terms struct {
	Requires []ref.Key

	// OnParentEnd is nil if the Offering does not say.
	OnParentEnd *Policy

	// ForbidsOverride says that the policy is not to be overridden. It counts
	// only by the rule that enforces it.
	ForbidsOverride bool
}

// An Offering as it is now.
type Offering struct {
	UID       string
	CreatedAt time.Time
	Ready     bool

	// SoldTo are the namespaces it is sold to, nil if to all (BETTER-SEC-3).
	SoldTo []string

	// Metered says that usage is billed.
	Metered bool

	// SpecHash tells specs apart.
	SpecHash string

	Terms Terms
}

// Recorded are the terms of the Offering that the Subscription was last
// recorded with.
type Recorded struct {
	OfferingUID string
	SpecHash    string
	Terms       Terms

	// Active says that it was recorded so: before, it may have been sold another.
	Active bool
}

// A Parent is the Subscription named as parent.
type Parent struct {
	Ready       bool
	Deactivated bool
}

// A Target is what a Subscription pays for. Namespace is empty for kinds
// without one, and only for those.
type Target struct {
	APIVersion string
	Kind       string
	Namespace  string
	Name       string
}

// String returns the kind and name of the target.
func (t Target) String() string {
	if t.Namespace == "" {
		return t.Kind + " " + t.Name
	}
	return fmt.Sprintf("%s %s/%s", t.Kind, t.Namespace, t.Name)
}

// An UnknownKindError is what reading a target fails with if the API server,
// asked anew, knows no such kind. The caller makes it.
type UnknownKindError struct{ Target Target }

func (e *UnknownKindError) Error() string {
	return fmt.Sprintf("the cluster has no kind %s in %s", e.Target.Kind, e.Target.APIVersion)
}

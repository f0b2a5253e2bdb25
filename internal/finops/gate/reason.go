package gate

// A Reason is the word for why a Subscription is where it is.
type Reason string

// What a gate objects, in the order of the gates.
const (
	OfferingNotFound               Reason = "OfferingNotFound"
	OfferingNotReady               Reason = "OfferingNotReady"
	ParentSubscriptionNotFound     Reason = "ParentSubscriptionNotFound"
	ParentSubscriptionNotReady     Reason = "ParentSubscriptionNotReady"
	ParentSubscriptionDeactivated  Reason = "ParentSubscriptionDeactivated"
	CircularDependencyDetected     Reason = "CircularDependencyDetected"
	CompatibilityRequirementNotMet Reason = "CompatibilityRequirementNotMet" // Ends an active one, too.
	TargetNotFound                 Reason = "TargetNotFound"                 // Ends an active one, too.
	TargetIsSelfReference          Reason = "TargetIsSelfReference"

	// ValidationError is the objection of a gate that could not look.
	ValidationError Reason = "ValidationError"
)

// Why a Subscription is billed.
const (
	ActivationSucceeded Reason = "ActivationSucceeded"
	Orphaned            Reason = "Orphaned"
)

// Why a Subscription has ended, beside lost coverage and a deleted target.
const (
	ParentDeactivated Reason = "ParentDeactivated"
	MarkedForDeletion Reason = "MarkedForDeletion"
)

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The types of condition. Not every kind carries all of them.
const (
	// TypeReady says whether an object can be used, or may be billed.
	TypeReady = "Ready"

	// TypeSynced is crossplane-runtime's: whether the last attempt to make the
	// world look as the object wants succeeded. It names its own reasons.
	TypeSynced = "Synced"

	// TypeActive says on a Subscription whether it is billed (absent: not yet),
	// on a PriceBook whether it is the one in force.
	TypeActive = "Active"

	// TypePricingResolved says whether an Offering's prices are published.
	TypePricingResolved = "PricingResolved"

	// TypeDeleting tells about a deleted object: False, it is held; True, it may
	// go. On a Subscription it is never True.
	TypeDeleting = "Deleting"

	// TypeCostsResolved says where the costs of a Subscription come from.
	TypeCostsResolved = "CostsResolved"

	// TypeChargesParked says whether an implausible charge of a Subscription is
	// held back. Somebody has to look at it.
	TypeChargesParked = "ChargesParked"
)

// Reasons of several kinds.
const (
	// ReasonValidationSucceeded on Ready=True: the object is in order. On
	// Ready=False it stands on every Subscription that has ended, and the message
	// names the cause.
	ReasonValidationSucceeded = "ValidationSucceeded"

	// ReasonValidationError surfaces when something needed for a decision could
	// not be read. Nothing is decided, and it is tried again.
	ReasonValidationError = "ValidationError"

	// ReasonPricebookParseFailed surfaces on a PriceBook with a rate that is not
	// a number of micros, and on Offerings that need that book, or a rate that is
	// not set in it. Correct the rate.
	ReasonPricebookParseFailed = "PricebookParseFailed"

	// ReasonCircularDependencyDetected surfaces on an Offering that requires
	// itself, however indirectly, and on a Subscription that is its own parent.
	// Neither can be repaired; create another one.
	ReasonCircularDependencyDetected = "CircularDependencyDetected"
)

// Reasons of a FinOpsProvider, on Ready.
const (
	// ReasonSynced: OpenCost is configured as the provider option wants.
	ReasonSynced = "Synced"

	// ReasonNoValidProviderOption surfaces when the block that is set has no
	// effect: a cloud block needs a cloudIntegrationSecret.
	ReasonNoValidProviderOption = "NoValidProviderOption"

	// ReasonOpenCostResourceNotFound surfaces when the OpenCost resource to
	// configure, or its whole kind, is missing, or cannot be told from others.
	ReasonOpenCostResourceNotFound = "OpenCostResourceNotFound"

	// ReasonSyncFailed surfaces when OpenCost could not be configured; the
	// message says why, and it is tried again.
	ReasonSyncFailed = "SyncFailed"
)

// Reasons of a CostJob, on Ready.
const (
	// ReasonScheduled: the CronJob and its Secret stand as the spec wants them.
	ReasonScheduled = "Scheduled"

	// ReasonNotScheduled surfaces when they do not, and the message says why.
	ReasonNotScheduled = "NotScheduled"
)

// Reasons of a PriceBook, on Active.
const (
	// ReasonActivated: this book is in force.
	ReasonActivated = "Activated"

	// ReasonDemoted: another book is.
	ReasonDemoted = "Demoted"
)

// Reasons of an Offering.
const (
	// ReasonPricingResolved: the prices are published.
	ReasonPricingResolved = "PricingResolved"

	// ReasonNoActivePricebook surfaces when a metered Offering finds no active
	// price book, or one that is not in currency mode. It clears when there is
	// one.
	ReasonNoActivePricebook = "NoActivePricebook"

	// ReasonRequiredOfferingNotFound surfaces when a required Offering does not
	// exist. It clears when it is created.
	ReasonRequiredOfferingNotFound = "RequiredOfferingNotFound"

	// ReasonRequiredOfferingNotReady surfaces when a required Offering is not
	// ready. It clears with it.
	ReasonRequiredOfferingNotReady = "RequiredOfferingNotReady"

	// ReasonDependentSubscriptionsExist surfaces on a deleted Offering that
	// Subscriptions are bound to. Delete those first.
	ReasonDependentSubscriptionsExist = "DependentSubscriptionsExist"

	// ReasonDependentOfferingsExist surfaces on a deleted Offering that others
	// require. Delete those first.
	ReasonDependentOfferingsExist = "DependentOfferingsExist"

	// ReasonDeletionAllowed: nothing depends on the deleted Offering any more.
	ReasonDeletionAllowed = "DeletionAllowed"
)

// Reasons of a Subscription.
const (
	// ReasonActivationSucceeded: every gate passes; billing is open.
	ReasonActivationSucceeded = "ActivationSucceeded"

	// ReasonOrphaned: every gate passes, but the parent has ended and the policy
	// lets the Subscription go on without one.
	ReasonOrphaned = "Orphaned"

	// ReasonOfferingNotFound surfaces while the Offering does not exist.
	ReasonOfferingNotFound = "OfferingNotFound"

	// ReasonOfferingNotReady surfaces while the Offering is not ready; look there.
	ReasonOfferingNotReady = "OfferingNotReady"

	// ReasonParentSubscriptionNotFound surfaces while the parent does not exist.
	ReasonParentSubscriptionNotFound = "ParentSubscriptionNotFound"

	// ReasonParentSubscriptionNotReady surfaces while the parent is not ready;
	// look there.
	ReasonParentSubscriptionNotReady = "ParentSubscriptionNotReady"

	// ReasonParentSubscriptionDeactivated surfaces on a Subscription whose parent
	// had ended before it could activate. It never clears.
	ReasonParentSubscriptionDeactivated = "ParentSubscriptionDeactivated"

	// ReasonCompatibilityRequirementNotMet surfaces when an Offering that is
	// required is bound by no other active member of the family. On Ready it
	// clears when one activates; on Active it is final.
	ReasonCompatibilityRequirementNotMet = "CompatibilityRequirementNotMet"

	// ReasonTargetNotFound surfaces when the target does not exist. On Ready it
	// clears when the target appears; on Active it is final.
	ReasonTargetNotFound = "TargetNotFound"

	// ReasonTargetIsSelfReference surfaces when a Subscription is its own target.
	// Name another one, or none.
	ReasonTargetIsSelfReference = "TargetIsSelfReference"

	// ReasonParentDeactivated on Active: the parent ended, and this Subscription
	// with it.
	ReasonParentDeactivated = "ParentDeactivated"

	// ReasonEndRecorded on Active: the Subscription ended, as the database knows,
	// and its object was restored from a copy of before.
	ReasonEndRecorded = "EndRecorded"

	// ReasonMarkedForDeletion on Active: somebody deleted the Subscription.
	ReasonMarkedForDeletion = "MarkedForDeletion"

	// ReasonWaitingForCollectionJob on Deleting: the charge collector has yet to
	// settle the last hours. A CostJob of type SubscriptionChargeCollection has
	// to exist.
	ReasonWaitingForCollectionJob = "WaitingForCollectionJob"

	// ReasonFromDB on CostsResolved: the costs are what was charged.
	ReasonFromDB = "FromDB"

	// ReasonFromCalculator on CostsResolved: the charges could not be read, so
	// the costs are the fee alone, as it falls due.
	ReasonFromCalculator = "FromCalculator"

	// ReasonImplausibleCharge on ChargesParked: a charge breaks a bound and is
	// held back; the message names it.
	ReasonImplausibleCharge = "ImplausibleCharge"

	// ReasonChargesPlausible on ChargesParked=False: what was held back has been
	// settled.
	ReasonChargesPlausible = "ChargesPlausible"
)

// Ready says that an object can be used, or that nothing stands against its
// being billed.
func Ready(reason, message string) metav1.Condition {
	return metav1.Condition{Type: TypeReady, Status: metav1.ConditionTrue, Reason: reason, Message: message}
}

// NotReady says what stands in the way.
func NotReady(reason, message string) metav1.Condition {
	return metav1.Condition{Type: TypeReady, Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

// Active says that a Subscription is billed.
func Active(reason, message string) metav1.Condition {
	return metav1.Condition{Type: TypeActive, Status: metav1.ConditionTrue, Reason: reason, Message: message}
}

// Inactive says why a Subscription is billed no longer.
func Inactive(reason, message string) metav1.Condition {
	return metav1.Condition{Type: TypeActive, Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

// Activated says that a PriceBook is the one in force.
func Activated(message string) metav1.Condition {
	return metav1.Condition{Type: TypeActive, Status: metav1.ConditionTrue, Reason: ReasonActivated, Message: message}
}

// Demoted says that another PriceBook is the one in force.
func Demoted(message string) metav1.Condition {
	return metav1.Condition{Type: TypeActive, Status: metav1.ConditionFalse, Reason: ReasonDemoted, Message: message}
}

// PricingResolved says that the prices of an Offering are published.
func PricingResolved(message string) metav1.Condition {
	return metav1.Condition{Type: TypePricingResolved, Status: metav1.ConditionTrue, Reason: ReasonPricingResolved, Message: message}
}

// PricingUnresolved says why they are not. An Offering's Ready carries the same
// reason.
func PricingUnresolved(reason, message string) metav1.Condition {
	return metav1.Condition{Type: TypePricingResolved, Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

// DeletionHeld says what keeps a deleted object.
func DeletionHeld(reason, message string) metav1.Condition {
	return metav1.Condition{Type: TypeDeleting, Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

// DeletionAllowed says that nothing keeps a deleted Offering.
func DeletionAllowed(message string) metav1.Condition {
	return metav1.Condition{Type: TypeDeleting, Status: metav1.ConditionTrue, Reason: ReasonDeletionAllowed, Message: message}
}

// CostsResolved says where the costs of a Subscription come from.
func CostsResolved(reason, message string) metav1.Condition {
	return metav1.Condition{Type: TypeCostsResolved, Status: metav1.ConditionTrue, Reason: reason, Message: message}
}

// ChargesParked says which charge of a Subscription is held back.
func ChargesParked(message string) metav1.Condition {
	return metav1.Condition{Type: TypeChargesParked, Status: metav1.ConditionTrue, Reason: ReasonImplausibleCharge, Message: message}
}

// ChargesPlausible says that none is held back any more.
func ChargesPlausible(message string) metav1.Condition {
	return metav1.Condition{Type: TypeChargesParked, Status: metav1.ConditionFalse, Reason: ReasonChargesPlausible, Message: message}
}

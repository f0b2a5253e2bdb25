package offering

import (
	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// The events of an Offering (part 80.2).
const (
	reasonPricingResolved  event.Reason = "PricingResolved"
	reasonValidationFailed event.Reason = "ValidationFailed"
	reasonDeletionBlocked  event.Reason = "DeletionBlockedByDependents"
)

func pricingResolved(message string) event.Event { return event.Normal(reasonPricingResolved, message) }

func validationFailed(message string) event.Event {
	return event.Warning(reasonValidationFailed, errors.New(message))
}

func deletionBlocked(message string) event.Event {
	return event.Warning(reasonDeletionBlocked, errors.New(message))
}

// announce says what has just become different, once it is stored.
func (e *external) announce(before, after *v1alpha1.Offering) {
	if before.Status.ResolvedPricing == nil && after.Status.ResolvedPricing != nil {
		e.record.Event(after, pricingResolved(messageOf(after, v1alpha1.TypePricingResolved)))
	}
	if c := newly(before, after, v1alpha1.TypeReady); c != nil {
		e.record.Event(after, validationFailed(c.Message))
	}
	if c := newly(before, after, v1alpha1.TypeDeleting); c != nil {
		e.record.Event(after, deletionBlocked(c.Message))
	}
}

// newly returns a condition that is False, and was not for the same reason
// before.
func newly(before, after *v1alpha1.Offering, condition string) *metav1.Condition {
	is := meta.FindStatusCondition(after.Status.Conditions, condition)
	if is == nil || is.Status != metav1.ConditionFalse {
		return nil
	}
	was := meta.FindStatusCondition(before.Status.Conditions, condition)
	if was != nil && was.Status == is.Status && was.Reason == is.Reason {
		return nil
	}
	return is
}

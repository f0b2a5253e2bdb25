package objects

import "github.com/provider-finops/provider-finops/apis/finops/v1alpha1"

// CollectsCharges tells whether a CostJob charges Subscriptions and lets deleted ones
// go. One that is being deleted is not counted on any more.
func CollectsCharges(j *v1alpha1.CostJob) bool {
	return j.Spec.Type == v1alpha1.CostJobTypeSubscriptionChargeCollection && j.DeletionTimestamp == nil
}

package objects

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// SoldAt is when a Subscription that is active became so, by the clock that also
// stamps the creation of objects: business time need not follow that one. It is
// zero for all others.
func SoldAt(s *v1alpha1.Subscription) time.Time {
	c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.TypeActive)
	if c == nil || c.Status != metav1.ConditionTrue {
		return time.Time{}
	}
	return c.LastTransitionTime.Time
}

// ChargedTo is the hour in progress of the last charge run, nil if there was none.
func ChargedTo(s *v1alpha1.Subscription) *time.Time {
	for i := range s.Status.Costs {
		if b := &s.Status.Costs[i]; b.Granularity == v1alpha1.CostGranularityHour {
			return &b.Start.Time
		}
	}
	return nil
}

package objects

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// TestCollectsCharges says who is there for deleted Subscriptions: while somebody
// is, nobody else settles them.
func TestCollectsCharges(t *testing.T) {
	cases := map[string]struct {
		reason  string
		kind    v1alpha1.CostJobType
		leaving bool
		want    bool
	}{
		"Charges":     {reason: "It lets them go.", kind: v1alpha1.CostJobTypeSubscriptionChargeCollection, want: true},
		"Leaving":     {reason: "It runs no more.", kind: v1alpha1.CostJobTypeSubscriptionChargeCollection, leaving: true},
		"Allocations": {reason: "It only measures.", kind: v1alpha1.CostJobTypeResourceCostCollection},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			j := &v1alpha1.CostJob{Spec: v1alpha1.CostJobSpec{Type: tc.kind}}
			if tc.leaving {
				j.DeletionTimestamp = &metav1.Time{}
			}
			if diff := cmp.Diff(tc.want, CollectsCharges(j)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

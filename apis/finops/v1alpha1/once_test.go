package v1alpha1_test

import (
	"context"
	"maps"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// TestWrittenOnce holds the invariants 1 to 3 of part 40.1 against every hand,
// kubectl edit --subresource=status included.
func TestWrittenOnce(t *testing.T) {
	c := apitest.Client(t)
	const early, late = "2026-04-01T09:00:00Z", "2026-04-01T10:00:00Z"
	stamped := map[string]any{"activatedAt": early, "deactivatedAt": late, "compatibilityRoot": "a"}
	but := func(field string, value any) map[string]any {
		status := maps.Clone(stamped)
		if status[field] = value; value == nil {
			delete(status, field)
		}
		return status
	}

	cases := map[string]struct {
		reason string
		before map[string]any
		after  map[string]any
		want   string
	}{
		"Stamped":           {reason: "Each is written a first time.", after: stamped},
		"OneAfterTheOther":  {reason: "What is set later leaves the rest alone.", before: map[string]any{"activatedAt": early}, after: stamped},
		"CostsBeside":       {reason: "The rest of the status goes on changing.", before: stamped, after: but("ready", "False")},
		"ActivationMoved":   {reason: "It is what all charges are computed from.", before: stamped, after: but("activatedAt", late), want: "status.activatedAt is written once"},
		"ActivationCleared": {reason: "It would be billed anew.", before: stamped, after: but("activatedAt", nil), want: "status.activatedAt is written once"},
		"EndMoved":          {reason: "Charges were settled up to it.", before: stamped, after: but("deactivatedAt", "2026-04-01T11:00:00Z"), want: "status.deactivatedAt is written once"},
		"EndCleared":        {reason: "Nothing reopens what has ended.", before: stamped, after: but("deactivatedAt", nil), want: "status.deactivatedAt is written once"},
		"RootMoved":         {reason: "A family is for life.", before: stamped, after: but("compatibilityRoot", "b"), want: "status.compatibilityRoot is written once"},
		"AllCleared":        {reason: "Not even with the whole status.", before: stamped, after: nil, want: "status.activatedAt is written once"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u := object(t, apitest.Namespace(t, c), subscription)
			if err := c.Create(context.Background(), u); err != nil {
				t.Fatal(err)
			}
			set := func(status map[string]any) error {
				if status == nil {
					unstructured.RemoveNestedField(u.Object, "status")
				} else {
					u.Object["status"] = status
				}
				return c.Status().Update(context.Background(), u)
			}
			if tc.before != nil {
				if err := set(tc.before); err != nil {
					t.Fatal(err)
				}
			}
			want := refusal{}
			if tc.want != "" {
				want = refusal{"<nil>", tc.want}
			}
			assertRefused(t, tc.reason, set(tc.after), want)
		})
	}
}

package charge_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// TestPoison has Subscriptions that cannot be right beside one that is: whatever
// somebody has written into his own object, the others are charged.
func TestPoison(t *testing.T) {
	cases := map[string]struct {
		reason string
		plant  func(*stage)
		says   string // Empty if the run succeeds all the same.
	}{
		"NULInASource": {
			reason: "A name that the database cannot hold selects nothing.",
			plant: func(s *stage) {
				s.subscription("poison", "both", "2026-04-01T08:00:00Z", v1alpha1.UsageSource{Name: "a\x00b", Namespace: "app"})
			},
		},
		"EndBeforeTheBeginning": {
			reason: "A life that ends before it begins is charged its opening tick, and no more.",
			plant: func(s *stage) {
				s.subscription("poison", "both", "2026-04-01T08:00:00Z")
				s.end("poison", "2026-04-01T07:00:00Z")
			},
		},
		"BeforeTheFlood": {
			reason: "Nobody was activated when computers filled rooms.",
			plant:  func(s *stage) { s.subscription("poison", "both", "1970-04-01T08:00:00Z") },
			says:   "more than 50 years",
		},
		"ParentWithoutNamespace": {
			reason: "An older release has let such references in.",
			plant: func(s *stage) {
				defer apitest.RelaxReferences(s, s.api, "subscriptions", "parent", "subscriptionRef")()
				apitest.Stored(s, s.api, map[string]any{
					"kind":     "Subscription",
					"metadata": map[string]any{"namespace": s.namespace, "name": "poison", "finalizers": []any{v1alpha1.SubscriptionFinalizer}},
					"spec": map[string]any{
						"offeringRef": map[string]any{"namespace": s.namespace, "name": "both"},
						"parent":      map[string]any{"subscriptionRef": map[string]any{"name": "sound"}},
					},
				})
				poison := s.get("poison")
				s.Cleanup(func() { // It cannot be updated as others are.
					ctx := context.Background()
					s.must(s.api.Patch(ctx, poison, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
					s.must(s.api.Delete(ctx, poison))
				})
				poison.Status.ActivatedAt = new(metav1.NewTime(at("2026-04-01T08:00:00Z")))
				s.must(s.api.Status().Update(s.Context(), poison))
			},
		},
		"Refused": {
			reason: "What the database refuses of one is not the others' fault.",
			plant: func(s *stage) {
				s.exec("ALTER TABLE subscriptions ADD CONSTRAINT no_poison CHECK (name <> 'poison')")
				s.subscription("poison", "both", "2026-04-01T08:00:00Z")
				for n := range 4 {
					s.subscription(fmt.Sprint("other-", n), "both", "2026-04-01T08:00:00Z")
				}
			},
			says: "cannot settle 1 of 6 Subscriptions",
		},
		"DuplicateMeter": {
			reason: "Two meters of one name would write one and the same row (OPEN-OFF-2).",
			plant: func(s *stage) {
				s.offering("twice", withMeters(v1alpha1.OfferingSpec{}, v1alpha1.MeterCPUHour, v1alpha1.MeterCPUHour))
				s.subscription("poison", "twice", "2026-04-01T08:00:00Z", v1alpha1.UsageSource{Namespace: "app"})
			},
			says: "declared twice",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			book := s.tariff("EUR", 20000)
			s.measure("2026-04-01T09:00:00Z", "api-1", "1", book, true)
			s.offering("both", withMeters(fee(v1alpha1.TickAlignmentActivatedAt, "1h", 40000000), v1alpha1.MeterCPUHour))
			s.subscription("sound", "both", "2026-04-01T09:00:00Z", v1alpha1.UsageSource{Namespace: "app"})
			tc.plant(s)

			err := s.run("2026-04-01T10:00:00Z")
			if (err != nil) != (tc.says != "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s\nrun: want an error with %q, got %v", tc.reason, tc.says, err)
			}
			var sound []string
			for _, row := range s.charges() {
				if strings.HasPrefix(row, "sound") {
					sound = append(sound, row)
				}
			}
			want := []string{"sound 01 09 cpuHour 20000 EUR", "sound 01 09 subscription 40000000", "sound 01 10 subscription 0 ~"}
			if diff := cmp.Diff(want, sound); diff != "" {
				t.Errorf("%s\nThe other is charged: -want, +got:\n%s", tc.reason, diff)
			}
			if len(s.get("sound").Status.Costs) != 3 {
				t.Errorf("%s\nThe other is published, got %v", tc.reason, s.get("sound").Status.Costs)
			}
		})
	}
}

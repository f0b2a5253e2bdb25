package webhook_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
	"github.com/provider-finops/provider-finops/internal/webhook"
)

// The refusals begin with what the API server says.
const (
	byOffering     = `admission webhook "voffering-v1alpha1.kb.io" denied the request: `
	bySubscription = `admission webhook "vsubscription-v1alpha1.kb.io" denied the request: `
)

// TestAdmission makes every request of the table of part 80.8 that is refused,
// and for each one that is not, on a real API server. A dry run is answered as
// the request itself would be.
func TestAdmission(t *testing.T) {
	w := serve(t, apitest.NewDoor(t), webhook.Settings{})
	ns := w.ns
	create := func(o client.Object) func() error {
		return func() error { return w.Create(t.Context(), o) }
	}
	tryCreate := func(o client.Object) func() error {
		return func() error { return w.Create(t.Context(), o, client.DryRunAll) }
	}
	remove := func(name string, options ...client.DeleteOption) func() error {
		return func() error { return w.Delete(t.Context(), newOffering(ns, name), options...) }
	}
	generated := func(s *v1alpha1.Subscription) *v1alpha1.Subscription {
		s.GenerateName, s.Name = s.Name, ""
		return s
	}
	circular := func(message string) refusal {
		return refusal{"CircularDependencyDetected", byOffering + "CircularDependencyDetected: circular dependency: " + strings.ReplaceAll(message, "ns/", ns+"/")}
	}
	subscribed := refusal{"DependentSubscriptionsExist", fmt.Sprintf(
		"%sDependentSubscriptionsExist: offering %[2]s/vm is still referenced by subscriptions %[2]s/s", byOffering, ns)}
	required := refusal{"DependentOfferingsExist", fmt.Sprintf(
		"%sDependentOfferingsExist: offering %[2]s/base is still required by dependent resources %[2]s/top", byOffering, ns)}
	ownParent := refusal{"CircularDependencyDetected", fmt.Sprintf(
		"%sCircularDependencyDetected: subscription %s/s names itself as its parent", bySubscription, ns)}
	ownTarget := refusal{"TargetIsSelfReference", fmt.Sprintf(
		"%sTargetIsSelfReference: subscription %s/s names itself as its target", bySubscription, ns)}

	const api = "finops.stakater.com/v1alpha1"
	vm, base, top := newOffering(ns, "vm", "disk"), newOffering(ns, "base"), newOffering(ns, "top", "base")
	s := newSubscription(ns, "s", "vm")

	steps := []struct {
		reason string
		do     func() error
		want   refusal
	}{
		{"What does not exist yet may be required: sets are applied in any order.", create(vm), refusal{}},
		{"An Offering that requires itself is refused.", create(newOffering(ns, "self", "self")), circular("ns/self -> ns/self")},
		{"So is one that closes a cycle, with the path.", func() error { w.known(t, vm); return create(newOffering(ns, "disk", "x", "vm"))() }, circular("ns/disk -> ns/vm -> ns/disk")},
		{"A dry run of it gets the same answer.", tryCreate(newOffering(ns, "disk", "x", "vm")), circular("ns/disk -> ns/vm -> ns/disk")},
		{"A dry run of a good one is admitted.", tryCreate(newOffering(ns, "disk")), refusal{}},
		{"An update is never refused here.", func() error { return w.merge(t, vm, `{"metadata":{"labels":{"a":"b"}}}`) }, refusal{}},

		{"A Subscription to what does not exist is admitted, and so is a parent that does not.", create(childOf(newSubscription(ns, "early", "missing"), ns, "missing")), refusal{}},
		{"A Subscription that is its own parent is refused.", create(selfParent(ns, "s")), ownParent},
		{"A namesake elsewhere may be the parent.", tryCreate(childOf(newSubscription(ns, "s", "vm"), "elsewhere", "s")), refusal{}},
		{"A Subscription that is its own target is refused.", create(targeting(newSubscription(ns, "s", "vm"), api, "s")), ownTarget},
		{"In whatever version it spells itself.", create(targeting(newSubscription(ns, "s", "vm"), "finops.stakater.com/v2", "s")), ownTarget},
		{"The parent comes first if both are wrong.", create(targeting(selfParent(ns, "s"), api, "s")), ownParent},
		{"Another Subscription may be the target.", tryCreate(targeting(newSubscription(ns, "s", "vm"), api, "early")), refusal{}},
		{"Somebody else's Subscription of that name as well.", tryCreate(targeting(newSubscription(ns, "s", "vm"), "messaging.knative.dev/v1", "s")), refusal{}},
		{"A name that the server makes up is nobody's own.", tryCreate(generated(selfParent(ns, "s"))), refusal{}},

		{"An Offering that is subscribed to is not deleted.", func() error { return errors.Join(create(s)(), remove("vm")()) }, subscribed},
		{"A dry run gets the same answer.", remove("vm", client.DryRunAll), subscribed},
		{"Nor is one that is required.", func() error { return errors.Join(create(base)(), create(top)(), remove("base")()) }, required},
		{"Nor is either with the rest of a collection.", func() error { return w.DeleteAllOf(t.Context(), &v1alpha1.Offering{}, client.InNamespace(ns)) }, required},
		{"What nobody depends on is deleted.", remove("top"), refusal{}},
		{"What is being deleted holds nobody.", remove("base"), refusal{}},
		{"A Subscription is always deleted: that starts its end.", func() error { w.known(t, s); return w.Delete(t.Context(), s) }, refusal{}},
		{"While it ends it still holds its Offering.", remove("vm"), subscribed},
	}

	for _, step := range steps {
		err := step.do()
		if diff := cmp.Diff(step.want, refusalOf(err)); diff != "" {
			t.Errorf("%s\n-want +got:\n%s\n%v", step.reason, diff, err)
		}
	}
	w.gone(t, top, base)

	// The collector releases it …
	if err := w.merge(t, s, `{"metadata":{"finalizers":null}}`); err != nil {
		t.Fatal(err)
	}
	w.gone(t, s)
	// … and then nothing holds the Offering. The guard's cache may be a moment behind.
	eventually(t.Context(), t, "the deletion of vm", remove("vm"))
	w.gone(t, vm)
}

// TestParentCycles checks the walk along existing parents, which is done only if
// it is asked for (BETTER-SUB-3).
func TestParentCycles(t *testing.T) {
	cases := map[string]struct {
		reason   string
		settings webhook.Settings
		want     string
	}{
		"Documented": {reason: "Two that name each other are admitted, and wait.", settings: webhook.Settings{}},
		"Detected": {
			reason:   "With the flag the second of them is refused.",
			settings: webhook.Settings{DetectParentCycles: true},
			want:     bySubscription + "CircularDependencyDetected: parent cycle: ns/c -> ns/b -> ns/a -> ns/c",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := serve(t, apitest.NewDoor(t), tc.settings)
			a, b := childOf(newSubscription(w.ns, "a", "any"), w.ns, "c"), childOf(newSubscription(w.ns, "b", "any"), w.ns, "a")
			w.create(t, a, b)
			w.known(t, a, b)
			err := w.Create(t.Context(), childOf(newSubscription(w.ns, "c", "any"), w.ns, "b"))
			if diff := cmp.Diff(tc.want, strings.ReplaceAll(refusalOf(err).Message, w.ns+"/", "ns/")); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
			w.holds(t)
		})
	}
}

// TestShippedConfiguration holds the configuration against the contract: what it
// asks about, and that it fails closed.
func TestShippedConfiguration(t *testing.T) {
	hook := apitest.ShippedWebhooks(t)
	if diff := cmp.Diff("finops-operator-validating-webhook-configuration", hook.Name); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	type asked struct {
		Name, Path, Service string
		Resources           []string
		Operations          []admissionregistrationv1.OperationType
	}
	got := make([]asked, 0, len(hook.Webhooks))
	for _, h := range hook.Webhooks {
		if *h.FailurePolicy != admissionregistrationv1.Fail || *h.SideEffects != admissionregistrationv1.SideEffectClassNone || !slices.Equal(h.AdmissionReviewVersions, []string{"v1"}) {
			t.Errorf("%s does not fail closed, or has side effects", h.Name)
		}
		if len(h.Rules) != 1 || !slices.Equal(h.Rules[0].APIGroups, []string{v1alpha1.GroupVersion.Group}) {
			t.Fatalf("%s: rules %v, want one, for our group alone", h.Name, h.Rules)
		}
		service := h.ClientConfig.Service
		got = append(got, asked{
			h.Name, *service.Path, fmt.Sprintf("%s/%s:%d", service.Namespace, service.Name, *service.Port), h.Rules[0].Resources, h.Rules[0].Operations,
		})
	}
	const service = "finops-operator-system/finops-operator-webhook-service:443"
	want := []asked{
		{"voffering-v1alpha1.kb.io", webhook.OfferingPath, service, []string{"offerings"}, []admissionregistrationv1.OperationType{"CREATE", "DELETE"}},
		{"vsubscription-v1alpha1.kb.io", webhook.SubscriptionPath, service, []string{"subscriptions"}, []admissionregistrationv1.OperationType{"CREATE"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

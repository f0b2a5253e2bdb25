package subscription_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// TestActivation follows a Subscription from its creation: three writes and one
// row, and neither any more once it is settled.
func TestActivation(t *testing.T) {
	r := start(t)
	o := r.offer("basic")
	ns := &corev1.Namespace{}
	if err := r.Get(t.Context(), client.ObjectKey{Name: r.ns}, ns); err != nil {
		t.Fatal(err)
	}
	ns.Labels["stakater.com/tenant"] = "blue"
	if err := r.Update(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	watch, err := apitest.Client(t).Watch(t.Context(), &v1alpha1.SubscriptionList{}, client.InNamespace(r.ns))
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	activated := make(chan *v1alpha1.Subscription, 1)
	go func() {
		defer close(activated)
		for e := range watch.ResultChan() {
			if v, ok := e.Object.(*v1alpha1.Subscription); ok && v.Status.ActivatedAt != nil {
				activated <- v
				return
			}
		}
	}()
	r.clock.SetTime(noon.Add(999 * time.Millisecond))
	r.writes.Take()

	s := r.subscribe("sub", "", "basic")
	r.becomes(s, billed)
	if !s.Status.ActivatedAt.Time.Equal(noon) || s.Status.CompatibilityRoot != string(s.UID) || s.Status.Ready != metav1.ConditionTrue {
		t.Errorf("activatedAt %v, root %q, ready %q", s.Status.ActivatedAt, s.Status.CompatibilityRoot, s.Status.Ready)
	}
	if len(s.Annotations) > 0 {
		t.Errorf("The runtime's annotations are stored: %v", s.Annotations)
	}

	path := "/apis/finops.stakater.com/v1alpha1/namespaces/" + r.ns + "/subscriptions/sub"
	want := []string{"PATCH " + path, "PUT " + path + "/status"}
	if diff := cmp.Diff(want, r.written(s)); diff != "" {
		t.Errorf("Finalizer, and the decision with Synced.\n-want +got:\n%s", diff)
	}
	uid, offeringUID, tenant := string(s.UID), string(o.UID), "blue"
	apitest.Eventually(t, "one version, with everything that was decided", func(ctx context.Context) error {
		if diff := cmp.Diff([]row{{Active: true, Root: &uid, OfferingUID: &offeringUID, Tenant: &tenant}}, r.rows(ctx, s)); diff != "" {
			return fmt.Errorf("-want +got:\n%s", diff)
		}
		return nil
	})

	before := r.count.Count()
	r.resyncs(10)
	if w := r.written(s); len(w) > 0 {
		t.Errorf("A settled Subscription is written: %v", w)
	}
	if n := r.count.Count() - before; n > 0 {
		t.Errorf("A settled Subscription costs %d statements", n)
	}
	if diff := cmp.Diff(map[string]int{"Activated": 1}, r.events(s)); diff != "" {
		t.Errorf("An event is for what happened, not for every pass.\n-want +got:\n%s", diff)
	}

	// Whatever anybody could see of it: no activation without the finalizer.
	if first := <-activated; first == nil {
		t.Error("Nobody could see the activation")
	} else if !slices.Contains(first.Finalizers, v1alpha1.SubscriptionFinalizer) {
		t.Errorf("Version %s is active and has no finalizer", first.ResourceVersion)
	}

	// What makes a version is mirrored, the labels of the namespace too.
	ns.Labels["stakater.com/tenant"] = "green"
	if err := r.Update(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	apitest.Eventually(t, "a second version", func(ctx context.Context) error {
		if rows := r.rows(ctx, s); len(rows) != 2 || *rows[1].Tenant != "green" {
			return fmt.Errorf("got %v", rows)
		}
		return nil
	})
}

// TestGates holds Subscriptions at each gate that something can be missing at,
// and lets them through as it appears. Only events move them.
func TestGates(t *testing.T) {
	r := start(t)
	child := r.subscribe("child", "parent", "basic")
	r.becomes(child, held("OfferingNotFound"))
	r.offer("basic")
	r.becomes(child, held("ParentSubscriptionNotFound"))
	if child.Status.CompatibilityRoot != "" {
		t.Errorf("The child is stamped %q before its chain is complete", child.Status.CompatibilityRoot)
	}

	parent := r.subscribe("parent", "", "basic")
	r.becomes(parent, billed)
	r.becomes(child, billed)
	if child.Status.CompatibilityRoot != string(parent.UID) {
		t.Errorf("The child is stamped %q, its root is %q", child.Status.CompatibilityRoot, parent.UID)
	}
	r.said(child, "Activated") // It arrives after what it tells of.
	// OfferingNotFound, perhaps OfferingNotReady, ParentSubscriptionNotFound,
	// perhaps ParentSubscriptionNotReady.
	if got := r.events(child); got["Activated"] != 1 || got["GateFailed"] < 2 || got["GateFailed"] > 4 {
		t.Errorf("One event for each reason, got %v", got)
	}
}

func TestCoverage(t *testing.T) {
	r := start(t)
	for _, name := range []string{"platform-core", "vm-standard"} {
		r.offer(name)
	}
	for _, name := range []string{"vm-disk", "monitoring", "alerting"} {
		r.offer(name, r.requiring("vm-standard"))
	}

	// The tree of the compatibility page.
	bundle := r.subscribe("acme-bundle", "", "platform-core")
	disk := r.subscribe("acme-disk", "acme-bundle", "vm-disk")
	r.becomes(disk, held("CompatibilityRequirementNotMet"))
	if disk.Status.CompatibilityRoot != string(bundle.UID) {
		t.Errorf("Who waits for coverage is stamped %q, its root is %q", disk.Status.CompatibilityRoot, bundle.UID)
	}
	vm := r.subscribe("acme-vm", "acme-bundle", "vm-standard")
	monitor := r.subscribe("acme-monitor", "acme-bundle", "monitoring")
	alert := r.subscribe("acme-alert", "acme-monitor", "alerting")
	spare := r.subscribe("acme-vm-spare", "acme-alert", "vm-standard")
	for _, s := range []*v1alpha1.Subscription{bundle, disk, vm, monitor, alert, spare} {
		r.becomes(s, billed)
	}

	if err := r.Delete(t.Context(), vm); err != nil {
		t.Fatal(err)
	}
	r.becomes(vm, gone)
	r.becomes(monitor, ended("CompatibilityRequirementNotMet"))
	r.becomes(disk, ended("CompatibilityRequirementNotMet"))
	r.becomes(spare, ended("ParentDeactivated"))
	apitest.Eventually(t, "the end of the alert", func(ctx context.Context) error {
		if err := r.Get(ctx, client.ObjectKeyFromObject(alert), alert); err != nil {
			return err
		}
		if l := lookAt(alert); l != ended("CompatibilityRequirementNotMet") && l != ended("ParentDeactivated") { // Both are legal.
			return fmt.Errorf("it looks %v", l)
		}
		return nil
	})
	r.becomes(bundle, billed)
	if want := "deactivated: CompatibilityRequirementNotMet"; message(disk, "Ready") != want {
		t.Errorf("Ready says %q, want %q", message(disk, "Ready"), want)
	}
	if want := fmt.Sprintf("required offering %s/vm-standard not covered by an active subscription in the family", r.ns); message(disk, "Active") != want {
		t.Errorf("Active says %q, want %q", message(disk, "Active"), want)
	}

	// Nothing reopens what has ended.
	r.subscribe("acme-vm-2", "acme-bundle", "vm-standard")
	r.resyncs(10)
	r.becomes(disk, ended("CompatibilityRequirementNotMet"))
	apitest.Eventually(t, "the end in the mirror", func(ctx context.Context) error {
		if rows := r.rows(ctx, disk); len(rows) == 0 || !rows[len(rows)-1].Ended {
			return fmt.Errorf("got %v", rows)
		}
		return nil
	})
}

func TestParentEnds(t *testing.T) {
	r := start(t)
	r.offer("basic")
	parent := r.subscribe("parent", "", "basic")
	child := r.subscribe("child", "parent", "basic")
	grandchild := r.subscribe("grandchild", "child", "basic")
	left := r.subscribe("left", "parent", "basic", orphan)
	for _, s := range []*v1alpha1.Subscription{parent, child, grandchild, left} {
		r.becomes(s, billed)
	}
	r.clock.SetTime(noon.Add(time.Hour))
	if err := r.Delete(t.Context(), parent); err != nil {
		t.Fatal(err)
	}

	orphaned := billed
	orphaned.Ready, orphaned.Active = "True/Orphaned", "True/Orphaned"
	r.becomes(parent, gone)
	r.becomes(child, ended("ParentDeactivated"))
	r.becomes(grandchild, ended("ParentDeactivated"))
	r.becomes(left, orphaned)
	if !child.Status.DeactivatedAt.Time.Equal(noon.Add(time.Hour)) {
		t.Errorf("deactivatedAt is %v, the clock said %v", child.Status.DeactivatedAt, noon.Add(time.Hour))
	}

	// The charge collector releases the parent. Its uid stays in the chain.
	uid := string(parent.UID)
	r.release(parent)
	r.becomes(left, orphaned)
	versions := len(r.rows(t.Context(), left))
	left.Labels = map[string]string{"seen": "again"}
	left.Spec.UsageSources = []v1alpha1.UsageSource{{Namespace: r.ns}}
	if err := r.Update(t.Context(), left); err != nil {
		t.Fatal(err)
	}
	apitest.Eventually(t, "a version after the parent's end", func(ctx context.Context) error {
		rows := r.rows(ctx, left)
		last := rows[len(rows)-1]
		if len(rows) == versions || last.ParentUID == nil || *last.ParentUID != uid {
			return fmt.Errorf("got %v", rows)
		}
		return nil
	})

	// A Subscription from before there were stamps finds its root through the
	// parent that is gone (BETTER-SUB-4).
	old := r.subscribe("old", parent.Name, "basic", orphan, func(s *v1alpha1.Subscription) {
		s.Annotations = map[string]string{meta.AnnotationKeyReconciliationPaused: "true"}
	})
	fresh := old.DeepCopy()
	old.Status.ActivatedAt = &metav1.Time{Time: noon}
	if err := r.Status().Patch(t.Context(), old, client.MergeFrom(fresh)); err != nil {
		t.Fatal(err)
	}
	err := r.mirror.StoreSubscription(t.Context(), postgres.Subscription{
		Object:            postgres.Object{Namespace: r.ns, Name: old.Name, UID: string(old.UID), Generation: 1, Spec: json.RawMessage(`{}`)},
		OfferingNamespace: r.ns, OfferingName: "basic", ParentNamespace: r.ns, ParentName: parent.Name, ParentUID: uid,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Patch(t.Context(), old, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":null}}`))); err != nil {
		t.Fatal(err)
	}
	apitest.Eventually(t, "a stamp", func(ctx context.Context) error {
		if err := r.Get(ctx, client.ObjectKeyFromObject(old), old); err != nil {
			return err
		}
		if old.Status.CompatibilityRoot != uid {
			return fmt.Errorf("it is %q", old.Status.CompatibilityRoot)
		}
		return nil
	})

	// A namesake is a parent in name: the orphan is none any more (OPEN-SUB-18).
	r.subscribe("parent", "", "basic")
	r.becomes(left, billed)
	if left.Status.CompatibilityRoot != uid {
		t.Errorf("The root moved from %q to %q", uid, left.Status.CompatibilityRoot)
	}
}

// release takes the finalizer off, as the charge collector does, and waits for
// the end of the object.
func (r *rig) release(s *v1alpha1.Subscription) {
	r.t.Helper()
	if err := r.Get(r.t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
		r.t.Fatal(err)
	}
	before := s.DeepCopy()
	s.Finalizers = slices.DeleteFunc(s.Finalizers, func(f string) bool { return f == v1alpha1.SubscriptionFinalizer })
	if err := r.Patch(r.t.Context(), s, client.MergeFrom(before)); err != nil {
		r.t.Fatal(err)
	}
	r.goes(s)
}

package controller_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/finops/offering"
	"github.com/provider-finops/provider-finops/internal/controller/finops/subscription"
	"github.com/provider-finops/provider-finops/internal/controller/frame"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
	"github.com/provider-finops/provider-finops/internal/testkit/invariants"
)

// family is a root, its only vm, and those that require one or watch a target.
type family struct {
	client.Client

	t     *testing.T
	ns    string
	names []string
}

func newFamily(t *testing.T, c client.Client, size int) *family {
	t.Helper()
	f := &family{Client: c, t: t, ns: apitest.Namespace(t, c)}
	ref := func(name string) v1alpha1.ObjectReference {
		return v1alpha1.ObjectReference{Namespace: f.ns, Name: name}
	}
	create := func(o client.Object) {
		t.Helper()
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	for name, requires := range map[string]*v1alpha1.Compatibility{
		"basic": nil, "vm": nil, "disk": {RequiredOfferings: []v1alpha1.ObjectReference{ref("vm")}},
	} {
		create(&v1alpha1.Offering{ObjectMeta: metav1.ObjectMeta{Namespace: f.ns, Name: name}, Spec: v1alpha1.OfferingSpec{Compatibility: requires}})
	}
	create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.ns, Name: "workload"}})
	subscribe := func(name, parent, of string, lifecycle *v1alpha1.SubscriptionLifecycle) {
		t.Helper()
		s := &v1alpha1.Subscription{
			ObjectMeta: metav1.ObjectMeta{Namespace: f.ns, Name: name},
			Spec:       v1alpha1.SubscriptionSpec{OfferingRef: ref(of), Lifecycle: lifecycle},
		}
		if parent != "" {
			s.Spec.Parent = &v1alpha1.SubscriptionParent{SubscriptionRef: ref(parent)}
		}
		create(s)
		f.names = append(f.names, name)
	}
	subscribe("root", "", "basic", nil)
	subscribe("vm", "root", "vm", nil)
	subscribe("targeted", "root", "basic", &v1alpha1.SubscriptionLifecycle{
		TargetRef: &v1alpha1.TargetReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: f.ns, Name: "workload"},
	})
	for i := range size {
		subscribe(fmt.Sprintf("disk-%d", i), "root", "disk", nil)
	}
	return f
}

// all waits until every Subscription of the family passes a test.
func (f *family) all(what string, holds func(*v1alpha1.Subscription) bool) map[string]v1alpha1.Subscription {
	f.t.Helper()
	found := map[string]v1alpha1.Subscription{}
	apitest.Eventually(f.t, what, func(ctx context.Context) error {
		list := &v1alpha1.SubscriptionList{}
		if err := f.List(ctx, list, client.InNamespace(f.ns)); err != nil {
			return err
		}
		if len(list.Items) != len(f.names) {
			return fmt.Errorf("%d of %d are there", len(list.Items), len(f.names))
		}
		for _, s := range list.Items {
			if !holds(&s) {
				return fmt.Errorf("%s: %v", s.Name, s.Status.Conditions)
			}
			found[s.Name] = s
		}
		return nil
	})
	return found
}

func isBilled(s *v1alpha1.Subscription) bool {
	return s.Status.Ready == metav1.ConditionTrue && s.Status.ActivatedAt != nil && s.Status.DeactivatedAt == nil
}

// TestServerRestarts takes etcd and the API server away from running controllers
// and gives them back, each alone and both together, while everybody is looked at
// again and again. Nobody ends for what could not be read meanwhile, and what has
// to end afterwards does, without a restart of the controllers.
func TestServerRestarts(t *testing.T) {
	server := apitest.Own(t)
	mgr := server.Manager(t)
	o := frame.Options{
		Logger: logging.NewNopLogger(), Clock: clock.RealClock{}, Poll: 100 * time.Millisecond, MaxConcurrentReconciles: 8, Limiter: ratelimiter.NewGlobal(1000),
	}
	if err := errors.Join(offering.Setup(mgr, o, nil, offering.Settings{}), subscription.Setup(mgr, o, nil, subscription.Settings{})); err != nil {
		t.Fatal(err)
	}
	apitest.Run(t, mgr)
	f := newFamily(t, server.Client(t), 10)
	before := f.all("a family that is billed", isBilled)

	for _, outage := range []struct {
		name string
		take func()
	}{
		{"etcd alone", func() { server.KillEtcd(); server.StartEtcd() }},
		{"the API server alone", func() { server.KillAPIServer(); server.StartAPIServer() }},
		{"both", func() { server.KillEtcd(); server.KillAPIServer(); server.StartEtcd(); server.StartAPIServer() }},
	} {
		outage.take()
		// Whoever is looked at again has been written to: the controllers are back.
		for _, name := range f.names {
			s := before[name]
			patch := client.MergeFrom(s.DeepCopy())
			s.Spec.UsageSources = append(s.Spec.UsageSources, v1alpha1.UsageSource{Namespace: f.ns, Name: fmt.Sprintf("after-%d", len(s.Spec.UsageSources))})
			apitest.Eventually(t, "an edit after "+outage.name, func(ctx context.Context) error { return f.Patch(ctx, s.DeepCopy(), patch) })
		}
		now := f.all("a look at everybody after "+outage.name, func(s *v1alpha1.Subscription) bool {
			for _, c := range s.Status.Conditions {
				if c.Type == v1alpha1.TypeReady && c.ObservedGeneration == s.Generation {
					return isBilled(s)
				}
			}
			return false
		})
		for name, s := range now {
			was := before[name]
			if !s.Status.ActivatedAt.Equal(was.Status.ActivatedAt) || s.Status.CompatibilityRoot != was.Status.CompatibilityRoot {
				t.Errorf("after %s: %s is another contract: %v, was %v", outage.name, name, s.Status, was.Status)
			}
		}
		before = now
	}

	vm := before["vm"]
	if err := f.Delete(t.Context(), &vm); err != nil {
		t.Fatal(err)
	}
	f.all("the end of who required it", func(s *v1alpha1.Subscription) bool {
		if s.Name == "root" || s.Name == "targeted" {
			return isBilled(s)
		}
		return s.Status.DeactivatedAt != nil
	})
	invariants.Check(t, invariants.World{API: f.Client, Rest: 50})
	for name, s := range before { // What somebody has deleted and nobody may let go.
		if err := f.Patch(t.Context(), &s, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))); client.IgnoreNotFound(err) != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package finopsprovider

import (
	"context"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/provider-finops/provider-finops/internal/controller/frame"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// TestOwnOpenCost shows that an OpenCost which somebody brought along is left
// alone, and when the time of the sync moves (BETTER-PROV-1).
func TestOwnOpenCost(t *testing.T) {
	b := newBench(t, false, onPremises())
	synced := standing{Ready: "True", Reason: "Synced", Message: messageOwnOpenCost, Synced: "True", Time: "09:00:00"}
	b.settle(t, synced)

	b.clock.SetTime(start.Add(time.Hour))
	b.settle(t, synced) // A resync is no news.

	b.edit(t, aws("secret", ""))
	synced.Time = "10:00:00"
	b.settle(t, synced)

	b.edit(t, aws("", "Pricebook"))
	b.settle(t, standing{Ready: "False", Reason: "NoValidProviderOption", Message: "no valid provider option; awsoptions needs a cloudIntegrationSecret and has no effect without", Synced: "True", Time: "10:00:00"})

	objects := &corev1.ConfigMapList{}
	if err := b.c.List(t.Context(), objects, client.InNamespace(b.opencost.Namespace)); err != nil {
		t.Fatal(err)
	}
	if len(objects.Items) > 0 {
		t.Errorf("something was written for OpenCost: %s", objects.Items[0].Name)
	}
}

// TestBundled walks through the mode in which the multi-tenant operator runs
// OpenCost, from an API server that does not know the resource on.
func TestBundled(t *testing.T) {
	b := newBench(t, true, aws("billing", "Pricebook"))
	missing := standing{Ready: "False", Reason: "OpenCostResourceNotFound", Synced: "True"}
	missing.Message = "the API server knows no resource opencosts." + group
	b.settle(t, missing)

	install(t)
	defer uninstall(t, b.c)
	missing.Message = "there is no OpenCost resource in namespace NAMESPACE"
	apitest.Settle(t, b.r, b.p, b.writes, b.stands(missing))

	one := b.resource(t, "one", map[string]any{"replicas": int64(2)})
	two := b.resource(t, "two", map[string]any{})
	missing.Message = "there are several OpenCost resources in namespace NAMESPACE and none is named opencost"
	b.settle(t, missing)

	if err := b.c.Delete(t.Context(), two); err != nil {
		t.Fatal(err)
	}
	failed := standing{
		Ready: "False", Reason: "SyncFailed", Synced: "False",
		Message: `cannot restart OpenCost, Deployment "NAMESPACE/opencost": deployments.apps "opencost" not found`,
	}
	apitest.Eventually(t, "the failed restart", func(ctx context.Context) error {
		if _, err := b.r.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b.p)}); err != nil {
			return err
		}
		return b.stands(failed)(ctx)
	})

	b.deployment(t)
	b.clock.SetTime(start.Add(time.Hour))
	b.settle(t, standing{Ready: "True", Reason: "Synced", Message: messageConfigured, Synced: "True", Time: "10:00:00"})
	if got := b.restartedAt(t); got != "2026-04-01T10:00:00Z" {
		t.Errorf("want the restart that failed to be made up for, got %q", got)
	}
	want := map[string]any{"opencost": map[string]any{
		"replicas":               int64(2),
		"cloudIntegrationSecret": "billing",
		"cloudCost":              map[string]any{"enabled": true},
		"customPricing":          map[string]any{"enabled": true},
	}}
	if diff := cmp.Diff(want, b.spec(t, one)); diff != "" {
		t.Errorf("OpenCost resource: -want, +got:\n%s", diff)
	}
	if a := one.GetAnnotations(); len(a) > 0 {
		t.Errorf("want no restart to be pending, got %v", a)
	}

	// Outside the clouds nothing new is switched on, so nothing restarts; what
	// the cloud option has switched on stays (OPEN-PROV-2).
	b.clock.SetTime(start.Add(2 * time.Hour))
	b.edit(t, onPremises())
	b.settle(t, standing{Ready: "True", Reason: "Synced", Message: messageLeftovers, Synced: "True", Time: "11:00:00"})
	if got := b.restartedAt(t); got != "2026-04-01T10:00:00Z" {
		t.Errorf("want no restart for a change that writes nothing, got %q", got)
	}
	if diff := cmp.Diff(want, b.spec(t, one)); diff != "" {
		t.Errorf("OpenCost resource: -want, +got:\n%s", diff)
	}

	// Among several the one named like the Deployment is taken.
	named := b.resource(t, "opencost", map[string]any{})
	b.settle(t, standing{Ready: "True", Reason: "Synced", Message: messageConfigured, Synced: "True", Time: "11:00:00"})
	if diff := cmp.Diff(map[string]any{"opencost": map[string]any{"customPricing": map[string]any{"enabled": true}}}, b.spec(t, named)); diff != "" {
		t.Errorf("OpenCost resource: -want, +got:\n%s", diff)
	}
	if got := b.restartedAt(t); got != "2026-04-01T11:00:00Z" {
		t.Errorf("want an effective write to be followed by a restart, got %q", got)
	}
}

// TestController runs the controller itself on an object and its edit.
func TestController(t *testing.T) {
	b := newBench(t, false, onPremises())
	mgr, _ := apitest.Manager(t)
	o := frame.Options{Logger: logging.NewNopLogger(), Clock: b.clock, Poll: time.Hour, MaxConcurrentReconciles: 1, Limiter: ratelimiter.NewGlobal(1000)}
	if err := Setup(mgr, o, b.opencost, false); err != nil {
		t.Fatal(err)
	}
	apitest.Run(t, mgr)
	synced := standing{Ready: "True", Reason: "Synced", Message: messageOwnOpenCost, Synced: "True", Time: "09:00:00"}
	apitest.Eventually(t, "Ready", b.stands(synced))
	b.edit(t, aws("", ""))
	apitest.Eventually(t, "NoValidProviderOption",
		b.stands(standing{Ready: "False", Reason: "NoValidProviderOption", Message: "no valid provider option; awsoptions needs a cloudIntegrationSecret and has no effect without", Synced: "True", Time: "09:00:00"}))
}

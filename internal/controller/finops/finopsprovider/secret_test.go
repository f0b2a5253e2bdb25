package finopsprovider

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// TestSecretIsNotTold lets OpenCost's resource refuse the name of a Secret, which
// the API server then repeats in its error. Neither the log at its most talkative
// nor an event may pass it on, before that or once all is well.
func TestSecretIsNotTold(t *testing.T) {
	const refused, accepted = "Hush_hush", "hush-hush-9"
	b := newBench(t, true, aws(refused, "Pricebook"))
	install(t)
	defer uninstall(t, b.c)
	b.resource(t, "opencost", map[string]any{})
	b.deployment(t)

	apitest.Eventually(t, "the refusal", func(ctx context.Context) error {
		if _, err := b.r.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b.p)}); err != nil {
			return err
		}
		return b.stands(standing{
			Ready: "False", Reason: "SyncFailed", Synced: "False",
			Message: `cannot configure OpenCost resource "NAMESPACE/opencost": OpenCost.dependencies.tenantoperator.stakater.com "opencost" is invalid: ` +
				`spec.opencost.cloudIntegrationSecret: Invalid value: "(cloudIntegrationSecret)": spec.opencost.cloudIntegrationSecret in body should match ` +
				`'^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$'`,
		})(ctx)
	})

	b.edit(t, aws(accepted, "pricebook"))
	b.clock.SetTime(start.Add(time.Hour))
	b.settle(t, standing{
		Ready: "True", Reason: "Synced", Synced: "True", Time: "10:00:00",
		Message: messageConfigured + `; pricingModelSource "pricebook" of awsoptions has no effect; only Pricebook switches custom pricing on`,
	})

	if len(b.log) == 0 {
		t.Error("nothing was logged, so nothing was tested")
	}
	lines := b.log
	apitest.Eventually(t, "events about it", func(ctx context.Context) error {
		events := &corev1.EventList{}
		if err := b.c.List(ctx, events); err != nil {
			return err
		}
		lines = b.log
		found := 0
		for _, e := range events.Items {
			if e.InvolvedObject.Kind == "FinOpsProvider" {
				found++
				lines = append(lines, e.Reason+" "+e.Message)
			}
		}
		if found < 2 {
			return fmt.Errorf("%d events", found)
		}
		return nil
	})
	for _, line := range lines {
		for _, secret := range []string{refused, accepted} {
			if strings.Contains(line, secret) {
				t.Errorf("the name of the Secret is told: %s", line)
			}
		}
	}
}

// TestRestartWaits configures OpenCost within a second of another restart: its
// resource is patched at once, the restart follows, and until then that is said.
func TestRestartWaits(t *testing.T) {
	b := newBench(t, true, onPremises())
	install(t)
	defer uninstall(t, b.c)
	one := b.resource(t, "opencost", map[string]any{})
	b.deployment(t)
	b.settle(t, standing{Ready: "True", Reason: "Synced", Message: messageConfigured, Synced: "True", Time: "09:00:00"})

	b.edit(t, aws("billing", ""))
	b.settle(t, standing{Ready: "True", Reason: "Synced", Message: messageRestartDue, Synced: "True", Time: "09:00:00"})
	if got := b.spec(t, one)["opencost"].(map[string]any)["cloudIntegrationSecret"]; got != "billing" {
		t.Errorf("want the resource to be patched at once, got %v", got)
	}
	if got := b.restartedAt(t); got != "2026-04-01T09:00:00Z" {
		t.Errorf("want no second restart yet, got %q", got)
	}
	result, err := b.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b.p)})
	if err != nil || result.RequeueAfter != 2*time.Second {
		t.Errorf("want to look again after two seconds, got %s, %v", result.RequeueAfter, err)
	}

	b.clock.SetTime(start.Add(2 * time.Second))
	b.settle(t, standing{Ready: "True", Reason: "Synced", Message: messageConfigured, Synced: "True", Time: "09:00:02"})
	if got := b.restartedAt(t); got != "2026-04-01T09:00:02Z" {
		t.Errorf("want the restart, got %q", got)
	}
	b.spec(t, one) // Reads it anew.
	if a := one.GetAnnotations(); len(a) > 0 {
		t.Errorf("want no restart to be pending, got %v", a)
	}
}

// TestPaused shows that nothing is configured for a provider that is paused.
func TestPaused(t *testing.T) {
	b := newBench(t, true, onPremises())
	install(t)
	defer uninstall(t, b.c)
	one := b.resource(t, "opencost", map[string]any{})
	b.deployment(t)
	b.p.Annotations = map[string]string{"crossplane.io/paused": "true"}
	b.edit(t, b.p.Spec)

	apitest.Settle(t, b.r, b.p, b.writes, func(ctx context.Context) error {
		if err := b.c.Get(ctx, client.ObjectKeyFromObject(b.p), b.p); err != nil {
			return err
		}
		if got := b.p.Status.Conditions; len(got) != 1 || got[0].Reason != "ReconcilePaused" {
			return fmt.Errorf("it is not paused yet: %v", got)
		}
		return nil
	})
	if got := b.spec(t, one)["opencost"].(map[string]any); len(got) > 0 {
		t.Errorf("want nothing to be configured, got %v", got)
	}
	if got := b.restartedAt(t); got != "" {
		t.Errorf("want no restart, got %q", got)
	}
}

package controller

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/finops/costjob"
	"github.com/provider-finops/provider-finops/internal/controller/finops/finopsprovider"
	"github.com/provider-finops/provider-finops/internal/controller/finops/offering"
	"github.com/provider-finops/provider-finops/internal/controller/finops/pricebook"
	"github.com/provider-finops/provider-finops/internal/controller/finops/subscription"
	"github.com/provider-finops/provider-finops/internal/controller/frame"
	"github.com/provider-finops/provider-finops/internal/controller/opencost"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

func TestMain(m *testing.M) { os.Exit(apitest.Main(m)) }

// TestSetup runs all controllers together on one object of each kind: they all
// come to rest, and once they have, looking at the objects again writes nothing.
func TestSetup(t *testing.T) {
	c := apitest.Client(t)
	ns := apitest.Namespace(t, c)
	mgr, writes := apitest.Manager(t)
	o := frame.Options{Logger: logging.NewNopLogger(), Clock: clock.RealClock{}, Poll: time.Hour, MaxConcurrentReconciles: 4, Limiter: ratelimiter.NewGlobal(1000)}
	err := Setup(mgr, o, installed(ns))
	if err != nil {
		t.Fatal(err)
	}
	left := work(t)
	apitest.Run(t, mgr)

	provider := &v1alpha1.FinOpsProvider{
		ObjectMeta: metav1.ObjectMeta{Name: "default"},
		Spec:       v1alpha1.FinOpsProviderSpec{OnPremOptions: &v1alpha1.OnPremOptions{}},
	}
	book := &v1alpha1.PriceBook{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "tariff"},
		Spec: v1alpha1.PriceBookSpec{
			Currency: "EUR", ValuationMode: v1alpha1.ValuationModeCurrency, Rates: &v1alpha1.PriceRates{CPUHour: "0.025"},
		},
	}
	job := &v1alpha1.CostJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "charges"},
		Spec:       v1alpha1.CostJobSpec{Type: v1alpha1.CostJobTypeSubscriptionChargeCollection, Interval: metav1.Duration{Duration: time.Hour}},
	}
	sold := &v1alpha1.Offering{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "small"},
		Spec:       v1alpha1.OfferingSpec{Pricing: v1alpha1.Pricing{ResourcePricing: []v1alpha1.Meter{{Name: v1alpha1.MeterCPUHour}}}},
	}
	bound := &v1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "blue"},
		Spec:       v1alpha1.SubscriptionSpec{OfferingRef: v1alpha1.ObjectReference{Namespace: ns, Name: "small"}},
	}
	objects := map[string]resource.Managed{
		subscription.Name: bound, offering.Name: sold, costjob.Name: job, pricebook.Name: book, finopsprovider.Name: provider,
	}
	for name, obj := range objects { // In any order: what is missing is waited for.
		if err := c.Create(t.Context(), obj); err != nil {
			t.Fatalf("cannot create the object of %s: %v", name, err)
		}
	}
	t.Cleanup(func() { // There is one election and one provider; other tests have theirs.
		for _, obj := range []client.Object{book, provider} {
			if err := c.Delete(context.Background(), obj); err != nil {
				t.Errorf("cannot delete %q: %v", obj.GetName(), err)
			}
		}
	})
	if err := c.Create(t.Context(), deployment(ns)); err != nil {
		t.Fatal(err)
	}

	for name, obj := range objects {
		apitest.Eventually(t, "the object of "+name, func(ctx context.Context) error {
			if err := c.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
				return err
			}
			for _, want := range []xpv2.ConditionType{xpv2.TypeSynced, xpv2.TypeReady} {
				if got := obj.GetCondition(want); got.Status != corev1.ConditionTrue {
					return fmt.Errorf("%s: %+v", want, got)
				}
			}
			return nil
		})
	}
	for name, obj := range objects {
		// Such a note would block a creation that was cut off, and ours can be repeated.
		for note := range obj.GetAnnotations() {
			if strings.HasPrefix(note, "crossplane.io/external-create") {
				t.Errorf("the object of %s carries annotation %q", name, note)
			}
		}
	}
	if !book.Status.Active {
		t.Error("the only price book is not the active one")
	}
	if bound.Status.ActivatedAt == nil {
		t.Error("the Subscription is ready and was not activated")
	}

	apitest.Eventually(t, "rest", atRest(t, objects, left))
	before := apitest.ByController(t, apitest.Reconciles)
	writes.Take()
	for name, obj := range objects {
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"looked-at":"again"}}}`))
		if err := c.Patch(t.Context(), obj, patch); err != nil {
			t.Fatalf("cannot touch the object of %s: %v", name, err)
		}
	}
	apitest.Eventually(t, "a reconcile of everything", func(ctx context.Context) error {
		now := apitest.ByController(t, apitest.Reconciles)
		for name := range objects {
			if now[name] == before[name] {
				return fmt.Errorf("%s has not reconciled", name)
			}
		}
		return atRest(t, objects, left)(ctx)
	})
	if got := writes.Take(); len(got) > 0 {
		t.Errorf("settled objects were written: %v", got)
	}
}

func deployment(ns string) *appsv1.Deployment {
	labels := map[string]string{"app": "opencost"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "opencost"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "opencost", Image: "opencost"}}},
			},
		},
	}
}

// installed are the settings of an installation with OpenCost in a namespace.
func installed(ns string) Settings {
	return Settings{
		OpenCost: opencost.Installation{Namespace: ns, Deployment: "opencost"},
		CostJob:  costjob.Settings{Image: "provider-finops:v1", PostgresDSN: "postgres://db", OpenCostURL: "http://opencost:9003", ClusterID: "default"},
	}
}

// work is what controllers do and have waiting, by metric and name. The metrics are
// those of the whole process: what one that was stopped had left to do stays in them.
func work(t *testing.T) map[string]map[string]float64 {
	t.Helper()
	all := map[string]map[string]float64{}
	for _, metric := range []string{"workqueue_depth", "controller_runtime_active_workers"} {
		all[metric] = apitest.ByController(t, metric)
	}
	return all
}

// atRest checks that no controller works or has work waiting, but for what earlier
// ones have left.
func atRest(t *testing.T, objects map[string]resource.Managed, left map[string]map[string]float64) func(context.Context) error {
	t.Helper()
	return func(context.Context) error {
		for metric, values := range work(t) {
			for name := range objects {
				if value, ok := values[name]; !ok || value != left[metric][name] {
					return fmt.Errorf("%s of %s is %v, known: %t, earlier controllers left %v", metric, name, value, ok, left[metric][name])
				}
			}
		}
		return nil
	}
}

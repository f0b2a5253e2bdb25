package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
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
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// A closedLimiter has everybody wait for longer than any test takes, and
// remembers who asked.
type closedLimiter struct {
	mu    sync.Mutex
	asked map[string]bool
}

func (l *closedLimiter) When(item string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked[item] = true
	return time.Hour
}

func (*closedLimiter) Forget(string) {}

func (*closedLimiter) NumRequeues(string) int { return 0 }

func (l *closedLimiter) items() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.asked))
}

// TestLimiter has every controller ask the limiter of the options, which is what
// --max-reconcile-rate sets, before it looks at an object. Who was told to wait
// comes in at the next event, so what is done then says nothing.
func TestLimiter(t *testing.T) {
	c := apitest.Client(t)
	ns := apitest.Namespace(t, c)
	mgr, _ := apitest.Manager(t)
	limiter := &closedLimiter{asked: map[string]bool{}}
	o := frame.Options{Logger: logging.NewNopLogger(), Clock: clock.RealClock{}, Poll: time.Hour, MaxConcurrentReconciles: 4, Limiter: limiter}
	err := Setup(mgr, o, installed(ns))
	if err != nil {
		t.Fatal(err)
	}
	apitest.Run(t, mgr)

	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: ns, Name: name} }
	objects := map[string]client.Object{
		finopsprovider.Name: &v1alpha1.FinOpsProvider{
			ObjectMeta: metav1.ObjectMeta{Name: "default"}, Spec: v1alpha1.FinOpsProviderSpec{OnPremOptions: &v1alpha1.OnPremOptions{}},
		},
		pricebook.Name: &v1alpha1.PriceBook{ObjectMeta: named("tariff"), Spec: v1alpha1.PriceBookSpec{
			Currency: "EUR", ValuationMode: v1alpha1.ValuationModeCurrency, Rates: &v1alpha1.PriceRates{CPUHour: "0.025"},
		}},
		costjob.Name: &v1alpha1.CostJob{ObjectMeta: named("charges"), Spec: v1alpha1.CostJobSpec{
			Type: v1alpha1.CostJobTypeSubscriptionChargeCollection, Interval: metav1.Duration{Duration: time.Hour},
		}},
		offering.Name: &v1alpha1.Offering{ObjectMeta: named("small")},
		subscription.Name: &v1alpha1.Subscription{ObjectMeta: named("blue"), Spec: v1alpha1.SubscriptionSpec{
			OfferingRef: v1alpha1.ObjectReference{Namespace: ns, Name: "small"},
		}},
	}
	for name, obj := range objects {
		if err := c.Create(t.Context(), obj); err != nil {
			t.Fatalf("cannot create the object of %s: %v", name, err)
		}
		t.Cleanup(func() { // There is one election and one provider; other tests have theirs.
			if err := c.Delete(context.Background(), obj); err != nil {
				t.Errorf("cannot delete the object of %s: %v", name, err)
			}
		})
	}
	for name := range objects {
		apitest.Eventually(t, name+" to ask", func(context.Context) error {
			asked := limiter.items()
			if !slices.ContainsFunc(asked, func(item string) bool { return strings.HasPrefix(item, name) }) {
				return fmt.Errorf("only these have asked: %q", asked)
			}
			return nil
		})
	}
}

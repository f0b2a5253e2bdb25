package pricebook

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/frame"
	"github.com/provider-finops/provider-finops/internal/controller/opencost"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

func TestMain(m *testing.M) { os.Exit(apitest.Main(m)) }

// now is the clock of all tests, in a zone that is not UTC.
var now = time.Date(2026, 4, 1, 9, 0, 0, 500_000_000, time.FixedZone("", 2*60*60))

// restartedAt is the same as OpenCost's Deployment carries it.
const restartedAt = "2026-04-01T07:00:00Z"

// A bench is a cluster for one test: namespaces a and b for books, one for
// OpenCost, and no book of another test, because there is one election.
type bench struct {
	c        client.WithWatch
	a, b     string
	opencost opencost.Installation
	mgr      ctrl.Manager
	writes   *apitest.Writes
	woken    chan string
	clock    *clocktesting.FakePassiveClock

	// namespaces take part in the election; none means all.
	namespaces []string
}

// newBench returns a bench whose manager does not run yet.
func newBench(t *testing.T) *bench {
	t.Helper()
	c := apitest.Client(t)
	b := &bench{c: c, woken: make(chan string, 100), clock: clocktesting.NewFakePassiveClock(now)}
	names := []string{apitest.Namespace(t, c), apitest.Namespace(t, c)}
	slices.Sort(names)
	b.a, b.b = names[0], names[1]
	b.opencost = opencost.Installation{Namespace: apitest.Namespace(t, c), Deployment: "opencost"}
	b.mgr, b.writes = apitest.Manager(t)

	t.Cleanup(func() {
		ctx := context.Background()
		books := &v1alpha1.PriceBookList{}
		if err := c.List(ctx, books); err != nil {
			t.Errorf("cannot list books: %v", err)
		}
		for i := range books.Items {
			book := &books.Items[i]
			if err := c.Patch(ctx, book, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
				t.Errorf("cannot free book: %v", err)
			}
			if err := client.IgnoreNotFound(c.Delete(ctx, book)); err != nil {
				t.Errorf("cannot delete book: %v", err)
			}
		}
	})

	return b
}

func options(c clock.PassiveClock) frame.Options {
	return frame.Options{
		Logger: logging.NewNopLogger(), Clock: c, Poll: time.Hour,
		MaxConcurrentReconciles: 4, Limiter: ratelimiter.NewGlobal(1000),
	}
}

// leaping is a clock that is never too early for another restart.
type leaping struct {
	clock.PassiveClock

	calls atomic.Int64
}

func (l *leaping) Now() time.Time { return now.Add(time.Duration(l.calls.Add(1)) * time.Minute) }

func (b *bench) settings() Settings { return Settings{OpenCost: b.opencost, Namespaces: b.namespaces} }

// byHand runs the manager without controllers and returns a reconciler.
func (b *bench) byHand(t *testing.T) reconcile.Reconciler {
	t.Helper()
	apitest.Run(t, b.mgr)

	return newReconciler(b.mgr, options(b.clock), b.settings(), func(_ context.Context, w *v1alpha1.PriceBook) { b.woken <- w.Name })
}

// running runs the controller.
func (b *bench) running(t *testing.T) {
	t.Helper()
	if err := Setup(b.mgr, options(&leaping{}), b.settings()); err != nil {
		t.Fatal(err)
	}
	apitest.Run(t, b.mgr)
}

// pass lets business time pass.
func (b *bench) pass(d time.Duration) { b.clock.SetTime(b.clock.Now().Add(d)) }

// book creates a book; change may be nil.
func (b *bench) book(t *testing.T, namespace, name string, change func(*v1alpha1.PriceBook)) *v1alpha1.PriceBook {
	t.Helper()
	book := &v1alpha1.PriceBook{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.PriceBookSpec{
			Currency: "EUR", ValuationMode: v1alpha1.ValuationModeCurrency,
			Rates: &v1alpha1.PriceRates{CPUHour: "0.025", RAMGbHour: "0.0035"},
		},
	}
	if change != nil {
		change(book)
	}
	if err := b.c.Create(t.Context(), book); err != nil {
		t.Fatalf("cannot create book: %v", err)
	}

	return book
}

// younger waits until a book created now would be younger than this one:
// creation timestamps have whole seconds.
func (b *bench) younger(t *testing.T, than *v1alpha1.PriceBook) {
	t.Helper()
	apitest.Eventually(t, "the next second", func(ctx context.Context) error {
		probe := &v1alpha1.PriceBook{ObjectMeta: metav1.ObjectMeta{Namespace: than.Namespace, GenerateName: "probe-"}, Spec: than.Spec}
		if err := b.c.Create(ctx, probe, client.DryRunAll); err != nil {
			return err
		}
		if !probe.CreationTimestamp.After(than.CreationTimestamp.Time) {
			return fmt.Errorf("it is still %s", probe.CreationTimestamp)
		}
		return nil
	})
}

// edit changes a book as a user does.
func (b *bench) edit(t *testing.T, book *v1alpha1.PriceBook, change func(*v1alpha1.PriceBook)) {
	t.Helper()
	apitest.Eventually(t, "an edit", func(ctx context.Context) error {
		if err := b.c.Get(ctx, client.ObjectKeyFromObject(book), book); err != nil {
			return err
		}
		change(book)
		return b.c.Update(ctx, book)
	})
}

// remove deletes a book.
func (b *bench) remove(t *testing.T, book *v1alpha1.PriceBook) {
	t.Helper()
	if err := b.c.Delete(t.Context(), book); err != nil {
		t.Fatal(err)
	}
}

func annotate(value string) func(*v1alpha1.PriceBook) {
	return func(b *v1alpha1.PriceBook) {
		if value == "" {
			delete(b.Annotations, v1alpha1.AnnotationActive)
			return
		}
		b.Annotations = map[string]string{v1alpha1.AnnotationActive: value}
	}
}

// deployment creates OpenCost's Deployment.
func (b *bench) deployment(t *testing.T) {
	t.Helper()
	labels := map[string]string{"app": "opencost"}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.opencost.Namespace, Name: b.opencost.Deployment},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{"kept": "yes"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "opencost", Image: "opencost"}}},
			},
		},
	}
	if err := b.c.Create(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

// rollout returns the annotations of the pods of OpenCost's Deployment.
func (b *bench) rollout(t *testing.T) map[string]string {
	t.Helper()
	d := &appsv1.Deployment{}
	if err := b.c.Get(t.Context(), client.ObjectKey{Namespace: b.opencost.Namespace, Name: b.opencost.Deployment}, d); err != nil {
		t.Fatal(err)
	}

	return d.Spec.Template.Annotations
}

func (b *bench) configMap(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	cm := &corev1.ConfigMap{}
	if err := b.c.Get(t.Context(), client.ObjectKey{Namespace: b.opencost.Namespace, Name: "finops-operator-custom-pricing-configs"}, cm); err != nil {
		t.Fatal(err)
	}

	return cm
}

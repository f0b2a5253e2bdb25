package pricebook

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// machine is the clock of the machine, which a storm is about.
var machine = clock.RealClock{}

// TestRestartStorm edits a rate many times as fast as it can, on the clock of the
// machine. OpenCost is restarted for all edits of a second together, and ends up on
// the last of them.
func TestRestartStorm(t *testing.T) {
	b := newBench(t)
	b.deployment(t)
	if err := Setup(b.mgr, options(machine), b.settings()); err != nil {
		t.Fatal(err)
	}
	apitest.Run(t, b.mgr)
	book := b.book(t, b.a, "tariff-a", nil)
	b.await(t, book, winner)
	b.quietFor(t) // So that the first edit finds a restart allowed.
	before := b.rollout(t)[restartedAtKey]

	w, err := b.c.Watch(t.Context(), &appsv1.DeploymentList{}, client.InNamespace(b.opencost.Namespace))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	restarts := make(chan string, 1000)
	go func() {
		defer close(restarts)
		last := before
		for e := range w.ResultChan() {
			if d, ok := e.Object.(*appsv1.Deployment); ok && d.Spec.Template.Annotations[restartedAtKey] != last {
				last = d.Spec.Template.Annotations[restartedAtKey]
				restarts <- last
			}
		}
	}()

	b.writes.Take()
	for n := range 30 {
		b.edit(t, book, func(p *v1alpha1.PriceBook) { p.Spec.Rates.CPUHour = fmt.Sprintf("0.%03d", n+1) })
	}
	last := book.Spec.Rates.CPUHour
	b.await(t, book, winner)
	if got := book.Status.ActivePricing["CPU"]; got != last {
		t.Errorf("want OpenCost to run on the last rate, %s, got %s", last, got)
	}
	if !strings.Contains(b.configMap(t).Data[documentKey], `"CPU": "`+last+`"`) {
		t.Errorf("want the document to say %s, got %s", last, b.configMap(t).Data[documentKey])
	}
	written := 0
	for _, line := range b.writes.Take() {
		if strings.HasSuffix(line, "/deployments/"+b.opencost.Deployment) {
			written++
		}
	}

	// A restart is marked by its second, so two of one second look like one.
	var seen []string
	end := b.rollout(t)[restartedAtKey]
	if end == before {
		t.Fatal("want a restart")
	}
	for at := range restarts {
		if seen = append(seen, at); at == end {
			break
		}
	}
	if len(seen) != written {
		t.Errorf("want one restart in a second at most: %d writes, at %v", written, seen)
	}
}

// quietFor waits until the last restart is long enough ago for another.
func (b *bench) quietFor(t *testing.T) {
	t.Helper()
	at, err := time.Parse(time.RFC3339, b.rollout(t)[restartedAtKey])
	if err != nil {
		t.Fatal(err)
	}
	apitest.Eventually(t, "time for another restart", func(context.Context) error {
		if left := at.Add(2 * time.Second).Sub(machine.Now()); left > 0 {
			return fmt.Errorf("%s to go", left)
		}
		return nil
	})
}

// TestMinInterval keeps a restart away from the one before for as long as the
// operator wishes (BETTER-PB-4). The document is written at once, the book says
// that a restart is due, and shows what OpenCost runs on until then.
func TestMinInterval(t *testing.T) {
	b := newBench(t)
	b.opencost.MinInterval = 5 * time.Minute
	b.deployment(t)
	r := b.byHand(t)
	book := b.book(t, b.a, "tariff-a", nil)
	apitest.Settle(t, r, book, b.writes, b.stands(book, winner))
	first := b.rollout(t)

	b.pass(5 * time.Minute) // To the second, which may be less than that by the clock.
	b.edit(t, book, func(p *v1alpha1.PriceBook) { p.Spec.Rates.CPUHour = "1.80" })
	waiting := winner
	waiting.ActiveMessage = messageRestartDue
	apitest.Settle(t, r, book, b.writes, b.stands(book, waiting))
	if !strings.Contains(b.configMap(t).Data[documentKey], `"CPU": "1.80"`) {
		t.Error("want the document to be written at once")
	}
	if diff := cmp.Diff(first, b.rollout(t)); diff != "" {
		t.Errorf("want no restart yet: -want, +got:\n%s", diff)
	}
	if got := book.Status.ActivePricing["CPU"]; got != "0.025" {
		t.Errorf("want the book to show what OpenCost runs on, got %s", got)
	}
	result, err := r.Reconcile(t.Context(), requestFor(book))
	if err != nil {
		t.Fatal(err)
	}
	if want := time.Second - time.Duration(now.Nanosecond()); result.RequeueAfter != want {
		t.Errorf("want to be looked at again after %s, got %s", want, result.RequeueAfter)
	}

	// A controller that is restarted meanwhile has forgotten nothing.
	b.pass(time.Second)
	again := newReconciler(b.mgr, options(b.clock), b.settings(), func(context.Context, *v1alpha1.PriceBook) {})
	apitest.Settle(t, again, book, b.writes, b.stands(book, winner))
	if got := book.Status.ActivePricing["CPU"]; got != "1.80" {
		t.Errorf("want the new price after the restart, got %s", got)
	}
	if got := b.rollout(t)[restartedAtKey]; got == first[restartedAtKey] {
		t.Error("want a restart")
	}
	apitest.AssertQuiet(t, again, book, b.writes)
}

// TestCutOff ends a controller before each of its writes in turn. The next one
// finds out what is missing: in the end OpenCost has been told and restarted.
func TestCutOff(t *testing.T) {
	for at := 1; ; at++ {
		writes := 0
		t.Run(fmt.Sprintf("BeforeWrite%d", at), func(t *testing.T) {
			b := newBench(t)
			b.deployment(t)
			mgr, _ := apitest.Manager(t)
			late := lateManager{Manager: mgr, before: func() error {
				if writes++; writes >= at {
					return errors.New("cut off")
				}
				return nil
			}}
			apitest.Run(t, mgr)
			doomed := newReconciler(late, options(b.clock), b.settings(), func(context.Context, *v1alpha1.PriceBook) {})
			r := b.byHand(t)
			book := b.book(t, b.a, "tariff-a", nil)
			apitest.Eventually(t, "the end of the first controller", func(ctx context.Context) error {
				_, err := doomed.Reconcile(ctx, requestFor(book))
				if writes < at && b.stands(book, winner)(ctx) != nil {
					return fmt.Errorf("%d writes, %w", writes, err)
				}
				return nil
			})

			b.pass(time.Minute) // A restart that was done and not noted is done once more.
			apitest.Settle(t, r, book, b.writes, b.stands(book, winner))
			if got := b.configMap(t).Data[documentKey]; got != document {
				t.Errorf("document: want %s, got %s", document, got)
			}
			if b.rollout(t)[restartedAtKey] == "" {
				t.Error("OpenCost was not restarted on the document")
			}
			if a := b.configMap(t).Annotations; len(a) > 0 {
				t.Errorf("want no restart to be pending, got %v", a)
			}
			apitest.AssertQuiet(t, r, book, b.writes)
		})
		if t.Failed() {
			return
		}
		if writes < at {
			if at <= 6 {
				t.Errorf("a first push has only %d writes; the test is too late for most of them", writes)
			}
			return
		}
	}
}

// TestConflicts lets the first three tries of every write meet a newer version.
// That is nobody's trouble: it is looked at again, without a word.
func TestConflicts(t *testing.T) {
	b := newBench(t)
	b.deployment(t)
	mgr, writes := apitest.Manager(t)
	refused := 0
	late := lateManager{Manager: mgr, before: func() error {
		if refused++; refused%4 != 0 {
			return kerrors.NewConflict(schema.GroupResource{Resource: "things"}, "thing", errors.New("newer"))
		}
		return nil
	}}
	apitest.Run(t, mgr)
	r := newReconciler(late, options(b.clock), b.settings(), func(context.Context, *v1alpha1.PriceBook) {})
	book := b.book(t, b.a, "tariff-a", nil)
	apitest.Settle(t, r, book, writes, func(ctx context.Context) error {
		b.pass(time.Second)
		if err := b.c.Get(ctx, client.ObjectKeyFromObject(book), book); err != nil {
			return err
		}
		if got := standingOf(book); got.Synced == "False" {
			t.Fatalf("a conflict has reached the user: %s", message(book, v1alpha1.TypeSynced))
		}
		return b.stands(book, winner)(ctx)
	})
}

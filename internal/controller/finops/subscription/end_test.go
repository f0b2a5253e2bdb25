package subscription_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// settled waits for a few looks and wants none of them to have written
// anything, neither to the API server nor to the database.
func (r *rig) settled(s *v1alpha1.Subscription) {
	r.t.Helper()
	for last := ""; last == "" || last != s.ResourceVersion; { // The deadline of the test bounds this.
		last = s.ResourceVersion
		r.resyncs(5)
		if err := r.Get(r.t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
			r.t.Fatal(err)
		}
	}
	r.writes.Take()
	before := r.count.Count()
	r.resyncs(5)
	if w := r.written(s); len(w) > 0 {
		r.t.Errorf("%s is written although it is settled: %v", s.Name, w)
	}
	if n := r.count.Count() - before; n > 0 {
		r.t.Errorf("%s costs %d statements although it is settled", s.Name, n)
	}
}

func TestDeletion(t *testing.T) {
	r := start(t)
	r.offer("basic")
	keeper := r.subscribe("keeper", "", "basic") // Goes on being looked at while the others rest.
	s := r.subscribe("sub", "", "basic")
	waiting := r.subscribe("waiting", "", "missing")
	r.becomes(keeper, billed)
	r.becomes(s, billed)
	r.becomes(waiting, held("OfferingNotFound"))
	r.clock.SetTime(noon.Add(time.Hour))
	for _, d := range []*v1alpha1.Subscription{s, waiting} {
		if err := r.Delete(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}

	r.becomes(s, gone)
	if !s.Status.DeactivatedAt.Time.Equal(noon.Add(time.Hour)) {
		t.Errorf("deactivatedAt is %v, the clock said %v", s.Status.DeactivatedAt, noon.Add(time.Hour))
	}
	const blocked = "DeletionBlocked: waiting for a SubscriptionChargeCollection run to settle the charges"
	const none = "; no SubscriptionChargeCollection CostJob exists"
	if got := message(s, "Deleting"); got != blocked+none {
		t.Errorf("Deleting says %q", got)
	}

	// Who was never activated winds down in the same way (OPEN-SUB-11).
	never := gone
	never.Activated = false
	r.becomes(waiting, never)

	// The end is mirrored; the finalizer stays; nothing happens any more.
	apitest.Eventually(t, "the end in the mirror", func(ctx context.Context) error {
		if rows := r.rows(ctx, s); len(rows) != 2 || !rows[1].Ended {
			return fmt.Errorf("got %v", rows)
		}
		return nil
	})
	r.settled(s)
	if !slices.Contains(s.Finalizers, v1alpha1.SubscriptionFinalizer) {
		t.Fatalf("The finalizer is gone: %v", s.Finalizers)
	}
	want := map[string]int{"Activated": 1, "Deactivated": 1, "DeletionBlocked": 1, "NoChargeCollector": 1}
	if diff := cmp.Diff(want, r.events(s)); diff != "" {
		t.Errorf("Each once.\n-want +got:\n%s", diff)
	}

	// A collector appears: the message is told so. What a failed attempt has said is
	// taken back, although the runtime writes no status any more.
	s.SetConditions(xpv2.ReconcileError(errors.New("a bad day")))
	if err := r.Status().Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	job := &v1alpha1.CostJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.ns, Name: "charges"},
		Spec:       v1alpha1.CostJobSpec{Type: v1alpha1.CostJobTypeSubscriptionChargeCollection},
	}
	if err := r.Create(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Delete(context.Background(), job); err != nil {
			t.Error(err)
		}
	})
	r.says(s, "Deleting", blocked)
	r.becomes(s, gone)
	r.release(s)
	r.release(waiting)
}

// TestDeletedAfterAnEnd checks row 24 of the state table on the way.
func TestDeletedAfterAnEnd(t *testing.T) {
	r := start(t)
	r.offer("basic")
	parent := r.subscribe("parent", "", "basic")
	child := r.subscribe("child", "parent", "basic")
	r.becomes(child, billed)
	if err := r.Delete(t.Context(), parent); err != nil {
		t.Fatal(err)
	}
	r.becomes(child, ended("ParentDeactivated"))
	at := child.Status.DeactivatedAt.Time

	r.clock.SetTime(noon.Add(time.Hour))
	if err := r.Delete(t.Context(), child); err != nil {
		t.Fatal(err)
	}
	r.becomes(child, gone)
	if !child.Status.DeactivatedAt.Time.Equal(at) {
		t.Errorf("deactivatedAt moved from %v to %v", at, child.Status.DeactivatedAt)
	}
}

// TestForegroundDeletion has a second finalizer on the object, with which the
// runtime calls nothing but Observe: what there is to say is said there.
func TestForegroundDeletion(t *testing.T) {
	r := start(t)
	r.offer("basic")
	s := r.subscribe("sub", "", "basic")
	child := r.subscribe("child", "sub", "basic")
	r.becomes(s, billed)
	r.becomes(child, billed)
	if err := r.Delete(t.Context(), s, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
		t.Fatal(err)
	}
	r.becomes(s, gone)
	r.becomes(child, ended("ParentDeactivated"))
	if diff := cmp.Diff([]string{v1alpha1.SubscriptionFinalizer, metav1.FinalizerDeleteDependents}, s.Finalizers); diff != "" {
		t.Errorf("Both finalizers stay.\n-want +got:\n%s", diff)
	}
}

func TestPaused(t *testing.T) {
	r := start(t)
	r.offer("basic")
	parent := r.subscribe("parent", "", "basic")
	child := r.subscribe("child", "parent", "basic")
	r.becomes(child, billed)
	pause(t, r, child, "true")
	paused := billed
	paused.Synced = "False/ReconcilePaused"
	r.becomes(child, paused)

	if err := r.Delete(t.Context(), parent); err != nil {
		t.Fatal(err)
	}
	r.becomes(parent, gone)
	r.becomes(child, paused)
	pause(t, r, child, "false")
	r.becomes(child, ended("ParentDeactivated"))
}

func pause(t *testing.T, r *rig, s *v1alpha1.Subscription, value string) {
	t.Helper()
	before := s.DeepCopy()
	s.Annotations = map[string]string{"crossplane.io/paused": value}
	if err := r.Patch(t.Context(), s, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// TestDatabaseAway has no database: gates and endings go on, Synced says what
// is missing, and the mirror catches up.
func TestDatabaseAway(t *testing.T) {
	r := start(t)
	r.offer("basic")
	r.source.away(errAway)

	parent := r.subscribe("parent", "", "basic")
	child := r.subscribe("child", "parent", "basic")
	unsynced := billed
	unsynced.Synced = "False/ReconcileError"
	r.becomes(parent, unsynced)
	r.becomes(child, unsynced)
	if got := message(child, "Synced"); !strings.HasSuffix(got, errAway.Error()) {
		t.Errorf("Synced says %q", got)
	}
	if err := r.Delete(t.Context(), parent); err != nil {
		t.Fatal(err)
	}
	over := ended("ParentDeactivated")
	over.Synced = "False/ReconcileError"
	r.becomes(child, over)

	r.source.away(nil)
	r.becomes(child, ended("ParentDeactivated"))
	if rows := r.rows(t.Context(), child); len(rows) != 1 || !rows[0].Ended || !rows[0].Active {
		t.Errorf("The mirror has what was missed, got %v", rows)
	}
}

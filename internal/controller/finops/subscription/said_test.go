package subscription_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/finops/subscription"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// said waits for an event of a Subscription and returns its message.
func (r *rig) said(s *v1alpha1.Subscription, reason string) string {
	r.t.Helper()
	var text string
	apitest.Eventually(r.t, "an event "+reason, func(ctx context.Context) error {
		var err error
		text, err = r.eventOf(ctx, s, reason)
		return err
	})
	return text
}

// TestTermsAreSaidOnce has terms that may be other than meant: usage sources
// without meters (L23), and a block that only names a target but overrides the
// Offering's Orphan (L31). Both are events of the activation, and nothing later
// repeats them. What the block was taken for then comes true.
func TestTermsAreSaidOnce(t *testing.T) {
	r := start(t)
	r.offer("basic")
	r.offer("keeps", func(s *v1alpha1.OfferingSpec) {
		s.Lifecycle = &v1alpha1.OfferingLifecycle{OnParentDeactivate: v1alpha1.ParentDeactivateActionOrphan}
	})
	parent := r.subscribe("parent", "", "basic")
	child := r.subscribe("child", "parent", "keeps", target("v1", "Namespace", "", r.ns), func(s *v1alpha1.Subscription) {
		s.Spec.UsageSources = []v1alpha1.UsageSource{{Namespace: r.ns}}
	})
	orphaned := r.subscribe("orphaned", "parent", "keeps")
	r.becomes(child, billed)
	r.becomes(orphaned, billed)

	want := "usageSources are given, but the offering has no resourcePricing: no usage is billed"
	if diff := cmp.Diff(want, r.said(child, "NoUsageBilled")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	want = fmt.Sprintf("offering %s/keeps says Orphan, but the lifecycle block of the subscription says or defaults to Deactivate: it will end with its parent", r.ns)
	if diff := cmp.Diff(want, r.said(child, "PolicyOverridden")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	if err := r.Delete(t.Context(), parent); err != nil {
		t.Fatal(err)
	}
	r.becomes(child, ended("ParentDeactivated"))
	left := look{Ready: "True/Orphaned", Active: "True/Orphaned", Activated: true, Synced: synced}
	r.becomes(orphaned, left)
	r.resyncs(10)
	want = fmt.Sprintf("billed no longer: ParentDeactivated: %s; this is final, another subscription has to take its place", message(child, v1alpha1.TypeActive))
	if diff := cmp.Diff(want, r.said(child, "Deactivated")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff("billed no longer: MarkedForDeletion", r.said(parent, "Deactivated")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	got := r.events(child)
	if diff := cmp.Diff(map[string]int{"Activated": 1, "Deactivated": 1, "NoUsageBilled": 1, "PolicyOverridden": 1}, withoutHolds(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"Activated": 1}, withoutHolds(r.events(orphaned))); diff != "" {
		t.Errorf("who has nothing of his own overrides nothing: -want +got:\n%s", diff)
	}
}

// TestHoldsAreSaid tells who waits that nothing is billed, and who is active that
// billing goes on.
func TestHoldsAreSaid(t *testing.T) {
	r := start(t)
	basic := r.offer("basic")
	waits, active := r.subscribe("waits", "", "nothing"), r.subscribe("active", "", "basic")
	r.becomes(waits, held("OfferingNotFound"))
	want := fmt.Sprintf("OfferingNotFound: offering %s/nothing does not exist; nothing is billed until every gate passes", r.ns)
	if diff := cmp.Diff(want, r.said(waits, "GateFailed")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	r.becomes(active, billed)
	if err := r.Patch(t.Context(), basic, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatal(err)
	}
	if err := r.Delete(t.Context(), basic); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	if err := r.Patch(t.Context(), basic, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	want = fmt.Sprintf("OfferingNotFound: offering %s/basic does not exist; it is billed on meanwhile", r.ns)
	apitest.Eventually(t, "the objection to who is active", func(ctx context.Context) error {
		list := &corev1.EventList{} // It may have waited for a moment before, too.
		if err := r.List(ctx, list, client.InNamespace(r.ns)); err != nil {
			return err
		}
		if !slices.ContainsFunc(list.Items, func(e corev1.Event) bool { return e.InvolvedObject.UID == active.UID && e.Message == want }) {
			return fmt.Errorf("none of %d events says so", len(list.Items))
		}
		return nil
	})
}

// withoutHolds leaves out what depends on the order of arrival.
func withoutHolds(events map[string]int) map[string]int {
	delete(events, "GateFailed")
	return events
}

// TestReleaseNeverActivated lets go at once who was never sold, if that is asked
// for (OPEN-SUB-11), with the mirror told before; who was waits for a charge run.
func TestReleaseNeverActivated(t *testing.T) {
	r := startWith(t, subscription.Settings{ReleaseNeverActivated: true})
	r.offer("basic")
	sold, never := r.subscribe("sold", "", "basic"), r.subscribe("never", "", "nothing")
	r.becomes(sold, billed)
	r.becomes(never, held("OfferingNotFound"))
	apitest.Eventually(t, "the mirror of who waits", func(ctx context.Context) error {
		if rows := r.rows(ctx, never); len(rows) != 1 {
			return fmt.Errorf("%d rows", len(rows))
		}
		return nil
	})
	for _, s := range []*v1alpha1.Subscription{sold, never} {
		if err := r.Delete(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	r.goes(never)
	r.becomes(sold, gone)
	r.becomes(r.subscribe("bystander", "", "basic"), billed)
	r.resyncs(10)
	r.becomes(sold, gone)

	var closed, open bool
	const isClosed = `SELECT deleted_at IS NOT NULL FROM subscriptions WHERE uid = $1::text::uuid ORDER BY id DESC LIMIT 1`
	err := errors.Join(
		r.pool.QueryRow(t.Context(), isClosed, string(never.UID)).Scan(&closed),
		r.pool.QueryRow(t.Context(), isClosed, string(sold.UID)).Scan(&open))
	if err != nil || !closed || open {
		t.Errorf("the mirror says gone: never sold %t, sold %t, %v", closed, open, err)
	}
}

// TestForeignFinalizer has somebody else hold a deleted Subscription as well. Its
// end is mirrored while they do, and what is mirrored stays as it is when they
// let go, before us or after.
func TestForeignFinalizer(t *testing.T) {
	const theirs = "example.org/backup"
	r := start(t)
	r.offer("basic")
	r.becomes(r.subscribe("bystander", "", "basic"), billed) // By whom it can be told that time passes.
	drop := func(s *v1alpha1.Subscription, finalizer string) {
		t.Helper()
		if err := r.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
			t.Fatal(err)
		}
		before := s.DeepCopy()
		s.Finalizers = slices.DeleteFunc(s.Finalizers, func(f string) bool { return f == finalizer })
		if err := r.Patch(t.Context(), s, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			t.Fatal(err)
		}
	}
	for _, first := range []string{theirs, v1alpha1.SubscriptionFinalizer} {
		s := r.subscribe("first-"+map[bool]string{true: "theirs", false: "ours"}[first == theirs], "", "basic", func(s *v1alpha1.Subscription) {
			s.Finalizers = []string{theirs}
		})
		r.becomes(s, billed)
		if err := r.Delete(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		r.becomes(s, gone)
		var rows []row
		apitest.Eventually(t, "the end in the mirror", func(ctx context.Context) error {
			if rows = r.rows(ctx, s); len(rows) == 0 || !rows[len(rows)-1].Ended {
				return fmt.Errorf("%v", rows)
			}
			return nil
		})

		drop(s, first)
		r.resyncs(10)
		if err := r.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
			t.Fatalf("it did not wait for the other finalizer: %v", err)
		}
		left := theirs
		if first == theirs {
			left = v1alpha1.SubscriptionFinalizer
		}
		if diff := cmp.Diff([]string{left}, s.Finalizers); diff != "" {
			t.Errorf("finalizers: -want +got:\n%s", diff)
		}
		if diff := cmp.Diff(gone, lookAt(s)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if diff := cmp.Diff(rows, r.rows(t.Context(), s)); diff != "" {
			t.Errorf("what is mirrored has changed: -want +got:\n%s", diff)
		}
		drop(s, left)
		r.goes(s)
		if diff := cmp.Diff(rows, r.rows(t.Context(), s)); diff != "" {
			t.Errorf("what is mirrored has changed with the object's end: -want +got:\n%s", diff)
		}
	}
}

// TestHowLongMinPeriodsKeepIt deletes a Subscription in the first of its three
// periods. Who describes it reads when it can go; who has served them reads no
// such thing.
func TestHowLongMinPeriodsKeepIt(t *testing.T) {
	r := start(t)
	least := int32(3)
	r.offer("bound", func(s *v1alpha1.OfferingSpec) {
		s.Pricing.SubscriptionFee = &v1alpha1.SubscriptionFee{
			PriceMicros: 1_000_000, Period: "6h", TickAlignment: v1alpha1.TickAlignmentActivatedAt, MinPeriods: &least,
		}
	})
	early, late := r.subscribe("early", "", "bound"), r.subscribe("late", "", "bound")
	for _, s := range []*v1alpha1.Subscription{early, late} {
		r.becomes(s, billed)
	}

	const waits = "DeletionBlocked: waiting for a SubscriptionChargeCollection run to settle the charges; no SubscriptionChargeCollection CostJob exists"
	over := noon.Add(18 * time.Hour)
	until := "; its minPeriods keep it until a run for the hour " + over.Format(time.RFC3339) + " or a later one"
	for _, deleted := range []struct {
		s    *v1alpha1.Subscription
		at   time.Time
		want string
	}{{early, noon, waits + until}, {late, over, waits}} {
		r.clock.SetTime(deleted.at)
		if err := r.Delete(t.Context(), deleted.s); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(deleted.want, r.said(deleted.s, "DeletionBlocked")); diff != "" {
			t.Errorf("%s: -want +got:\n%s", deleted.s.Name, diff)
		}
	}
}

package subscription_test

import (
	"context"
	"fmt"
	"testing"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// TestReplacedOffering holds BETTER-OFF-5: an Offering that takes the name of
// another does not change what was sold.
func TestReplacedOffering(t *testing.T) {
	r := start(t)
	sold := r.offer("basic")
	s := r.subscribe("sub", "", "basic")
	r.becomes(s, billed)
	uid := string(sold.UID)

	// Its new requirement would end the Subscription, which is its own root.
	r.offer("more")
	r.replace(sold, r.requiring("more"))
	r.says(s, "Ready", "offering was replaced; recorded terms apply")
	r.becomes(s, billed)
	r.settled(s)
	if got := r.events(s)["OfferingReplaced"]; got != 1 {
		t.Errorf("OfferingReplaced is announced %d times", got)
	}
	if rows := r.rows(t.Context(), s); *rows[len(rows)-1].OfferingUID != uid {
		t.Errorf("The recorded Offering is %q, the one that was sold is %q", *rows[len(rows)-1].OfferingUID, uid)
	}

	// Recreated as it was it is the same to everybody: that repairs it.
	r.replace(sold)
	r.becomes(s, billed)
	apitest.Eventually(t, "the repair", func(ctx context.Context) error {
		if err := r.Get(ctx, client.ObjectKeyFromObject(s), s); err != nil {
			return err
		}
		rows := r.rows(ctx, s)
		if got := message(s, "Ready"); got != "every gate passes" || *rows[len(rows)-1].OfferingUID == uid {
			return fmt.Errorf("Ready says %q, recorded is %q", got, *rows[len(rows)-1].OfferingUID)
		}
		return nil
	})
}

// TestReplacedBeforeTheSale has a Subscription wait while another Offering takes
// the name of the one that was recorded with it, and the database is away until
// it is active: it was sold the other one, and that is what is recorded.
func TestReplacedBeforeTheSale(t *testing.T) {
	r := start(t)
	old := r.offer("basic")
	r.offer("family")
	s := r.subscribe("sub", "parent", "basic")
	r.becomes(s, held("ParentSubscriptionNotFound"))
	apitest.Eventually(t, "the first record", func(ctx context.Context) error {
		if rows := r.rows(ctx, s); len(rows) == 0 || rows[0].OfferingUID == nil {
			return fmt.Errorf("recorded are %d versions", len(rows))
		}
		return nil
	})

	r.source.away(errAway)
	sold := r.replace(old, func(spec *v1alpha1.OfferingSpec) {
		spec.Lifecycle = &v1alpha1.OfferingLifecycle{OnParentDeactivate: v1alpha1.ParentDeactivateActionOrphan}
	})
	r.subscribe("parent", "", "family")
	unrecorded := billed
	unrecorded.Synced = "False/ReconcileError"
	r.becomes(s, unrecorded)

	r.source.away(nil)
	r.becomes(s, billed)
	apitest.Eventually(t, "the record of the sale", func(ctx context.Context) error {
		rows := r.rows(ctx, s)
		if last := rows[len(rows)-1]; !last.Active || *last.OfferingUID != string(sold.UID) {
			return fmt.Errorf("recorded is Offering %q, active %t; sold was %q", *last.OfferingUID, last.Active, sold.UID)
		}
		return nil
	})
	if err := r.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
		t.Fatal(err)
	}
	if got := message(s, "Ready"); got != "every gate passes" {
		t.Errorf("Ready says %q", got)
	}
}

// replace has another Offering take the name of one.
func (r *rig) replace(old *v1alpha1.Offering, with ...func(*v1alpha1.OfferingSpec)) *v1alpha1.Offering {
	r.t.Helper()
	o := &v1alpha1.Offering{}
	if err := r.Get(r.t.Context(), client.ObjectKeyFromObject(old), o); err != nil {
		r.t.Fatal(err)
	}
	before := o.DeepCopy()
	o.Finalizers = nil // Past the guard: somebody forces it.
	if err := r.Patch(r.t.Context(), o, client.MergeFrom(before)); err != nil {
		r.t.Fatal(err)
	}
	if err := r.Delete(r.t.Context(), o); err != nil {
		r.t.Fatal(err)
	}
	force(r, o)
	return r.offer(old.Name, with...)
}

// force takes the finalizer off a deleted Offering until it is gone: the
// controller may have put it back before the deletion.
func force(r *rig, o *v1alpha1.Offering) {
	r.t.Helper()
	apitest.Eventually(r.t, "the end of "+o.Name, func(ctx context.Context) error {
		now := &v1alpha1.Offering{}
		err := r.Get(ctx, client.ObjectKeyFromObject(o), now)
		if kerrors.IsNotFound(err) || err == nil && now.UID != o.UID {
			return nil
		}
		if err != nil {
			return err
		}
		before := now.DeepCopy()
		now.Finalizers = nil
		if err := client.IgnoreNotFound(r.Patch(ctx, now, client.MergeFrom(before))); err != nil {
			return err
		}
		return fmt.Errorf("it is still there")
	})
}

package pricebook

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// TestLateWrites lets a controller give the slot to one book and holds it back
// before each of its writes in turn, as a machine that is suspended does. In the
// meantime somebody annotates another book, and the controller that has taken
// over gives the slot to that one. Whatever the first one writes when it wakes
// up, at no moment are two books active, and the second one's word stands.
func TestLateWrites(t *testing.T) {
	for at := 1; ; at++ {
		reached := false
		t.Run(fmt.Sprintf("BeforeWrite%d", at), func(t *testing.T) { reached = lateWrite(t, at) })
		if t.Failed() {
			return
		}
		if !reached {
			// Promised, demoted, promoted, written, restarted, noted, reported.
			if at <= 7 {
				t.Errorf("a takeover has only %d writes; the test is too late for most of them", at-1)
			}
			return
		}
	}
}

func lateWrite(t *testing.T, at int) (reached bool) {
	b := newBench(t)
	b.deployment(t)
	successor := b.byHand(t)

	// The first controller's writes are counted, and the one before which it is
	// suspended waits.
	suspended, resume := make(chan struct{}), make(chan struct{})
	writes := 0
	mgr, _ := apitest.Manager(t)
	late := lateManager{Manager: mgr, before: func() error {
		if writes++; writes == at {
			close(suspended)
			<-resume
		}
		return nil
	}}
	apitest.Run(t, mgr)
	predecessor := newReconciler(late, options(b.clock), b.settings(), func(context.Context, *v1alpha1.PriceBook) {})

	x := b.book(t, b.a, "x", nil)
	apitest.Settle(t, successor, x, b.writes, b.stands(x, winner))
	y := b.book(t, b.b, "y", annotate("true"))
	z := b.book(t, b.a, "z", nil) // The younger one or, within a second, the first by name.
	stop := b.neverTwo(t)
	b.pass(time.Minute)

	done := make(chan error)
	go func() {
		var err error
		for range 50 { // Passes that find their cache behind the server come to nothing.
			if _, err = predecessor.Reconcile(context.Background(), requestFor(y)); err != nil || writes >= at || b.stands(y, winner)(context.Background()) == nil {
				break
			}
		}
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
		if err := b.stands(y, winner)(t.Context()); err != nil {
			t.Fatalf("the takeover has not come to an end: %v", err)
		}
		return false
	case <-suspended:
	}

	// Nobody touches y, so its version alone gives a late promotion away to
	// nobody.
	b.edit(t, z, annotate("true"))
	b.pass(time.Minute)
	apitest.Settle(t, successor, z, b.writes, b.stands(z, winner))
	before, rollout := b.configMap(t), b.rollout(t)

	close(resume)
	if err := <-done; err != nil {
		t.Errorf("the first controller failed: %v", err)
	}
	stop()
	if err := b.stands(z, winner)(t.Context()); err != nil {
		t.Errorf("the late write undid what the successor has done: %v", err)
	}
	if after := b.configMap(t); after.Data[documentKey] != before.Data[documentKey] {
		t.Errorf("a late document came on top: %s", after.Data[documentKey])
	}
	if after := b.rollout(t); after[restartedAtKey] != rollout[restartedAtKey] {
		t.Errorf("a late restart came on top, at %s", after[restartedAtKey])
	}
	apitest.Settle(t, successor, x, b.writes, b.stands(x, b.lost(x, z, notAnnotated)))
	apitest.Settle(t, successor, y, b.writes, b.stands(y, b.lost(y, z, older(y, z))))

	return true
}

const restartedAtKey = "finops.stakater.com/restartedAt"

// TestStaleCache lets a controller work on the cluster of a while ago, as one does
// that was suspended and whose watch has not caught up. In it another book is the
// active one, or its rates are others. None of that reaches the cluster of now.
func TestStaleCache(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(t *testing.T, b *bench, x, z *v1alpha1.PriceBook)
	}{
		"SlotMoved": {
			reason: "The document of a book that has lost the slot must not come back.",
			change: func(t *testing.T, b *bench, _, z *v1alpha1.PriceBook) { b.edit(t, z, annotate("true")) },
		},
		"RateEdited": {
			reason: "Neither must an older rate of the same book.",
			change: func(t *testing.T, b *bench, x, _ *v1alpha1.PriceBook) {
				b.edit(t, x, func(p *v1alpha1.PriceBook) { p.Spec.Rates.CPUHour = "7" })
			},
		},
		"Deleted": {
			reason: "Nor one that is gone.",
			change: func(t *testing.T, b *bench, x, _ *v1alpha1.PriceBook) { b.remove(t, x) },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.deployment(t)
			successor := b.byHand(t)
			x := b.book(t, b.a, "x", nil)
			apitest.Settle(t, successor, x, b.writes, b.stands(x, winner))
			z := b.book(t, b.b, "z", nil)
			apitest.Settle(t, successor, z, b.writes, b.stands(z, b.lost(z, x, neverAnnotated)))
			then := &v1alpha1.PriceBookList{}
			if err := b.c.List(t.Context(), then); err != nil {
				t.Fatal(err)
			}

			b.pass(time.Minute)
			tc.change(t, b, x, z)
			o, err := electFrom(t.Context(), b.c, nil)
			if err != nil {
				t.Fatal(err)
			}
			apitest.Settle(t, successor, o.winner, b.writes, b.stands(o.winner, winner))
			before, rollout := b.configMap(t), b.rollout(t)

			b.pass(time.Minute)
			mgr, writes := apitest.Manager(t)
			apitest.Run(t, mgr)
			predecessor := newReconciler(frozenManager{Manager: mgr, books: then.Items}, options(b.clock), b.settings(), func(context.Context, *v1alpha1.PriceBook) {})
			for range 3 {
				if _, err := predecessor.Reconcile(t.Context(), requestFor(x)); err != nil {
					t.Errorf("\n%s\nwhat is overtaken is no error: %v", tc.reason, err)
				}
			}
			if got := writes.Take(); len(got) > 0 {
				t.Errorf("\n%s\nit wrote %v", tc.reason, got)
			}
			if after := b.configMap(t); after.ResourceVersion != before.ResourceVersion {
				t.Errorf("\n%s\nthe document was written: %v", tc.reason, after.Data)
			}
			if diff := cmp.Diff(rollout, b.rollout(t)); diff != "" {
				t.Errorf("\n%s\nOpenCost was restarted: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

package pricebook

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// TestWorkedElection walks through the table "Worked election" of part 20.3
// with the controller running, and watches all the while that no two books are
// active at once.
func TestWorkedElection(t *testing.T) {
	b := newBench(t)
	b.deployment(t)
	stop := b.neverTwo(t)
	b.running(t)

	old := b.book(t, b.a, "old", nil)
	b.await(t, old, winner)
	b.younger(t, old)
	fresh := b.book(t, b.b, "new", nil)
	b.await(t, fresh, b.lost(fresh, old, neverAnnotated))
	b.await(t, old, winner)

	steps := []struct {
		what   string
		do     func()
		winner *v1alpha1.PriceBook
		loser  *v1alpha1.PriceBook
		why    string
	}{
		{"a/old annotated", func() { b.edit(t, old, annotate("true")) }, old, fresh, notAnnotated},
		{"b/new annotated as well", func() { b.edit(t, fresh, annotate("true")) }, fresh, old, younger},
		{"the annotation removed from b/new", func() { b.edit(t, fresh, annotate("")) }, old, fresh, notAnnotated},
		{"removed from a/old as well", func() { b.edit(t, old, annotate("")) }, old, fresh, neverAnnotated},
		{"b/new annotated with another value", func() { b.edit(t, fresh, annotate("True")) }, old, fresh, neverAnnotated},
	}
	for _, s := range steps {
		t.Log(s.what)
		s.do()
		b.await(t, s.winner, winner)
		b.await(t, s.loser, b.lost(s.loser, s.winner, s.why))
	}

	if err := b.c.Delete(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	b.await(t, fresh, winner)
	b.event(t, fresh, "Activated")
	b.event(t, fresh, "Demoted")
	b.event(t, fresh, "SeveralAnnotated")
	stop()
}

// neverTwo watches all books and fails if two are active at any time. The
// returned function ends the watch and tells how often the slot was seen moving.
func (b *bench) neverTwo(t *testing.T) (stop func()) {
	t.Helper()
	w, err := b.c.Watch(t.Context(), &v1alpha1.PriceBookList{})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan int)
	go func() {
		defer close(done)
		seen, active := 0, map[string]bool{}
		for e := range w.ResultChan() {
			book, ok := e.Object.(*v1alpha1.PriceBook)
			if !ok {
				continue
			}
			name := book.Namespace + "/" + book.Name
			was := active[name]
			delete(active, name)
			if e.Type != watch.Deleted && book.Status.Active {
				active[name] = true
			}
			if was != active[name] {
				seen++
			}
			if len(active) > 1 {
				t.Errorf("two books are active at once: %v", active)
			}
		}
		done <- seen
	}()

	return func() {
		t.Helper()
		w.Stop()
		if seen := <-done; seen < 2 {
			t.Errorf("the watch saw the slot move %d times only", seen)
		}
	}
}

// TestHandover moves the slot pass by pass.
func TestHandover(t *testing.T) {
	b := newBench(t)
	b.deployment(t)
	r := b.byHand(t)
	old := b.book(t, b.a, "old", nil)
	apitest.Settle(t, r, old, b.writes, b.stands(old, winner))
	fresh := b.book(t, b.b, "new", annotate("true"))

	// The reconcile of the loser moves the slot too, and wakes the winner.
	apitest.Settle(t, r, old, b.writes, b.stands(old, b.lost(old, fresh, notAnnotated)))
	if err := b.c.Get(t.Context(), client.ObjectKeyFromObject(fresh), fresh); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(standing{Active: true, ActiveReason: "Activated", ActiveMessage: messageActive}, standingOf(fresh)); diff != "" {
		t.Errorf("the winner before its own reconcile: -want, +got:\n%s", diff)
	}
	select {
	case name := <-b.woken:
		if name != "new" {
			t.Errorf("want the winner to be woken, got %q", name)
		}
	default:
		t.Error("nobody was woken (BETTER-PB-2)")
	}
	b.pass(time.Minute)
	apitest.Settle(t, r, fresh, b.writes, b.stands(fresh, winner))

	for _, book := range []*v1alpha1.PriceBook{old, fresh} {
		apitest.AssertQuiet(t, r, book, b.writes)
	}
}

// TestStaleStanding shows that the slot is repaired when somebody has moved it
// by hand: to two books, or to none.
func TestStaleStanding(t *testing.T) {
	b := newBench(t)
	b.deployment(t)
	b.running(t)
	old := b.book(t, b.a, "old", annotate("true"))
	b.await(t, old, winner)
	other := b.book(t, b.b, "other", nil)
	b.await(t, other, b.lost(other, old, notAnnotated))

	force := func(book *v1alpha1.PriceBook, active bool) {
		apitest.Eventually(t, "a write of status", func(ctx context.Context) error {
			if err := b.c.Get(ctx, client.ObjectKeyFromObject(book), book); err != nil {
				return err
			}
			book.Status.Active = active
			return b.c.Status().Update(ctx, book)
		})
	}
	force(other, true)
	b.await(t, other, b.lost(other, old, notAnnotated))
	force(old, false)
	b.await(t, old, winner)
}

// TestDeletingIncumbent shows that a book which somebody's finalizer holds is
// no candidate (OPEN-PB-1), and that it gives up the slot.
func TestDeletingIncumbent(t *testing.T) {
	b := newBench(t)
	b.deployment(t)
	b.running(t)
	held := b.book(t, b.a, "held", func(p *v1alpha1.PriceBook) { p.Finalizers = []string{"example.org/hold"} })
	b.await(t, held, winner)
	heir := b.book(t, b.b, "heir", nil)
	b.await(t, heir, b.lost(heir, held, neverAnnotated))

	if err := b.c.Delete(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	b.await(t, heir, winner)
	if err := b.c.Get(t.Context(), client.ObjectKeyFromObject(held), held); err != nil {
		t.Fatal(err)
	}
	if held.Status.Active {
		t.Error("a book that is being deleted still holds the slot")
	}
}

// TestLastOneDeleting shows that the last book gives up the slot too, with nobody
// there to take it.
func TestLastOneDeleting(t *testing.T) {
	b := newBench(t)
	b.deployment(t)
	b.running(t)
	held := b.book(t, b.a, "held", func(p *v1alpha1.PriceBook) { p.Finalizers = []string{"example.org/hold"} })
	b.await(t, held, winner)
	b.remove(t, held)
	apitest.Eventually(t, "the demotion", func(ctx context.Context) error {
		if err := b.c.Get(ctx, client.ObjectKeyFromObject(held), held); err != nil {
			return err
		}
		if got := message(held, v1alpha1.TypeActive); held.Status.Active || held.Status.ActivePricing != nil ||
			got != "no PriceBook is the active one: this one is being deleted"+messageOwnNamespace {
			return fmt.Errorf("active %t: %s", held.Status.Active, got)
		}
		return nil
	})
}

// TestPausedIncumbent shows that a book whose reconciliation is paused loses the
// slot to one that asks for it: the election is the cluster's, not the book's.
func TestPausedIncumbent(t *testing.T) {
	b := newBench(t)
	b.deployment(t)
	b.running(t)
	paused := b.book(t, b.a, "paused", nil)
	b.await(t, paused, winner)
	b.edit(t, paused, func(p *v1alpha1.PriceBook) { p.Annotations = map[string]string{"crossplane.io/paused": "true"} })

	heir := b.book(t, b.b, "heir", annotate("true"))
	b.await(t, heir, winner)
	apitest.Eventually(t, "the demotion", func(ctx context.Context) error {
		if err := b.c.Get(ctx, client.ObjectKeyFromObject(paused), paused); err != nil {
			return err
		}
		if paused.Status.Active {
			return fmt.Errorf("still active")
		}
		return nil
	})
}

// TestManyBooks lets books come and go under the eye of the watch: what remains is one active book, the youngest annotated one.
func TestManyBooks(t *testing.T) {
	b := newBench(t)
	b.deployment(t)
	stop := b.neverTwo(t)
	b.running(t)

	elected := func() {
		apitest.Eventually(t, "one active book, as elected", func(ctx context.Context) error {
			o, err := electFrom(ctx, b.c, nil)
			switch {
			case err != nil:
				return err
			case !o.settled():
				return fmt.Errorf("%d to demote, promote %t", len(o.demote), o.promote)
			}
			return b.stands(o.winner, winner)(ctx)
		})
	}

	var last *v1alpha1.PriceBook
	for i := range 12 {
		value := "true"
		if i%3 == 0 {
			value = "1"
		}
		// Within one second the name decides, so each annotated book wins.
		book := b.book(t, b.a, fmt.Sprintf("book-%02d", 99-i), annotate(value))
		if i%4 == 1 && last != nil {
			if err := b.c.Delete(t.Context(), last); err != nil {
				t.Fatal(err)
			}
		}
		if i%2 == 0 {
			elected() // The others come while the slot is still moving.
		}
		last = book
	}
	elected()
	stop()
}

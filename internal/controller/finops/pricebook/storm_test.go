package pricebook

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// A longer storm takes a flag of its own:
//
//	go test ./internal/controller/finops/pricebook -run Storm -v -edits 2000
var (
	edits = flag.Int("edits", 120, "how many edits the storm of TestStorm has")
	seed  = flag.Uint64("seed", 0, "of that storm; 0 draws one")
)

// looks counts what a reader sees that never stops looking.
type looks struct {
	mu   sync.Mutex
	next chan struct{} // Closed by the next look.

	all, none, one, more int
}

// look lists all books over and over, each time from the server, until the
// context ends.
func (l *looks) look(ctx context.Context, t *testing.T, c client.Client) {
	for ctx.Err() == nil {
		books := &v1alpha1.PriceBookList{}
		if err := c.List(ctx, books); err != nil {
			if ctx.Err() == nil {
				t.Errorf("cannot look: %v", err)
			}
			return
		}
		active := 0
		for i := range books.Items {
			if books.Items[i].Status.Active {
				active++
			}
		}
		l.count(active)
	}
}

func (l *looks) count(active int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all++
	switch active {
	case 0:
		l.none++
	case 1:
		l.one++
	default:
		l.more++
	}
	close(l.next)
	l.next = make(chan struct{})
}

// await returns after n more looks.
func (l *looks) await(ctx context.Context, n int) {
	for range n {
		l.mu.Lock()
		next := l.next
		l.mu.Unlock()
		select {
		case <-next:
		case <-ctx.Done():
			return
		}
	}
}

// TestStorm hands over between two controllers of which both believe to lead,
// each of them late with some of its writes by many looks of a reader, while
// annotations come and go, books are created and deleted, and somebody's edits of
// status get between. A reader that never stops looking must never see two active
// books, nor may the watch, which misses no state.
func TestStorm(t *testing.T) {
	b := newBench(t)
	b.deployment(t)
	stop := b.neverTwo(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("seed %d", *seed)
	seen := &looks{next: make(chan struct{})}
	var readers sync.WaitGroup
	readers.Go(func() { seen.look(ctx, t, b.c) })

	managers := []ctrl.Manager{b.mgr, nil}
	managers[1], _ = apitest.Manager(t)
	for i, mgr := range managers {
		var mu sync.Mutex
		rng := rand.New(rand.NewPCG(*seed, uint64(i)))
		late := lateManager{Manager: mgr, before: func() error {
			mu.Lock()
			n := rng.IntN(5)
			mu.Unlock()
			if n == 0 {
				seen.await(ctx, 60) // As long as the other one takes for a takeover or two.
			}
			return nil
		}}
		if err := Setup(late, options(&leaping{}), b.settings()); err != nil {
			t.Fatal(err)
		}
		apitest.Run(t, mgr)
	}

	rng := rand.New(rand.NewPCG(*seed, 99))
	for i := range *edits {
		b.storm(t, rng, i)
		seen.await(ctx, rng.IntN(6))
	}

	apitest.Eventually(t, "one active book, as elected", func(ctx context.Context) error {
		o, err := electFrom(ctx, b.c, nil)
		switch {
		case err != nil:
			return err
		case o.winner == nil:
			return fmt.Errorf("there is no book left")
		case !o.settled():
			return fmt.Errorf("%d to demote, promote %t", len(o.demote), o.promote)
		}
		return b.stands(o.winner, winner)(ctx)
	})
	cancel()
	readers.Wait()
	stop()
	t.Logf("%d edits; %d looks: %d saw one active book, %d none, %d more", *edits, seen.all, seen.one, seen.none, seen.more)
	if seen.more > 0 || seen.one == 0 || seen.all < *edits {
		t.Errorf("want looks at one active book, and none at two")
	}
}

// storm makes one random edit among eight names.
func (b *bench) storm(t *testing.T, rng *rand.Rand, i int) {
	t.Helper()
	key := client.ObjectKey{Namespace: []string{b.a, b.b}[rng.IntN(2)], Name: fmt.Sprintf("book-%d", rng.IntN(4))}
	value := []string{"true", "true", "", "1"}[rng.IntN(4)]
	destroy := rng.IntN(8) == 0

	book := &v1alpha1.PriceBook{}
	err := b.c.Get(t.Context(), key, book)
	switch {
	case client.IgnoreNotFound(err) != nil:
		t.Fatal(err)
	case err != nil:
		b.book(t, key.Namespace, key.Name, annotate(value))
	case destroy:
		if err := b.c.Delete(t.Context(), book); err != nil {
			t.Fatal(err)
		}
	default:
		b.edit(t, book, func(p *v1alpha1.PriceBook) {
			annotate(value)(p)
			p.Labels = map[string]string{"edit": fmt.Sprint(i)}
		})
	}
}

package mirror_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/controller/mirror"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

const (
	offeringUID     = "00000000-0000-4000-8000-0000000000f0"
	subscriptionUID = "00000000-0000-4000-8000-00000000000a"
	otherUID        = "00000000-0000-4000-8000-00000000000b"
)

// source is a database that can be taken away.
type source struct {
	pool *pgxpool.Pool
	err  error
}

func (s *source) Pool() (*pgxpool.Pool, error) { return s.pool, s.err }

// open returns a migrated database whose statements are counted from here on.
func open(t *testing.T) (*pgxpool.Pool, *pgtest.Steps) {
	t.Helper()
	count := &pgtest.Steps{}
	pool, err := postgres.NewPool(t.Context(), postgres.Config{DSN: pgtest.Database(t).DSN, Tracer: count})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool, count
}

func offering() postgres.Offering {
	return postgres.Offering{Object: postgres.Object{
		Namespace: "catalog", Name: "base", UID: offeringUID, Generation: 1, Spec: json.RawMessage(`{"pricing":{}}`),
	}}
}

func subscription(uid string) postgres.Subscription {
	return postgres.Subscription{
		Object:            postgres.Object{Namespace: "team", Name: "s-" + uid[len(uid)-1:], UID: uid, Generation: 1, Spec: json.RawMessage(`{}`)},
		OfferingNamespace: "catalog", OfferingName: "base", OfferingUID: offeringUID,
	}
}

func TestWhatIsKnownCostsNoStatement(t *testing.T) {
	pool, count := open(t)
	clk := clocktesting.NewFakePassiveClock(time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC))
	m := mirror.New(&source{pool: pool}, "default", clk)

	if _, ok, err := m.Subscription(t.Context(), subscriptionUID); ok || err != nil {
		t.Fatalf("Subscription(...) of an empty database: ok %t, error %v", ok, err)
	}
	if err := m.StoreOffering(t.Context(), offering()); err != nil {
		t.Fatal(err)
	}
	if err := m.StoreSubscription(t.Context(), subscription(subscriptionUID)); err != nil {
		t.Fatal(err)
	}

	before := count.Count()
	got, ok, err := m.Subscription(t.Context(), subscriptionUID)
	if !ok || err != nil {
		t.Fatalf("Subscription(...): ok %t, error %v", ok, err)
	}
	hash, err := subscription(subscriptionUID).Hash()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(mirror.Recorded{ID: got.ID, Hash: hash, OfferingUID: offeringUID}, got); diff != "" {
		t.Errorf("Subscription(...): -want, +got:\n%s", diff)
	}
	if after := count.Count(); after != before {
		t.Errorf("looking up what is known cost %d statements", after-before)
	}

	// Of one that is gone nothing is remembered; another process still reads it.
	m.ForgetSubscription(subscriptionUID)
	if _, ok, err := m.Subscription(t.Context(), subscriptionUID); ok || err != nil {
		t.Errorf("Subscription(...) of one that is forgotten: ok %t, error %v", ok, err)
	}

	// Another process reads the same from the database.
	fresh := mirror.New(&source{pool: pool}, "default", clk)
	again, ok, err := fresh.Subscription(t.Context(), subscriptionUID)
	if !ok || err != nil {
		t.Fatalf("Subscription(...) of a new process: ok %t, error %v", ok, err)
	}
	if diff := cmp.Diff(got, again); diff != "" {
		t.Errorf("a new process knows something else: -want, +got:\n%s", diff)
	}
}

func TestOneRefusedObjectDoesNotStopTheOthers(t *testing.T) {
	pool, _ := open(t)
	clk := clocktesting.NewFakePassiveClock(time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC))
	m := mirror.New(&source{pool: pool}, "default", clk)

	none, large := subscription(subscriptionUID), subscription(subscriptionUID)
	none.UID = "none"
	noise := make([]byte, 8<<10) // What repeats itself would be compressed.
	for i := range noise {
		noise[i] = 'a' + byte(rand.IntN(26))
	}
	large.NamespaceLabels = map[string]string{"stakater.com/tenant": string(noise)} // No entry of an index is that large.
	for what, refused := range map[string]postgres.Subscription{"no uid": none, "a tenant of eight kilobytes": large} {
		if err := m.StoreSubscription(t.Context(), refused); err == nil {
			t.Fatalf("StoreSubscription(...) took an object with %s", what)
		}
		if err := m.StoreSubscription(t.Context(), subscription(otherUID)); err != nil {
			t.Errorf("StoreSubscription(...) of another object after one with %s: %v", what, err)
		}
	}
}

func TestADatabaseThatFailedIsLeftAlone(t *testing.T) {
	pool, count := open(t)
	clk := clocktesting.NewFakePassiveClock(time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC))
	m := mirror.New(&source{pool: pool}, "default", clk)
	if err := m.StoreSubscription(t.Context(), subscription(subscriptionUID)); err != nil {
		t.Fatal(err)
	}

	if _, err := pool.Exec(t.Context(), "ALTER TABLE subscriptions RENAME TO away"); err != nil {
		t.Fatal(err)
	}
	if err := m.StoreSubscription(t.Context(), subscription(otherUID)); err == nil {
		t.Fatal("StoreSubscription(...) into a table that is away succeeded")
	}

	before := count.Count()
	if _, _, err := m.Subscription(t.Context(), subscriptionUID); err == nil {
		t.Error("Subscription(...) answered from memory after a statement of unknown outcome")
	}
	if asked := count.Count() - before; asked != 0 {
		t.Errorf("%d statements reached a database that had just failed", asked)
	}

	if _, err := pool.Exec(t.Context(), "ALTER TABLE away RENAME TO subscriptions"); err != nil {
		t.Fatal(err)
	}
	clk.SetTime(clk.Now().Add(time.Minute))
	if _, ok, err := m.Subscription(t.Context(), subscriptionUID); !ok || err != nil {
		t.Errorf("Subscription(...) after the database is back: ok %t, error %v", ok, err)
	}
}

func TestNoDatabase(t *testing.T) {
	away := errors.New("cannot use the database yet")
	m := mirror.New(&source{err: away}, "default", clocktesting.NewFakePassiveClock(time.Time{}))
	if _, _, err := m.Offering(t.Context(), offeringUID); !errors.Is(err, away) {
		t.Errorf("Offering(...) without a database: got error %v, want %v", err, away)
	}

	var none *mirror.Mirror
	if err := none.StoreOffering(t.Context(), offering()); err != nil {
		t.Errorf("StoreOffering(...) of no mirror: %v", err)
	}
}

// TestStoredTogether stores many versions at once. They share statements, one
// that is refused fails alone, and each is remembered as what it was.
func TestStoredTogether(t *testing.T) {
	const n = 100
	pool, count := open(t)
	clk := clocktesting.NewFakePassiveClock(time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC))
	m := mirror.New(&source{pool: pool}, "default", clk)
	if _, _, err := m.Subscription(t.Context(), subscriptionUID); err != nil {
		t.Fatal(err)
	}
	before := count.Count()

	uid := func(i int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", i) }
	failed := make([]error, n)
	begin := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			s := subscription(uid(i))
			s.OfferingUID, s.ParentUID = uid(n+i), uid(2*n+i)
			if i == n/2 {
				s.UID = "none"
			}
			<-begin
			failed[i] = m.StoreSubscription(t.Context(), s)
		})
	}
	close(begin)
	all.Wait()

	for i, err := range failed {
		if (err != nil) != (i == n/2) {
			t.Errorf("StoreSubscription(...) of object %d: %v", i, err)
		}
		if i == n/2 {
			continue
		}
		got, ok, err := m.Subscription(t.Context(), uid(i))
		if !ok || err != nil || got.OfferingUID != uid(n+i) || got.ParentUID != uid(2*n+i) {
			t.Errorf("Subscription(%q): %+v, %t, %v", uid(i), got, ok, err)
		}
	}
	if statements := count.Count() - before; statements > n+20 { // Beside those of the batch with the refused one.
		t.Errorf("%d objects took %d statements", n, statements)
	}
}

// TestReturn checks that who could not record something is told once the
// database is back, and nobody is told as long as nobody missed it.
func TestReturn(t *testing.T) {
	pool, _ := open(t)
	clk := clocktesting.NewFakePassiveClock(time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC))
	src := &source{pool: pool}
	m := mirror.New(src, "default", clk)
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	one := reconcile.Request{NamespacedName: types.NamespacedName{Name: "one"}}
	if err := m.Returned(func(context.Context) []reconcile.Request { return []reconcile.Request{one} }).Start(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	probed := func() int {
		m.Probe(t.Context())
		n := q.Len()
		for range n {
			r, _ := q.Get()
			q.Done(r)
		}
		return n
	}

	if err := m.StoreSubscription(t.Context(), subscription(subscriptionUID)); err != nil {
		t.Fatal(err)
	}
	calm := probed()
	src.err = errors.New("the database is away")
	if err := m.StoreSubscription(t.Context(), subscription(otherUID)); err == nil {
		t.Fatal("StoreSubscription(...) without a database succeeded")
	}
	away := probed()
	src.err = nil
	if diff := cmp.Diff([]int{0, 0, 1, 0}, []int{calm, away, probed(), probed()}); diff != "" {
		t.Errorf("who looks before, during, at the return and after: -want +got:\n%s", diff)
	}
}

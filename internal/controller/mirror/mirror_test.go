package mirror_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	clocktesting "k8s.io/utils/clock/testing"

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

// counter counts statements.
type counter struct{ statements atomic.Int64 }

func (c *counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.statements.Add(1)
	return ctx
}

func (*counter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// open returns a migrated database whose statements are counted from here on.
func open(t *testing.T) (*pgxpool.Pool, *counter) {
	t.Helper()
	count := &counter{}
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

	before := count.statements.Load()
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
	if after := count.statements.Load(); after != before {
		t.Errorf("looking up what is known cost %d statements", after-before)
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

	refused := subscription(subscriptionUID)
	refused.ActivatedAt = clk.Now()
	refused.DeactivatedAt = clk.Now().Add(-time.Hour) // Against the constraint ends_after_it_began.
	if err := m.StoreSubscription(t.Context(), refused); err == nil {
		t.Fatal("StoreSubscription(...) took a life that ends before it began")
	}
	if err := m.StoreSubscription(t.Context(), subscription(otherUID)); err != nil {
		t.Errorf("StoreSubscription(...) of another object: %v", err)
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

	before := count.statements.Load()
	if _, _, err := m.Subscription(t.Context(), subscriptionUID); err == nil {
		t.Error("Subscription(...) answered from memory after a statement of unknown outcome")
	}
	if asked := count.statements.Load() - before; asked != 0 {
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

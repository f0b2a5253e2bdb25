package mirror_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/provider-finops/provider-finops/internal/controller/mirror"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// waitsForLock holds of a session that waits for what [hold] holds.
const waitsForLock = "state = 'active' AND wait_event_type = 'Lock'"

// TestADatabaseThatDoesNotAnswer has a load hang, as it does on a server whose
// disk stands still. Whoever decides about contracts asks the mirror first, so
// nobody may have to wait for the end of that.
func TestADatabaseThatDoesNotAnswer(t *testing.T) {
	clk := clocktesting.NewFakePassiveClock(time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC))

	t.Run("AfterAFailure", func(t *testing.T) {
		pool, _ := open(t)
		m := mirror.New(&source{pool: pool}, "default", clk)
		if _, err := pool.Exec(t.Context(), "ALTER TABLE subscriptions RENAME TO away"); err != nil {
			t.Fatal(err)
		}
		if err := m.StoreSubscription(t.Context(), subscription(subscriptionUID)); err == nil {
			t.Fatal("StoreSubscription(...) without a table reports no error")
		}
		if _, err := pool.Exec(t.Context(), "ALTER TABLE away RENAME TO subscriptions"); err != nil {
			t.Fatal(err)
		}

		answer := hold(t, pool)
		probed := make(chan struct{})
		go func() {
			defer close(probed)
			m.Probe(t.Context())
		}()
		pgtest.Await(t, pool, waitsForLock)

		asked := make(chan error, 1)
		go func() {
			_, _, err := m.Subscription(t.Context(), subscriptionUID)
			asked <- err
		}()
		select {
		case err := <-asked:
			if err == nil {
				t.Error("Subscription(...) knows what nobody has read")
			}
		case <-probed:
			t.Error("Subscription(...) waits for the probe of a database that has failed")
		}

		answer()
		<-probed
		if _, _, err := m.Subscription(t.Context(), subscriptionUID); err != nil {
			t.Errorf("Subscription(...) once the database answers: %v", err)
		}
	})

	t.Run("AtTheStart", func(t *testing.T) {
		pool, _ := open(t)
		m := mirror.New(&source{pool: pool}, "default", clk)
		answer := hold(t, pool)
		first := make(chan error, 1)
		go func() {
			_, _, err := m.Subscription(t.Context(), subscriptionUID)
			first <- err
		}()
		pgtest.Await(t, pool, waitsForLock)

		given, giveUp := context.WithCancel(t.Context())
		giveUp()
		second := make(chan error, 1)
		go func() {
			_, _, err := m.Subscription(given, subscriptionUID)
			second <- err
		}()
		select {
		case err := <-second:
			if err == nil {
				t.Error("Subscription(...) knows what nobody has read")
			}
		case <-first:
			t.Error("Subscription(...) waits on although its caller has given up")
		}

		third := make(chan error, 1)
		go func() {
			_, _, err := m.Subscription(t.Context(), subscriptionUID)
			third <- err
		}()
		answer()
		if err := <-first; err != nil {
			t.Errorf("Subscription(...) that was slow: %v", err)
		}
		if err := <-third; err != nil {
			t.Errorf("Subscription(...) that waited for the first: %v", err)
		}
	})
}

// hold keeps everybody from reading Subscriptions, until the function it returns
// is called.
func hold(t *testing.T, pool *pgxpool.Pool) func() {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), pool.Config().ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	if _, err := conn.Exec(t.Context(), "BEGIN; LOCK TABLE subscriptions IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	return func() {
		if _, err := conn.Exec(t.Context(), "COMMIT"); err != nil {
			t.Fatal(err)
		}
	}
}

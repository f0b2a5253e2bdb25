package postgres_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

var charging = postgres.LockKey{Work: "charge-collection", Scope: cluster}

const waitingSQL = `SELECT EXISTS (SELECT FROM pg_locks AS l JOIN pg_database AS d ON d.oid = l.database
	WHERE l.locktype = 'advisory' AND NOT l.granted AND d.datname = current_database())`

func TestLockIsExclusive(t *testing.T) {
	db := pgtest.Database(t)
	var inside, tooMany atomic.Int32
	var group errgroup.Group
	for range 6 {
		group.Go(func() error {
			return postgres.WithLock(t.Context(), db.Pool, charging, patience, func(ctx context.Context) error {
				if inside.Add(1) > 1 {
					tooMany.Add(1)
				}
				defer inside.Add(-1)
				_, err := db.Pool.Exec(ctx, "SELECT 1")
				return err
			})
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if n := tooMany.Load(); n > 0 {
		t.Errorf("%d began while another worked", n)
	}
}

func TestLockTaken(t *testing.T) {
	cases := map[string]struct {
		reason string
		key    postgres.LockKey
		wait   time.Duration
		want   error
	}{
		"Try":          {reason: "Who does not wait learns it at once.", key: charging, want: postgres.ErrLockTaken},
		"WaitInVain":   {reason: "BETTER-CJ-10: a second run waits, then gives up.", key: charging, wait: 100 * time.Millisecond, want: postgres.ErrLockTaken},
		"OtherCluster": {reason: "Clusters that share a database do not wait for each other.", key: postgres.LockKey{Work: charging.Work, Scope: "elsewhere"}},
		"OtherWork":    {reason: "Collecting does not wait for charging.", key: postgres.LockKey{Work: "allocation-collection", Scope: cluster}, wait: patience},
	}
	db := pgtest.Database(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := postgres.WithLock(t.Context(), db.Pool, charging, 0, func(ctx context.Context) error {
				ran := false
				err := postgres.WithLock(ctx, db.Pool, tc.key, tc.wait, func(context.Context) error {
					ran = true
					return nil
				})
				if !errors.Is(err, tc.want) || ran != (tc.want == nil) {
					t.Errorf("%s\nwant %v, got %v, ran: %t", tc.reason, tc.want, err, ran)
				}
				return nil
			})
			if err != nil {
				t.Errorf("the holder: %v", err)
			}
		})
	}
}

// TestLockWaits has a second one wait until the first is done.
func TestLockWaits(t *testing.T) {
	db := pgtest.Database(t)
	var order []string
	var mutex sync.Mutex
	note := func(what string) {
		mutex.Lock()
		defer mutex.Unlock()
		order = append(order, what)
	}
	var group errgroup.Group
	second := func() error {
		return postgres.WithLock(t.Context(), db.Pool, charging, patience, func(context.Context) error {
			note("second")
			return nil
		})
	}
	err := postgres.WithLock(t.Context(), db.Pool, charging, 0, func(ctx context.Context) error {
		group.Go(second)
		await(ctx, t, db.DSN, waitingSQL)
		note("first")
		return nil
	})
	if err := errors.Join(err, group.Wait()); err != nil {
		t.Fatal(err)
	}
	if len(order) != 2 || order[0] != "first" {
		t.Errorf("order of work: %v", order)
	}
}

// TestLockLost ends the session that holds the lock: the holder is told, and
// somebody else can have it.
func TestLockLost(t *testing.T) {
	db := pgtest.Database(t)
	err := postgres.WithLock(t.Context(), db.Pool, charging, 0, func(held context.Context) error {
		exec1(context.WithoutCancel(held), t, db.DSN, `SELECT pg_terminate_backend(l.pid) FROM pg_locks AS l JOIN pg_database AS d ON d.oid = l.database
			WHERE l.locktype = 'advisory' AND d.datname = current_database()`)
		<-held.Done()
		return held.Err()
	})
	if !errors.Is(err, postgres.ErrLockLost) || !errors.Is(err, context.Canceled) {
		t.Errorf("want both %v and what the work returned, got %v", postgres.ErrLockLost, err)
	}
	// The server says goodbye before it frees what the session held.
	if err := postgres.WithLock(t.Context(), db.Pool, charging, patience, func(context.Context) error { return nil }); err != nil {
		t.Errorf("the next one: %v", err)
	}
}

// TestLockAndCancel ends the caller's context while it holds and while it
// waits: both return, and the lock is free.
func TestLockAndCancel(t *testing.T) {
	db := pgtest.Database(t)
	ctx, cancel := context.WithCancel(t.Context())
	var group errgroup.Group
	err := postgres.WithLock(ctx, db.Pool, charging, 0, func(held context.Context) error {
		group.Go(func() error {
			return postgres.WithLock(ctx, db.Pool, charging, patience, func(context.Context) error { return nil })
		})
		await(held, t, db.DSN, waitingSQL)
		cancel()
		<-held.Done()
		return held.Err()
	})
	if !errors.Is(err, context.Canceled) || errors.Is(err, postgres.ErrLockLost) {
		t.Errorf("the holder: want %v, got %v", context.Canceled, err)
	}
	if err := group.Wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("the waiter: want %v, got %v", context.Canceled, err)
	}
	if err := postgres.WithLock(t.Context(), db.Pool, charging, patience, func(context.Context) error { return nil }); err != nil {
		t.Errorf("the next one: %v", err)
	}
}

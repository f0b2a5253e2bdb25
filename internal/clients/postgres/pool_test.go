package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

func TestPoolSettings(t *testing.T) {
	cases := map[string]struct {
		reason string
		config postgres.Config
		query  string
		want   string
	}{
		"Application": {
			reason: "An operator sees in pg_stat_activity who is connected.",
			config: postgres.Config{},
			query:  "SELECT current_setting('application_name')",
			want:   "provider-finops",
		},
		"ApplicationOfMode": {
			reason: "Each mode has its name.",
			config: postgres.Config{Application: "provider-finops cronjob"},
			query:  "SELECT current_setting('application_name')",
			want:   "provider-finops cronjob",
		},
		"Schema": {
			reason: "The schema named is the whole search path: nothing of ours is found elsewhere by chance.",
			config: postgres.Config{Schema: `Billing "A"`},
			query:  "SELECT current_setting('search_path')",
			want:   `"Billing ""A"""`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.config.DSN = pgtest.Empty(t)
			pool, err := postgres.Open(t.Context(), tc.config)
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			var got string
			if err := pool.QueryRow(t.Context(), tc.query).Scan(&got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestInstantsAreUTC reads in a process and a session that live elsewhere.
func TestInstantsAreUTC(t *testing.T) {
	db := pgtest.Database(t)
	exec1(t.Context(), t, db.DSN, `ALTER DATABASE `+db.Pool.Config().ConnConfig.Database+` SET timezone = 'Asia/Kathmandu'`)
	db.Pool.Reset()
	var got time.Time
	if err := db.Pool.QueryRow(t.Context(), "SELECT $1::timestamptz", aprilNoon.In(time.FixedZone("", -3600))).Scan(&got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(aprilNoon.String(), got.String()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestDeadConnections ends every session of a pool, as a failover or an
// operator would. The next statement succeeds, and soon.
func TestDeadConnections(t *testing.T) {
	dsn := pgtest.Empty(t)
	pool, err := postgres.Open(t.Context(), postgres.Config{DSN: dsn + "&pool_max_conns=1"})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	for range 3 {
		var pid int
		if err := pool.QueryRow(t.Context(), "SELECT pg_backend_pid()").Scan(&pid); err != nil {
			t.Fatalf("a statement after the sessions were ended: %v", err)
		}
		exec1(t.Context(), t, dsn, fmt.Sprintf("SELECT pg_terminate_backend(%d)", pid))
		// Gone, and rested for longer than the pool trusts a connection.
		await(t.Context(), t, dsn, `SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1)
			AND clock_timestamp() - backend_start > interval '100 milliseconds'
			 FROM pg_stat_activity WHERE pid = pg_backend_pid()`, pid)

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if _, err := pool.Exec(ctx, "SELECT 1"); err != nil {
			t.Errorf("the next statement: %v", err)
		}
		cancel()
	}
}

// TestPoolIsSmall runs many statements at once and counts sessions: known
// from another project as thousands of connections an hour.
func TestPoolIsSmall(t *testing.T) {
	dsn := pgtest.Empty(t)
	pool, err := postgres.Open(t.Context(), postgres.Config{DSN: dsn, Application: "crowd"})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	var group errgroup.Group
	group.SetLimit(64)
	for i := range 2000 {
		group.Go(func() error {
			_, err := postgres.StoreOfferings(t.Context(), pool, cluster, aprilNoon,
				offering(fmt.Sprintf("00000000-0000-4000-8000-%012d", i), "base", `{}`))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	sessions := value[int](t, dsn, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'crowd'")
	if made := pool.Stat().NewConnsCount(); sessions > 4 || made > 10 {
		t.Errorf("2000 mirrored objects: want at most 4 sessions and 10 connections made, got %d and %d", sessions, made)
	}
}

// TestReturningServer has the server refuse for a while. The pool is usable
// again without being made anew.
func TestReturningServer(t *testing.T) {
	db := pgtest.Database(t)
	name := db.Pool.Config().ConnConfig.Database
	admin := pgtest.Admin(t).ConnString()
	exec1(t.Context(), t, admin, "ALTER DATABASE "+name+" ALLOW_CONNECTIONS false",
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '"+name+"'")
	await(t.Context(), t, admin, "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = $1)", name)
	if _, err := db.Pool.Exec(t.Context(), "SELECT 1"); err == nil {
		t.Error("the server is away: want an error")
	}
	exec1(t.Context(), t, admin, "ALTER DATABASE "+name+" ALLOW_CONNECTIONS true")
	if _, err := db.Pool.Exec(t.Context(), "SELECT 1"); err != nil {
		t.Errorf("the server is back: %v", err)
	}
}

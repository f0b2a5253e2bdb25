package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/collection"
	"github.com/provider-finops/provider-finops/internal/testkit/invariants"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

const patience = 2 * time.Minute

func exec1(ctx context.Context, t *testing.T, dsn string, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

func value[T any](t *testing.T, dsn, sql string, args ...any) T {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	var v T
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// await asks the server until it says yes.
func await(ctx context.Context, t *testing.T, dsn, sql string, args ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for yes := false; !yes; {
		if err := conn.QueryRow(ctx, sql, args...).Scan(&yes); err != nil {
			t.Fatalf("waiting for %s: %v", sql, err)
		}
	}
}

// migrator is a process that opens the database.
func migrator(t *testing.T, dsn string, env ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), append(env, migratorVariable+"="+dsn)...)
	cmd.Stdout, cmd.Stderr = &out, &out
	return cmd, &out
}

func files(t *testing.T, contents map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range contents {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestProcessesMigrateAtOnce starts eight processes on an empty database: one
// does the work, all succeed.
func TestProcessesMigrateAtOnce(t *testing.T) {
	for name, schema := range map[string]string{"OwnSearchPath": "", "SchemaOfOurs": "billing of acme"} {
		t.Run(name, func(t *testing.T) {
			dsn := pgtest.Empty(t)
			const processes = 8
			outputs := make([]*bytes.Buffer, processes)
			var group errgroup.Group
			for i := range processes {
				cmd, out := migrator(t, dsn, "FINOPS_DB_SCHEMA="+schema)
				outputs[i] = out
				group.Go(cmd.Run)
			}
			err := group.Wait()
			migrated := 0
			for _, out := range outputs {
				if strings.HasPrefix(out.String(), "migrated from 0 to ") {
					migrated++
				} else if out.Len() > 0 {
					t.Errorf("a process said: %s", out)
				}
			}
			if err != nil || migrated != 1 {
				t.Errorf("want one process that migrates and none that fails, got %d, %v", migrated, err)
			}
			if schema != "" {
				return // What holds is looked up on the connection's own search path.
			}
			pool, err := postgres.NewPool(t.Context(), postgres.Config{DSN: dsn, Application: "pgtest"})
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			if err := postgres.ClaimCluster(t.Context(), pool, postgres.Owner{ClusterID: cluster, Identity: "first"}); err != nil {
				t.Fatal(err) // Nobody can be audited of whom nothing is known.
			}
			invariants.Check(t, invariants.World{DB: pool, Cluster: cluster, Aggregation: collection.DefaultAggregation})
		})
	}
}

// TestGoroutinesMigrateAtOnce is the same within one process, over pools of
// their own and through the public call.
func TestGoroutinesMigrateAtOnce(t *testing.T) {
	dsn := pgtest.Empty(t)
	var group errgroup.Group
	for range 8 {
		group.Go(func() error {
			pool, err := postgres.Open(t.Context(), postgres.Config{DSN: dsn})
			if err == nil {
				pool.Close()
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Errorf("one of eight failed: %v", err)
	}
}

// TestWorksWithNewer: whoever says so works with what a newer release has made
// of the schema, and leaves it as it is (OPEN-DB-9, part 70.8).
func TestWorksWithNewer(t *testing.T) {
	dsn := pgtest.Empty(t)
	first, err := postgres.Open(t.Context(), postgres.Config{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	first.Close()
	exec1(t.Context(), t, dsn, "UPDATE finops_schema_migrations SET version = version + 1", "ALTER TABLE offerings ADD COLUMN next_release text")

	if pool, err := postgres.Open(t.Context(), postgres.Config{DSN: dsn}); err == nil {
		pool.Close()
		t.Error("A controller of this release works on the next one's schema.")
	}
	pool, err := postgres.Open(t.Context(), postgres.Config{DSN: dsn, WorksWithNewer: true, OnMigrated: func(from, to uint) {
		t.Errorf("migrated from %d to %d", from, to)
	}})
	if err != nil {
		t.Fatalf("A run of this release does not work on the next one's schema: %v", err)
	}
	pool.Close()
}

func TestMigrateRefuses(t *testing.T) {
	cases := map[string]struct {
		reason string
		before []string
		schema string
		want   string
	}{
		"Newer": {
			reason: "OPEN-DB-9: an old binary does not touch a schema it does not know.",
			before: []string{
				"CREATE TABLE finops_schema_migrations (version bigint not null primary key, dirty boolean not null)",
				"INSERT INTO finops_schema_migrations VALUES (9999, false)",
			},
			want: `cannot use schema "public": it is at version 9999 and this release knows 17; run the release that upgraded it, or a newer one`,
		},
		"Dirty": {
			reason: "Somebody ran another tool; only a person can say what state it left.",
			before: []string{
				"CREATE TABLE finops_schema_migrations (version bigint not null primary key, dirty boolean not null)",
				"INSERT INTO finops_schema_migrations VALUES (3, true)",
			},
			want: `cannot use schema "public": migration 3 is marked dirty in finops_schema_migrations, by hand or by another tool; ` +
				`find out whether its changes are there, then set version to 3 if they are or 2 if not, and dirty to false`,
		},
		"Foreign": {
			reason: "OPEN-DB-1: tables of another installation are never altered.",
			before: []string{
				"CREATE TABLE subscription_charges (id int)",
				"CREATE TABLE schema_migrations (version bigint, dirty boolean)",
			},
			want: `cannot use schema "public": it holds a table "subscription_charges" that another installation made; ` +
				`set FINOPS_DB_SCHEMA to keep our tables in a schema of their own`,
		},
		"ForeignView": {
			reason: "The view is a documented name, too.",
			before: []string{"CREATE VIEW mv_provider_allocations_summary AS SELECT 1"},
			want: `cannot use schema "public": it holds a table "mv_provider_allocations_summary" that another installation made; ` +
				`set FINOPS_DB_SCHEMA to keep our tables in a schema of their own`,
		},
		"ForeignInOurSchema": {
			reason: "The schema named is the one that counts.",
			before: []string{`CREATE SCHEMA "Billing"`, `CREATE TABLE "Billing".offerings (id int)`},
			schema: "Billing",
			want: `cannot use schema "Billing": it holds a table "offerings" that another installation made; ` +
				`set FINOPS_DB_SCHEMA to keep our tables in a schema of their own`,
		},
		"NoSchema": {
			reason: "Nowhere to create anything.",
			before: []string{"DROP SCHEMA public"},
			want:   "cannot find a schema to work in: no schema of the search path exists",
		},
		"ReservedSchema": {
			reason: "PostgreSQL would refuse it later, with less to say.",
			schema: "pg_finops",
			want:   `cannot use schema "pg_finops": PostgreSQL keeps that name for itself`,
		},
		"LongSchema": {
			reason: "PostgreSQL would cut it short without a word.",
			schema: strings.Repeat("s", 64),
			want:   `cannot use schema "` + strings.Repeat("s", 64) + `": the name is longer than 63 bytes`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dsn := pgtest.Empty(t)
			exec1(t.Context(), t, dsn, tc.before...)
			pool, err := postgres.Open(t.Context(), postgres.Config{DSN: dsn, Schema: tc.schema})
			if err == nil {
				pool.Close()
				t.Fatalf("%s\nwant a refusal", tc.reason)
			}
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestForeignTablesElsewhere keeps its tables beside those of another
// installation, as the refusal advises.
func TestForeignTablesElsewhere(t *testing.T) {
	dsn := pgtest.Empty(t)
	exec1(t.Context(), t, dsn, "CREATE TABLE offerings (theirs int)", "INSERT INTO offerings VALUES (1)")
	pool, err := postgres.Open(t.Context(), postgres.Config{DSN: dsn, Schema: "finops"})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if _, err := postgres.StoreOfferings(t.Context(), pool, cluster, aprilNoon, offering(uidA, "base", `{}`)); err != nil {
		t.Fatal(err)
	}
	got := []int{
		value[int](t, dsn, "SELECT count(*) FROM public.offerings WHERE theirs = 1"),
		value[int](t, dsn, "SELECT count(*) FROM finops.offerings"),
		value[int](t, dsn, "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"),
	}
	if diff := cmp.Diff([]int{1, 1, 1}, got); diff != "" {
		t.Errorf("theirs, ours, relations in theirs: -want, +got:\n%s", diff)
	}
	made, err := postgres.EnsureMonths(t.Context(), pool, aprilNoon, aprilNoon)
	if err != nil || made != 2 {
		t.Errorf("months in a schema of ours: want 2, got %d, %v", made, err)
	}
}

// TestKilledWhileMigrating kills a process in the middle of its second
// migration. The next one goes on by itself: nothing is dirty, nothing half.
func TestKilledWhileMigrating(t *testing.T) {
	dsn := pgtest.Empty(t)
	slow := map[string]string{
		"0001_one.up.sql": "CREATE TABLE one (n int);",
		"0002_two.up.sql": "CREATE TABLE two (n int); SELECT pg_sleep(600); -- The last line is a comment without an end",
	}
	cmd, out := migrator(t, dsn, "FINOPS_MIGRATION_DIR="+files(t, slow))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await(t.Context(), t, dsn, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database())")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatalf("the process was not killed: %s", out)
	}

	if diff := cmp.Diff("1/false", value[string](t, dsn, "SELECT version || '/' || dirty FROM finops_schema_migrations")); diff != "" {
		t.Errorf("version after the kill: -want, +got:\n%s", diff)
	}

	// The server has not noticed yet: the statement still runs. A successor
	// waits for it as long as it may, and says so.
	quick := map[string]string{"0001_one.up.sql": slow["0001_one.up.sql"], "0002_two.up.sql": "CREATE TABLE two (n int);"}
	dir := files(t, quick)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if pool, err := postgres.Open(ctx, postgres.Config{DSN: dsn, MigrationDir: dir}); !errors.Is(err, context.DeadlineExceeded) {
		if err == nil {
			pool.Close()
		}
		t.Errorf("while the old statement runs: want a deadline, got %v", err)
	}

	exec1(t.Context(), t, dsn, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()")
	pool, err := postgres.Open(t.Context(), postgres.Config{DSN: dsn, MigrationDir: dir})
	if err != nil {
		t.Fatalf("the next process: %v", err)
	}
	pool.Close()
	if diff := cmp.Diff("2/false", value[string](t, dsn, "SELECT version || '/' || dirty FROM finops_schema_migrations")); diff != "" {
		t.Errorf("version after the next process: -want, +got:\n%s", diff)
	}
}

// TestFailingMigration leaves the schema where it was, and says which line.
func TestFailingMigration(t *testing.T) {
	dsn := pgtest.Empty(t)
	broken := files(t, map[string]string{
		"0001_one.up.sql": "CREATE TABLE one (n int);",
		"0002_two.up.sql": "CREATE TABLE two (n int);\nINSERT INTO three VALUES (1);",
	})
	pool, err := postgres.Open(t.Context(), postgres.Config{DSN: dsn, MigrationDir: broken})
	if err == nil {
		pool.Close()
		t.Fatal("want an error")
	}
	want := `cannot apply migration 2, line 2: ERROR: relation "three" does not exist (SQLSTATE 42P01)`
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	got := value[string](t, dsn, "SELECT version || '/' || dirty || '/' || (to_regclass('two') IS NULL) FROM finops_schema_migrations")
	if diff := cmp.Diff("1/false/true", got); diff != "" {
		t.Errorf("version, dirty, nothing half done: -want, +got:\n%s", diff)
	}
}

func TestMigrationDir(t *testing.T) {
	cases := map[string]struct {
		reason string
		dir    string
		want   string
	}{
		"Missing": {
			reason: "FINOPS_MIGRATION_DIR wins, so a wrong one is an error and not the embedded files.",
			dir:    "/does/not/exist",
			want:   `cannot read the migrations of "/does/not/exist": failed to init driver with path .: open .: no such file or directory`,
		},
		"Empty": {
			reason: "A folder without migrations is a mistake.",
			dir:    files(t, map[string]string{"README.md": "nothing"}),
			want:   "cannot find any migration in",
		},
	}
	dsn := pgtest.Empty(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pool, err := postgres.Open(t.Context(), postgres.Config{DSN: dsn, MigrationDir: tc.dir})
			if err == nil {
				pool.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\nwant an error with %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}

// TestRights runs with a role that may not create anything: an up-to-date
// schema is all it needs, an old one is refused with the reason.
func TestRights(t *testing.T) {
	dsn := pgtest.Empty(t)
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	role := "finops_reader_" + strings.TrimPrefix(u.Path, "/finops_test_")
	exec1(t.Context(), t, dsn,
		fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD 'reader'", role),
		"REVOKE CREATE ON SCHEMA public FROM PUBLIC")
	t.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), dsn)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close(context.Background()) }()
		for _, sql := range []string{"DROP OWNED BY " + role, "DROP ROLE " + role} {
			if _, err := conn.Exec(context.Background(), sql); err != nil {
				t.Error(err)
			}
		}
	})
	u.User = url.UserPassword(role, "reader")
	reader := u.String()

	pool, err := postgres.Open(t.Context(), postgres.Config{DSN: reader})
	if err == nil {
		pool.Close()
	}
	if want := "permission denied for schema public"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("an old schema without rights: want an error with %q, got %v", want, err)
	}

	if pool, err = postgres.Open(t.Context(), postgres.Config{DSN: dsn}); err != nil {
		t.Fatal(err)
	}
	pool.Close()
	exec1(t.Context(), t, dsn, "GRANT SELECT ON ALL TABLES IN SCHEMA public TO "+role)
	if pool, err = postgres.Open(t.Context(), postgres.Config{DSN: reader}); err != nil {
		t.Fatalf("an up-to-date schema without rights: %v", err)
	}
	pool.Close()
}

package migrations_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sync/errgroup"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	instant, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return instant
}

func months(t *testing.T, db postgres.DB, of string) []string {
	t.Helper()
	rows, err := db.Query(t.Context(), `
		SELECT c.relname || ' ' || pg_get_expr(c.relpartbound, c.oid)
		  FROM pg_inherits AS i
		  JOIN pg_class AS c ON c.oid = i.inhrelid
		 WHERE i.inhparent = to_regclass($1)
		 ORDER BY c.relname`, of)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestMonthsAtTheEdges(t *testing.T) {
	db := pgtest.Database(t)
	// A session elsewhere must not move the edges: months are UTC.
	conn := connect(t, db.DSN)
	if _, err := conn.Exec(t.Context(), "SET timezone = 'Pacific/Kiritimati'"); err != nil {
		t.Fatal(err)
	}
	for table, column := range map[string]string{"provider_allocations": "hour", "subscription_charges": "window_start"} {
		for _, name := range months(t, db.Pool, table) {
			month, _, _ := strings.Cut(name, " ")
			if _, err := db.Pool.Exec(t.Context(), "DROP TABLE "+month); err != nil {
				t.Fatalf("cannot drop %s, partitioned by %s: %v", month, column, err)
			}
		}
	}

	var made int
	err := conn.QueryRow(t.Context(), "SELECT finops_ensure_months('2027-12-31T23:59:59.999999Z', '2028-02-29T23:00:00Z')").Scan(&made)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(6, made); diff != "" {
		t.Errorf("three months of two tables: -want, +got:\n%s", diff)
	}
	want := []string{
		"subscription_charges_2027_12 FOR VALUES FROM ('2027-12-01 00:00:00+00') TO ('2028-01-01 00:00:00+00')",
		"subscription_charges_2028_01 FOR VALUES FROM ('2028-01-01 00:00:00+00') TO ('2028-02-01 00:00:00+00')",
		"subscription_charges_2028_02 FOR VALUES FROM ('2028-02-01 00:00:00+00') TO ('2028-03-01 00:00:00+00')",
	}
	if diff := cmp.Diff(want, monthsInUTC(t, db)); diff != "" {
		t.Errorf("months of charges: -want, +got:\n%s", diff)
	}

	// The last hour of a year and the first of the next lie in different months.
	history(t, db.Pool)
	charge := good["subscription_charges"]
	for start, home := range map[string]string{
		"2027-12-31T23:00:00Z": "subscription_charges_2027_12",
		"2028-01-01T00:00:00Z": "subscription_charges_2028_01",
		"2028-02-29T23:00:00Z": "subscription_charges_2028_02",
	} {
		row := charge.with(record{"window_start": start, "window_end": at(t, start).Add(time.Hour)})
		if err := insert(t, db.Pool, "subscription_charges", row); err != nil {
			t.Errorf("window %s: %v", start, err)
			continue
		}
		var got string
		err := db.Pool.QueryRow(t.Context(),
			"SELECT tableoid::regclass::text FROM subscription_charges WHERE window_start = $1", at(t, start)).Scan(&got)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(home, got); diff != "" {
			t.Errorf("window %s: -want, +got:\n%s", start, diff)
		}
	}

	// Nobody made March, and nothing catches its rows in silence.
	march := charge.with(record{"window_start": "2028-03-01T00:00:00Z", "window_end": "2028-03-01T01:00:00Z"})
	var refused *pgconn.PgError
	if err := insert(t, db.Pool, "subscription_charges", march); !errors.As(err, &refused) || refused.Code != pgerrcode.CheckViolation {
		t.Errorf("a month that nobody made: want a refusal, got %v", err)
	}
}

func monthsInUTC(t *testing.T, db pgtest.DB) []string {
	t.Helper()
	conn := connect(t, db.DSN)
	if _, err := conn.Exec(t.Context(), "SET timezone = 'UTC'"); err != nil {
		t.Fatal(err)
	}
	return months(t, conn, "subscription_charges")
}

func TestFirstMonths(t *testing.T) {
	db := pgtest.Database(t)
	var now time.Time
	if err := db.Pool.QueryRow(t.Context(), "SELECT now()").Scan(&now); err != nil {
		t.Fatal(err)
	}
	made, err := postgres.EnsureMonths(t.Context(), db.Pool, now, now.AddDate(0, 1, 0))
	if made != 0 || err != nil {
		t.Errorf("the migrations left out %d months of this time, %v", made, err)
	}
}

func TestEnsureMonths(t *testing.T) {
	cases := map[string]struct {
		reason      string
		first, last string
		want        int
		refused     string
	}{
		"CloseOutYearsAhead": {
			reason: "OPEN-CJ-23: the closing tick of a period of 999 months, and only its month.",
			first:  "2110-01-31T23:00:00Z", last: "2110-01-31T23:00:00Z",
			want: 2,
		},
		"LongCatchUp": {
			reason: "A Subscription that was activated long ago is charged from its beginning.",
			first:  "2019-05-01T00:00:00Z", last: "2020-04-30T23:00:00Z",
			want: 24,
		},
		"Backwards": {
			reason: "No span.",
			first:  "2027-02-01T00:00:00Z", last: "2027-01-01T00:00:00Z",
			refused: "not a span of time",
		},
		"SlipOfThePen": {
			reason: "A wrong unit must not make a hundred thousand tables.",
			first:  "2026-11-01T00:00:00Z", last: "9999-01-01T00:00:00Z",
			refused: "more than 1200 at once",
		},
	}
	db := pgtest.Database(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := postgres.EnsureMonths(t.Context(), db.Pool, at(t, tc.first), at(t, tc.last))
			if tc.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tc.refused) {
					t.Errorf("%s\nwant an error with %q, got %v", tc.reason, tc.refused, err)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			again, err := postgres.EnsureMonths(t.Context(), db.Pool, at(t, tc.first), at(t, tc.last))
			if again != 0 || err != nil {
				t.Errorf("a second call made %d months, %v", again, err)
			}
		})
	}
}

// TestMonthsByManyAtOnce lets eight callers miss the same months, while a
// transaction that has written to another month stays open.
func TestMonthsByManyAtOnce(t *testing.T) {
	db := pgtest.Database(t)
	history(t, db.Pool)

	writer := connect(t, db.DSN)
	tx, err := writer.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for table, row := range map[string]record{
		"subscription_charges": good["subscription_charges"], "provider_allocations": good["provider_allocations"],
	} {
		if err := insert(t, tx, table, row); err != nil {
			t.Fatal(err)
		}
	}

	const callers = 8
	made := make([]int, callers)
	var group errgroup.Group
	for i := range callers {
		conn := connect(t, db.DSN)
		group.Go(func() error {
			return conn.QueryRow(t.Context(), "SELECT finops_ensure_months('2030-01-01Z', '2030-06-01Z')").Scan(&made[i])
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatalf("a caller failed: %v", err)
	}
	sum := 0
	for _, n := range made {
		sum += n
	}
	if diff := cmp.Diff(12, sum); diff != "" {
		t.Errorf("months made by all callers: -want, +got:\n%s", diff)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Errorf("the writer was disturbed: %v", err)
	}
}

// TestMonthsWithoutRights shows that a collector needs no right to create
// tables, and that nobody can call the function who was not let.
func TestMonthsWithoutRights(t *testing.T) {
	db := pgtest.Database(t)
	role := "finops_runner_" + strings.TrimPrefix(db.Pool.Config().ConnConfig.Database, "finops_test_")
	admin := db.Pool
	for _, sql := range []string{
		"CREATE ROLE " + role + " LOGIN",
		"CREATE SCHEMA mine AUTHORIZATION " + role,
	} {
		if _, err := admin.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, sql := range []string{"DROP OWNED BY " + role + " CASCADE", "DROP ROLE " + role} {
			if _, err := admin.Exec(context.Background(), sql); err != nil {
				t.Errorf("%s: %v", sql, err)
			}
		}
	})

	as := func(sql string) error {
		return pgx.BeginFunc(t.Context(), admin, func(tx pgx.Tx) error {
			// A table of the caller's own, in front of ours, must not be taken for it.
			for _, prepare := range []string{
				"SET LOCAL ROLE " + role,
				"SET LOCAL search_path = mine, public",
				"CREATE TABLE IF NOT EXISTS mine.subscription_charges (window_start timestamptz) PARTITION BY RANGE (window_start)",
				"CREATE TEMPORARY TABLE IF NOT EXISTS provider_allocations (hour timestamptz) ON COMMIT DROP",
			} {
				if _, err := tx.Exec(t.Context(), prepare); err != nil {
					return fmt.Errorf("%s: %w", prepare, err)
				}
			}
			_, err := tx.Exec(t.Context(), sql)
			return err
		})
	}

	call := "SELECT public.finops_ensure_months('2031-01-01Z', '2031-01-01Z')"
	var refused *pgconn.PgError
	if err := as(call); !errors.As(err, &refused) || refused.Code != pgerrcode.InsufficientPrivilege {
		t.Errorf("a role without EXECUTE: want a refusal, got %v", err)
	}
	if _, err := admin.Exec(t.Context(), "GRANT EXECUTE ON FUNCTION finops_ensure_months TO "+role); err != nil {
		t.Fatal(err)
	}
	if err := as(call); err != nil {
		t.Fatalf("a role with EXECUTE: %v", err)
	}
	want := "public.subscription_charges_2031_01"
	var got *string
	if err := admin.QueryRow(t.Context(), "SELECT to_regclass($1)::text", want).Scan(&got); err != nil || got == nil {
		t.Errorf("the month of the real table is missing: %v", err)
	}
	if left := months(t, admin, "mine.subscription_charges"); len(left) != 0 {
		t.Errorf("the caller's own table got months: %v", left)
	}
}

func TestDetachedMonth(t *testing.T) {
	db := pgtest.Database(t)
	june := at(t, "2031-06-01T00:00:00Z")
	if _, err := postgres.EnsureMonths(t.Context(), db.Pool, june, june); err != nil {
		t.Fatal(err)
	}
	_, err := db.Pool.Exec(t.Context(), "ALTER TABLE subscription_charges DETACH PARTITION subscription_charges_2031_06")
	if err != nil {
		t.Fatal(err)
	}
	_, err = postgres.EnsureMonths(t.Context(), db.Pool, june, june)
	if want := "table public.subscription_charges_2031_06 exists but is no partition of subscription_charges"; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("want an error with %q, got %v", want, err)
	}
}

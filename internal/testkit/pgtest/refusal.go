package pgtest

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// A Refusal is a way in which a server that is there refuses to work, for a while.
type Refusal struct {
	Reason string
	Says   string // In every error that comes from it.

	// Make returns a database, the DSN that the refused are given, and what begins
	// the refusal. That returns what ends it.
	Make func(t testing.TB) (db DB, dsn string, begin func() (end func()))
}

// Refusals are all there are.
func Refusals() map[string]Refusal {
	return map[string]Refusal{
		"DiskFull": {
			Reason: "Nothing can be written any more.", Says: "No space left on device",
			Make: func(t testing.TB) (DB, string, func() func()) {
				t.Helper()
				db := Own(t).OnSmallDisk()
				return db, db.DSN, func() func() { return Fill(t, db.Pool) }
			},
		},
		"ReadOnly": {
			Reason: "It is a standby, or somebody has frozen it.", Says: "in a read-only transaction",
			Make: func(t testing.TB) (DB, string, func() func()) {
				t.Helper()
				db := Database(t)
				return db, db.DSN, func() func() {
					alter(t, db, "ALTER DATABASE %s SET default_transaction_read_only = on")
					return func() { alter(t, db, "ALTER DATABASE %s RESET default_transaction_read_only") }
				}
			},
		},
		"TooManyConnections": {
			Reason: "Others have taken all connections but one.", Says: "too many connections",
			Make: func(t testing.TB) (DB, string, func() func()) {
				t.Helper()
				db := Database(t)
				dsn, alterRole := Role(t, db)
				return db, dsn, func() func() {
					alterRole("CONNECTION LIMIT 1")
					return func() { alterRole("CONNECTION LIMIT -1") }
				}
			},
		},
		"StatementTimeout": {
			Reason: "Somebody works on the tables for longer than statements may take.", Says: "canceling statement due to statement timeout",
			Make: func(t testing.TB) (DB, string, func() func()) {
				t.Helper()
				db := Database(t)
				return db, db.DSN, func() func() {
					alter(t, db, "ALTER DATABASE %s SET statement_timeout = '500ms'")
					worker, err := pgx.ConnectConfig(t.Context(), db.Pool.Config().ConnConfig)
					if err != nil {
						t.Fatal(err)
					}
					if _, err := worker.Exec(t.Context(), "SET statement_timeout = 0; BEGIN; LOCK TABLE provider_allocations, subscriptions, subscription_watermarks IN SHARE MODE"); err != nil {
						t.Fatal(err)
					}
					return func() {
						alter(t, db, "ALTER DATABASE %s RESET statement_timeout")
						_ = worker.Close(context.Background())
					}
				}
			},
		},
	}
}

// Role returns the DSN of a role that may what the database's owner may, and what
// alters that role and nobody else, as in "CONNECTION LIMIT 17".
func Role(t testing.TB, db DB) (dsn string, alterRole func(how string)) {
	t.Helper()
	u, err := url.Parse(db.DSN)
	if err != nil {
		t.Fatal(err)
	}
	role := "finops_role_" + strings.TrimPrefix(u.Path, "/finops_test_")
	alter(t, db, "CREATE ROLE "+role+" LOGIN PASSWORD 'role'")
	t.Cleanup(func() {
		if err := execOn(context.Background(), Admin(t), "DROP ROLE "+role); err != nil {
			t.Error(err)
		}
	})
	alter(t, db, "GRANT "+pgx.Identifier{db.Pool.Config().ConnConfig.User}.Sanitize()+" TO "+role)
	u.User = url.UserPassword(role, "role")
	return u.String(), func(how string) {
		t.Helper()
		alter(t, db, "ALTER ROLE "+role+" "+how)
	}
}

// alter runs a statement, in which %s is the name of the database, as superuser
// beside it.
func alter(t testing.TB, db DB, sql string) {
	t.Helper()
	sql = strings.ReplaceAll(sql, "%s", pgx.Identifier{db.Pool.Config().ConnConfig.Database}.Sanitize())
	if err := execOn(context.Background(), Admin(t), sql); err != nil {
		t.Fatalf("cannot run %q: %v", sql, err)
	}
}

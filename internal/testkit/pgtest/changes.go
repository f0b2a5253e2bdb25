package pgtest

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Change is how often rows of a table were written, as the server counts.
type Change struct {
	Inserted int64
	Updated  int64
	Deleted  int64
}

// Changes returns the server's tuple counters of every table, so that a test
// can prove that something wrote nothing: equal dumps would not show a row
// that was replaced by its equal. It counts what was rolled back, too.
//
// The counters arrive when a session reports them, at the latest when it ends;
// so the sessions of the pool are ended and their reports awaited. Sessions of
// anybody else have to have been closed by the test.
func Changes(t testing.TB, pool *pgxpool.Pool) map[string]Change {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	pool.Reset()
	conn, err := pgx.ConnectConfig(ctx, pool.Config().ConnConfig)
	if err != nil {
		t.Fatalf("cannot read the tuple counters: %v", err)
	}
	defer func() { _ = conn.Close(context.Background()) }()

	for others := 1; others > 0; {
		if err := conn.QueryRow(ctx, othersSQL).Scan(&others); err != nil {
			t.Fatalf("cannot wait until %d other sessions of the database have ended: %v", others, err)
		}
	}

	rows, err := conn.Query(ctx, changesSQL)
	if err != nil {
		t.Fatalf("cannot read the tuple counters: %v", err)
	}
	changes := map[string]Change{}
	var table string
	var c Change
	_, err = pgx.ForEachRow(rows, []any{&table, &c.Inserted, &c.Updated, &c.Deleted}, func() error {
		changes[table] = c
		return nil
	})
	if err != nil {
		t.Fatalf("cannot read the tuple counters: %v", err)
	}
	return changes
}

// patience is how long sessions may take to end once they were told to.
const patience = time.Minute

const (
	othersSQL = `
SELECT count(*)
  FROM pg_stat_activity
 WHERE datname = current_database()
   AND backend_type = 'client backend'
   AND pid <> pg_backend_pid()`

	changesSQL = `
SELECT relname::text, n_tup_ins, n_tup_upd, n_tup_del
  FROM pg_stat_user_tables
 WHERE n_tup_ins + n_tup_upd + n_tup_del > 0
 ORDER BY relname`
)

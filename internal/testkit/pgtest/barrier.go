package pgtest

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// StopAt makes the server wait when it is about to insert a row, NEW, of a table
// for which a condition holds, and strikes then. What it returns lets the server
// go on, and waits for the striker.
func StopAt(t testing.TB, pool *pgxpool.Pool, table, condition string, strike func()) (release func()) {
	t.Helper()
	const barrier = 4711
	holder, err := pgx.ConnectConfig(t.Context(), pool.Config().ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	_, err = holder.Exec(t.Context(), fmt.Sprintf(`SELECT pg_advisory_lock(%[1]d);
		CREATE OR REPLACE FUNCTION stop_at() RETURNS trigger LANGUAGE plpgsql AS
		$$BEGIN IF %[3]s THEN PERFORM pg_advisory_xact_lock(%[1]d); END IF; RETURN NEW; END$$;
		DROP TRIGGER IF EXISTS stop_at ON %[2]s;
		CREATE TRIGGER stop_at BEFORE INSERT ON %[2]s FOR EACH ROW EXECUTE FUNCTION stop_at()`, barrier, table, condition))
	if err != nil {
		t.Fatal(err)
	}
	struck := make(chan struct{})
	go func() {
		defer close(struck)
		strike()
	}()
	return func() {
		<-struck
		_ = holder.Close(context.Background())
	}
}

// Await waits until there is a session, but for the asking one, of which something
// holds that pg_stat_activity tells.
func Await(t testing.TB, pool *pgxpool.Pool, condition string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for there := false; !there; {
		err := pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND `+condition+")").Scan(&there)
		if err != nil {
			t.Errorf("cannot wait for a session of which %s: %v", condition, err)
			return
		}
	}
}

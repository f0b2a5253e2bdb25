package pgtest

import (
	"errors"
	"testing"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Fill writes until the disk is full: first much at a time, then page by page.
// What it returns makes room again.
func Fill(t testing.TB, pool *pgxpool.Pool) (empty func()) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), "CREATE TABLE ballast (filler TEXT NOT NULL); ALTER TABLE ballast ALTER COLUMN filler SET STORAGE PLAIN"); err != nil {
		t.Fatal(err)
	}
	for _, rows := range []int{1000, 100, 10, 1} {
		for full := false; !full; {
			_, err := pool.Exec(t.Context(), "INSERT INTO ballast SELECT repeat('x', 8000) FROM generate_series(1, $1::int)", rows)
			var failed *pgconn.PgError
			switch {
			case errors.As(err, &failed) && failed.Code == pgerrcode.DiskFull:
				full = true
			case err != nil:
				t.Fatal(err)
			}
		}
	}
	return func() {
		t.Helper()
		if _, err := pool.Exec(t.Context(), "DROP TABLE ballast"); err != nil {
			t.Fatal(err)
		}
	}
}

package pgtest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

func TestDatabasesAreApart(t *testing.T) {
	first, second := pgtest.Database(t), pgtest.Database(t)

	_, err := first.Pool.Exec(t.Context(),
		"INSERT INTO subscription_watermarks (cluster_id, subscription_uid, finalized_through, updated_at) "+
			"VALUES ('c', gen_random_uuid(), '2026-04-01T10:00:00Z', '2026-04-01T11:00:00Z')")
	if err != nil {
		t.Fatalf("cannot write to the first database: %v", err)
	}

	got := map[string]int{}
	for name, db := range map[string]pgtest.DB{"first": first, "second": second} {
		rows, err := db.Pool.Query(t.Context(), "SELECT count(*) FROM subscription_watermarks")
		if err != nil {
			t.Fatalf("cannot read the %s database: %v", name, err)
		}
		if got[name], err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[int]); err != nil {
			t.Fatalf("cannot read the %s database: %v", name, err)
		}
	}
	if diff := cmp.Diff(map[string]int{"first": 1, "second": 0}, got); diff != "" {
		t.Errorf("rows of the two databases: -want, +got:\n%s", diff)
	}
}

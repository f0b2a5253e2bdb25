package docs_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

func TestDatabasePageIsComplete(t *testing.T) {
	page := read(t, "reference/database.md")
	db := pgtest.Database(t)
	rows, err := db.Pool.Query(t.Context(), `
		SELECT c.relname || '.' || a.attname
		  FROM pg_class AS c
		  JOIN pg_attribute AS a ON a.attrelid = c.oid
		 WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'm') AND NOT c.relispartition
		   AND a.attnum > 0 AND NOT a.attisdropped AND c.relname <> 'finops_schema_migrations'
		 ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	columns, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if len(columns) < 80 {
		t.Fatalf("only %d columns", len(columns))
	}
	lacking := map[string]bool{}
	for _, c := range columns {
		table, column, _ := strings.Cut(c, ".")
		for _, word := range missing(page, []string{table, column}) {
			lacking[word] = true
		}
	}
	if diff := cmp.Diff(map[string]bool{}, lacking); diff != "" {
		t.Errorf("tables and columns that are not explained: -want, +got:\n%s", diff)
	}
}

// TestQueriesRun runs every query of the documentation.
func TestQueriesRun(t *testing.T) {
	db := pgtest.Database(t)
	role := "finops_runner"
	ran := 0
	for _, page := range pages(t) {
		for _, block := range blocks(t, page, "sql") {
			for query := range strings.SplitSeq(block, ";") {
				query = strings.TrimSpace(query)
				if query == "" {
					continue
				}
				ran++
				if err := run(t, db, query, role); err != nil {
					t.Errorf("%s:\n%s\n%v", page, query, err)
				}
			}
		}
	}
	if ran < 8 {
		t.Errorf("only %d queries", ran)
	}
}

var droppedMonth = regexp.MustCompile(`DROP TABLE (\w+?)_(\d{4})_(\d{2})$`)

// run runs a query in a transaction of its own, in which what it presupposes
// exists, and takes everything back.
func run(t *testing.T, db pgtest.DB, query, role string) error {
	t.Helper()
	tx, err := db.Pool.Begin(t.Context())
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	if strings.Contains(query, role) {
		if _, err := tx.Exec(t.Context(), "CREATE ROLE "+role); err != nil {
			return err
		}
	}
	if m := droppedMonth.FindStringSubmatch(query); m != nil {
		if _, err := tx.Exec(t.Context(), "SELECT finops_ensure_months($1::text::timestamptz, $1::text::timestamptz)", m[2]+"-"+m[3]+"-01Z"); err != nil {
			return err
		}
	}
	_, err = tx.Exec(t.Context(), query)
	return err
}

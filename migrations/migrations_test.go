package migrations_test

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/golang-migrate/migrate/v4"
	migratepgx "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
	"github.com/provider-finops/provider-finops/migrations"
)

//go:embed testdata/schema.sql
var schemaSQL string

// schema describes what is in the current schema.
func schema(t *testing.T, dsn string) []string {
	t.Helper()
	conn := connect(t, dsn)
	rows, err := conn.Query(t.Context(), schemaSQL)
	if err != nil {
		t.Fatalf("cannot describe the schema: %v", err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("cannot describe the schema: %v", err)
	}
	return lines
}

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatalf("cannot connect: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// library drives the files by the plain migration library, which is how people
// who ship them in /migrations would.
func library(t *testing.T, dsn string) *migrate.Migrate {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	driver, err := migratepgx.WithInstance(stdlib.OpenDB(*config), &migratepgx.Config{MigrationsTable: "finops_schema_migrations"})
	if err != nil {
		t.Fatal(err)
	}
	files, err := iofs.New(migrations.Files, ".")
	if err != nil {
		t.Fatal(err)
	}
	m, err := migrate.NewWithInstance("files", files, "pgx5", driver)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if fromFiles, fromDatabase := m.Close(); fromFiles != nil || fromDatabase != nil {
			t.Errorf("closing the migrations: %v, %v", fromFiles, fromDatabase)
		}
	})
	return m
}

func TestUpDownUp(t *testing.T) {
	dsn := pgtest.Empty(t)
	m := library(t, dsn)
	empty := schema(t, dsn)

	if err := m.Up(); err != nil {
		t.Fatalf("up: %v", err)
	}
	first := schema(t, dsn)
	if len(first) < 100 {
		t.Fatalf("the schema has only %d lines", len(first))
	}

	if err := m.Down(); err != nil {
		t.Fatalf("down: %v", err)
	}
	if diff := cmp.Diff(empty, schema(t, dsn)); diff != "" {
		t.Errorf("down left or took something: -before, +after:\n%s", diff)
	}

	if err := m.Up(); err != nil {
		t.Fatalf("up again: %v", err)
	}
	if diff := cmp.Diff(first, schema(t, dsn)); diff != "" {
		t.Errorf("up, down, up: -first, +second:\n%s", diff)
	}
}

// TestEachStepBack goes one step up, back and up again at every migration, so
// that no down file leaves something to a later one.
func TestEachStepBack(t *testing.T) {
	dsn := pgtest.Empty(t)
	m := library(t, dsn)
	for {
		before := schema(t, dsn)
		err := m.Steps(1)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		version, _, err := m.Version()
		if err != nil {
			t.Fatal(err)
		}
		after := schema(t, dsn)

		if err := m.Steps(-1); err != nil {
			t.Fatalf("step down from %d: %v", version, err)
		}
		// The months of the last one hold bills: they stay until their tables go.
		if got := schema(t, dsn); !strings.Contains(strings.Join(after, "\n"), "subscription_charges_20") {
			if diff := cmp.Diff(before, got); diff != "" {
				t.Errorf("step down from %d: -want, +got:\n%s", version, diff)
			}
		}
		if err := m.Steps(1); err != nil {
			t.Fatalf("step up to %d again: %v", version, err)
		}
		if diff := cmp.Diff(after, schema(t, dsn)); diff != "" {
			t.Errorf("step up to %d again: -first, +second:\n%s", version, diff)
		}
	}
}

func TestFilesComeInPairs(t *testing.T) {
	names, err := fs.Glob(migrations.Files, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	form := regexp.MustCompile(`^(\d{4})_([a-z_]+)\.(up|down)\.sql$`)
	var want, got []string
	for _, name := range names {
		parts := form.FindStringSubmatch(name)
		if parts == nil {
			t.Errorf("file %q: want a name like 0001_pricebooks.up.sql", name)
			continue
		}
		got = append(got, name)
		if n := fmt.Sprintf("%04d", len(want)/2+1); parts[3] == "down" {
			want = append(want, n+"_"+parts[2]+".down.sql", n+"_"+parts[2]+".up.sql")
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("numbered pairs without gaps: -want, +got:\n%s", diff)
	}
}

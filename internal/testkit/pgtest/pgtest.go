// Package pgtest gives tests databases on a real PostgreSQL server: the one
// named by FINOPS_TEST_POSTGRES (the DSN of a superuser), or else one that the
// harness runs for as long as the test binary lives. A server that cannot be
// had fails the test; nothing is skipped.
package pgtest

import (
	"context"
	"net"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
)

// A DB is a database that exists for one test.
type DB struct {
	Pool *pgxpool.Pool

	// DSN is what a process under test would get as its
	// POSTGRES_CONNECTION_STRING.
	DSN string
}

// Database returns a fresh, migrated database. It is dropped when the test
// ends, whoever is still connected.
func Database(t testing.TB) DB {
	t.Helper()
	dsn := Empty(t)
	pool, err := postgres.Open(t.Context(), postgres.Config{DSN: dsn, Application: "pgtest"})
	if err != nil {
		t.Fatalf("cannot open the test's database: %v", err)
	}
	t.Cleanup(pool.Close)
	return DB{Pool: pool, DSN: dsn}
}

// Run runs statements, of which there may be many in the text.
func (db DB) Run(t testing.TB, sql string) {
	t.Helper()
	err := db.Pool.AcquireFunc(t.Context(), func(conn *pgxpool.Conn) error {
		_, err := conn.Conn().PgConn().Exec(t.Context(), sql).ReadAll()
		return err
	})
	if err != nil {
		t.Fatalf("cannot run %q: %v", sql, err)
	}
}

// Empty returns the DSN of a fresh database in which nothing was migrated.
func Empty(t testing.TB) string {
	t.Helper()
	admin := Admin(t)
	name := "finops_test_" + strings.ReplaceAll(uuid.NewString(), "-", "")[:20]
	quoted := pgx.Identifier{name}.Sanitize()
	if err := execOn(t.Context(), admin, "CREATE DATABASE "+quoted+" TEMPLATE template0 ENCODING 'UTF8'"); err != nil {
		t.Fatalf("cannot create database %q: %v", name, err)
	}
	t.Cleanup(func() {
		if err := execOn(context.Background(), admin, "DROP DATABASE IF EXISTS "+quoted+" WITH (FORCE)"); err != nil {
			t.Errorf("cannot drop database %q: %v", name, err)
		}
	})
	return urlOf(admin, name)
}

// Admin returns the superuser's connection to the server, for tests that
// change roles, end sessions or look at other databases.
func Admin(t testing.TB) *pgx.ConnConfig {
	t.Helper()
	dsn, err := server()
	if err != nil {
		t.Fatal(err)
	}
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatalf("cannot parse the test server's DSN: %v", err)
	}
	return config
}

// urlOf writes a connection as a URL to another database of the same server.
func urlOf(config *pgx.ConnConfig, database string) string {
	u := url.URL{Scheme: "postgres", Path: "/" + database, User: url.User(config.User)}
	if config.Password != "" {
		u.User = url.UserPassword(config.User, config.Password)
	}
	query := url.Values{}
	if strings.HasPrefix(config.Host, "/") {
		query.Set("host", config.Host)
		query.Set("port", strconv.Itoa(int(config.Port)))
	} else {
		u.Host = net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))
	}
	if config.TLSConfig == nil {
		query.Set("sslmode", "disable")
	}
	u.RawQuery = query.Encode()
	return u.String()
}

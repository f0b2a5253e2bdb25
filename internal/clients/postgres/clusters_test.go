package postgres_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// TestTwoClustersOfOneID lets several clusters use a database, one after the
// other. An id is kept for the first that used it (opencost#3823).
func TestTwoClustersOfOneID(t *testing.T) {
	steps := []struct {
		reason string
		owner  postgres.Owner
		want   string
	}{
		{"The first one is welcome.", postgres.Owner{ClusterID: "default", Identity: "a"}, ""},
		{"It comes back.", postgres.Owner{ClusterID: "default", Identity: "a"}, ""},
		{
			"Another one that has left the id as it was would take the rows of the first for its own.",
			postgres.Owner{ClusterID: "default", Identity: "b"},
			`cannot use cluster id "default": it is another cluster's, whose namespace kube-system has the uid "a" and not "b"; give each cluster a CLUSTER_ID of its own`,
		},
		{"With an id of its own it is welcome.", postgres.Owner{ClusterID: "b", Identity: "b"}, ""},
		{"Who does not know which cluster it is cannot be told from the first.", postgres.Owner{ClusterID: "default"}, ""},
		{"A cluster may have two ids.", postgres.Owner{ClusterID: "a", Identity: "a"}, ""},
	}
	dsn := pgtest.Empty(t)
	for _, step := range steps {
		pool, err := postgres.Open(t.Context(), postgres.Config{DSN: dsn, Owner: step.owner})
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			pool.Close()
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%s\n-want, +got:\n%s", step.reason, diff)
		}
	}

	pool, err := postgres.Open(t.Context(), postgres.Config{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	before := pgtest.Changes(t, pool)
	if err := postgres.ClaimCluster(t.Context(), pool, steps[0].owner); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, pgtest.Changes(t, pool)); diff != "" {
		t.Errorf("an id that is claimed already: -before, +after:\n%s", diff)
	}
}

// slow is a database to which somebody else gets before each command.
type slow struct {
	*pgxpool.Pool

	before func()
}

func (s slow) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	s.before()
	return s.Pool.Exec(ctx, sql, args...)
}

// TestTwoClustersAtOnce has two clusters find that nobody has an id yet. It is kept
// for the faster one.
func TestTwoClustersAtOnce(t *testing.T) {
	pool := pgtest.Database(t).Pool
	faster := postgres.Owner{ClusterID: "default", Identity: "a"}
	late := slow{Pool: pool, before: func() {
		if err := postgres.ClaimCluster(t.Context(), pool, faster); err != nil {
			t.Error(err)
		}
	}}
	err := postgres.ClaimCluster(t.Context(), late, postgres.Owner{ClusterID: "default", Identity: "b"})
	if err == nil || !strings.Contains(err.Error(), "it is another cluster's") {
		t.Errorf("the slower one: got error %v", err)
	}
	if err := postgres.ClaimCluster(t.Context(), pool, faster); err != nil {
		t.Errorf("the faster one: %v", err)
	}
}

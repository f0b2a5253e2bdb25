// Package invariants says what holds after whatever has gone wrong. The API
// server and the database are looked at together, by rules that are written down
// here once more, in other words than those of the product: no index, no cache,
// no plan.
//
//	I1   one row for a Subscription, an hour and a source, never below zero
//	I2   what is final does not change
//	I3   rows, buckets and what is computed again agree, to the micro
//	I4   nothing is charged outside of a life, and no hour of it is left out
//	I5   an end is written once, and never before the beginning
//	I6   who is active is covered, and so is the parent
//	I7   who has gone is settled
//	I8   the same run again changes nothing
//	I9   then there is rest
//	I10  every run is recorded once, and the records are few
//	I11  nobody is left in a transaction, connected, or holding a lock
package invariants

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A World is what is looked at. What a test does not have is left nil, and what
// is said of it is not checked.
type World struct {
	// API reads from the server itself.
	API client.Client

	// DB is the test's own way into the database, which runs do not share.
	DB      *pgxpool.Pool
	Cluster string

	// Aggregation is how the rows of the cluster were measured.
	Aggregation string

	// Before is what was final at an earlier moment, see [Remember].
	Before Past

	// Replay does the last run again (I8).
	Replay func() error

	// Rest is for how many looks in a row nothing may change (I9), where
	// controllers are at work.
	Rest int

	// Records is how many runs were to be recorded on a CostJob (I10).
	Records map[types.NamespacedName]int

	// Sessions is how many connections the product may hold now (I11): none when
	// all runs are over.
	Sessions int

	// Patience is how long what has to come true may take, some minutes if it is
	// not set.
	Patience time.Duration
}

// Check fails the test for everything that does not hold.
func Check(t testing.TB, w World) {
	t.Helper()
	found, err := w.Violations(t)
	if err != nil {
		t.Errorf("cannot check the invariants: %v", err)
	}
	if len(found) > 0 {
		t.Errorf("what has to hold after everything does not:\n%s", strings.Join(found, "\n"))
	}
}

// Violations are all sentences about what does not hold. They begin with the
// number of the invariant.
func (w World) Violations(t testing.TB) ([]string, error) {
	t.Helper()
	checks := []func(context.Context) ([]string, error){}
	if w.DB != nil {
		checks = append(checks, w.rows, w.past, w.recomputed)
	}
	if w.API != nil {
		checks = append(checks, w.lives, w.families, w.records)
	}
	if w.API != nil && w.DB != nil {
		checks = append(checks, w.buckets, w.departed)
	}
	if w.API != nil && w.Rest > 0 {
		checks = append(checks, w.rest)
	}
	if w.DB != nil {
		checks = append(checks, w.sessions)
	}

	var all []string
	for _, check := range checks {
		found, err := check(t.Context())
		all = append(all, found...)
		if err != nil {
			return all, err
		}
	}
	if w.DB != nil && w.Replay != nil {
		all = append(all, w.replay(t)...)
	}
	return all, nil
}

// texts runs a query of one text column.
func (w World) texts(ctx context.Context, sql string, args ...any) ([]string, error) {
	rows, err := w.DB.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

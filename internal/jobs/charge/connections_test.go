package charge_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/provider-finops/provider-finops/internal/testkit/invariants"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// runName is how the runs of these tests show among the server's sessions.
const runName = "charges under test"

// A severer ends all sessions of a run at its n-th statement, as a server does
// that restarts. The statement itself goes on, into a connection that is dead or
// about to be.
type severer struct {
	stage *stage
	at    int
	steps int
}

func (s *severer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	if s.steps++; s.steps == s.at {
		s.stage.exec(`
			SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			 WHERE datname = current_database() AND application_name = $1`, runName)
	}
	return ctx
}

func (*severer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TestConnectionsLost ends the sessions of a run at one statement after the
// other. The run ends too, and the next one leaves what an undisturbed one
// leaves (F3).
func TestConnectionsLost(t *testing.T) {
	db := pgtest.Database(t)
	undisturbed := faultyStage(t, db, "connected")
	counter := &severer{stage: undisturbed}
	settings := undisturbed.settings
	settings.Database.Tracer = counter
	undisturbed.must(undisturbed.runWith(settings, pinned))
	want := undisturbed.outcome()

	for n := 2; n <= counter.steps; n += 3 {
		t.Run(fmt.Sprintf("Statement%d", n), func(t *testing.T) {
			s := faultyStage(t, db, fmt.Sprintf("severed-at-%d", n))
			settings := s.settings
			settings.Database.Application = runName
			settings.Database.Tracer = &severer{stage: s, at: n}
			if err := s.runWith(settings, pinned); err != nil {
				t.Logf("statement %d of %d: %v", n, counter.steps, err)
			}
			before := invariants.Remember(t, s.world())
			s.mustRun(pinned)
			if diff := cmp.Diff(want, s.outcome()); diff != "" {
				t.Errorf("After a loss at statement %d of %d and another run: -undisturbed, +got:\n%s", n, counter.steps, diff)
			}
			s.holds(before, pinned)
		})
	}
}

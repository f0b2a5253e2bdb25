package charge_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// runName is how the runs of these tests show among the server's sessions.
const runName = "charges under test"

// TestConnectionsLost ends the sessions of a run before one step after the other, as
// a server does that restarts. What is to be sent then goes into a connection that is
// dead or about to be. The run ends too, or goes on by itself, and the next one leaves
// what an undisturbed one leaves (F3).
func TestConnectionsLost(t *testing.T) {
	db := pgtest.Database(t)
	want, steps := undisturbed(t, db)
	for n := 2; n <= steps; n += 3 {
		t.Run(fmt.Sprintf("Step%d", n), func(t *testing.T) {
			s := faultyStage(t, db, fmt.Sprintf("severed-at-%d", n))
			settings := s.settings
			settings.Database.Application = runName
			var ended []string
			settings.Database.Tracer = &pgtest.Steps{At: n, Strike: func(*pgx.Conn) {
				ended = s.lines(`
					SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity
					 WHERE datname = current_database() AND application_name = $1`, runName)
			}}
			err := s.runWith(settings, pinned)
			if len(ended) == 0 {
				t.Errorf("Before step %d of %d the run had no session that could be ended", n, steps)
			}
			s.recovers(err, want)
		})
	}
}

package charge_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/provider-finops/provider-finops/internal/testkit/invariants"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// every is at which steps of a run the server crashes: at each fifteenth, unless
// more are asked for.
var every = flag.Int("every", 15, "crash the server at each so-many-th step")

// undisturbed is what a run leaves behind that nothing happens to, and how many
// steps it takes.
func undisturbed(t *testing.T, db pgtest.DB) (outcome []string, steps int) {
	t.Helper()
	s := faultyStage(t, db, "undisturbed")
	counted := &pgtest.Steps{}
	settings := s.settings
	settings.Database.Tracer = counted
	s.must(s.runWith(settings, pinned))
	if steps = counted.Count(); steps < 30 {
		t.Fatalf("a run takes %d steps; they are not all seen", steps)
	}
	return s.outcome(), steps
}

// TestServerCrashes has the database's server crash and come back in the middle
// of a run, before one statement or COPY after the other: what is not committed is
// gone, and so are the connections. The run ends, or goes on by itself, and the next
// one leaves what an undisturbed one leaves (F3).
func TestServerCrashes(t *testing.T) {
	server := pgtest.Own(t)
	db := server.Database()
	want, steps := undisturbed(t, db)
	for n := 1; n <= steps; n += *every {
		t.Run(fmt.Sprintf("Step%d", n), func(t *testing.T) {
			s := faultyStage(t, db, fmt.Sprintf("crashed-at-%d", n))
			settings := s.settings
			crashed := false
			settings.Database.Tracer = &pgtest.Steps{At: n, Strike: func(*pgx.Conn) {
				server.Crash()
				server.Resume()
				crashed = true
			}}
			err := s.runWith(settings, pinned)
			if !crashed {
				t.Errorf("There was no step %d of %d", n, steps)
			}
			db.Pool.Reset() // The test's own connections are gone, too.
			s.recovers(err, want)
		})
	}
}

// pinned is the hour of the run that everything happens to.
const pinned = "2026-04-30T11:00:00Z"

// recovers runs once more what ended with an error, or without, and wants the
// outcome of an undisturbed run.
func (s *stage) recovers(err error, want []string) {
	s.Helper()
	if diff := cmp.Diff(want, s.outcome()); err == nil && diff != "" {
		s.Errorf("The run says that it succeeded: -undisturbed, +got:\n%s", diff)
	}
	before := invariants.Remember(s.T, s.world())
	s.mustRun(pinned)
	if diff := cmp.Diff(want, s.outcome()); diff != "" {
		s.Errorf("After %v, and another run: -undisturbed, +got:\n%s", err, diff)
	}
	s.holds(before, pinned)
}

// TestNobodyHeardTheCommit loses the answer to one commit after the other: the
// server has done it, the run cannot know, and the next one finds it done (F3).
func TestNobodyHeardTheCommit(t *testing.T) {
	db := pgtest.Database(t)
	want, _ := undisturbed(t, db)
	line := pgtest.NewLine(t, db.DSN)
	for n := 1; ; n++ {
		s := faultyStage(t, db, fmt.Sprintf("unheard-%d", n))
		settings := s.settings
		settings.Database.DSN = line.DSN
		line.CutAfter(n)
		err := s.runWith(settings, pinned)
		if line.Commits() < n { // There are no more.
			s.must(err)
			if n < 4 {
				t.Errorf("a run has %d commits; the line does not see them all", n-1)
			}
			break
		}
		s.recovers(err, want)
	}
}

// TestCrashInsideOfACopy has the server crash while the rows of an hour are being
// written, new ones and such as are compared with what is there (F3).
func TestCrashInsideOfACopy(t *testing.T) {
	server := pgtest.Own(t)
	db := server.Database()
	want, _ := undisturbed(t, db)
	s := faultyStage(t, db, "crashed")
	release := pgtest.StopAt(t, db.Pool, "subscription_charges", "NEW.cluster_id = 'crashed' AND NEW.window_start = '2026-04-30T05:00:00Z'", func() {
		pgtest.Await(t, db.Pool, "state = 'active' AND wait_event_type = 'Lock'")
		server.Crash()
		server.Resume()
	})
	err := s.run(pinned)
	release()
	db.Pool.Reset()
	if err == nil {
		t.Error("The run was cut off, and says that it succeeded")
	}
	s.recovers(err, want)
}

// TestServerRefuses lets a server that is there refuse to work. The run says why,
// nobody is let go, and afterwards the next one does it all (F4).
func TestServerRefuses(t *testing.T) {
	for name, refusal := range pgtest.Refusals() {
		t.Run(name, func(t *testing.T) {
			db, dsn, begin := refusal.Make(t)
			want, _ := undisturbed(t, db)
			s := faultyStage(t, db, "refused")
			settings := s.settings
			settings.Database.DSN = dsn
			end := begin()
			err := s.runWith(settings, pinned)
			if err == nil || !strings.Contains(err.Error(), refusal.Says) {
				t.Errorf("%s\nwant an error with %q, got %v", refusal.Reason, refusal.Says, err)
			}
			if s.gone("leaving") || len(s.get("metered").Status.Costs) > 0 {
				t.Errorf("%s\nsomebody was let go, or figures were published that are not stored", refusal.Reason)
			}
			end()
			s.recovers(err, want)
		})
	}
}

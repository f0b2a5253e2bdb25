package allocation

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// every is at which steps of a run the server crashes: at each fifteenth, unless
// more are asked for.
var every = flag.Int("every", 15, "crash the server at each so-many-th step")

// TestServerCrashes has the database's server crash and come back in the middle
// of a run, at one statement after the other and inside of a COPY. The next run
// leaves what an undisturbed one leaves (F3).
func TestServerCrashes(t *testing.T) {
	want := undisturbed(t)
	server := pgtest.Own(t)
	w := newStoryOn(t, server.Database())
	w.quiet()
	crash := func() {
		server.Crash()
		server.Resume()
	}

	statements := 1
	for ; ; statements += *every {
		w.before()
		w.opencost.answer(12, cutOff(at(12)))
		steps := &pgtest.Steps{At: statements, Strike: func(*pgx.Conn) { crash() }}
		err := w.run(t.Context(), 13, steps)
		if steps.Count() < statements {
			break // The run has fewer statements than this.
		}
		w.recovers(fmt.Sprintf("a crash before statement %d", statements), err, want)
	}
	if statements < 40 {
		t.Errorf("a run has %d statements; they are not all seen", statements)
	}

	for _, hour := range []int{10, 13} { // Compared with what is stored; copied into the table itself.
		w.before()
		w.opencost.answer(12, cutOff(at(12)))
		w.opencost.answer(hour, manyItems(at(hour)))
		release := pgtest.StopAt(t, w.database.Pool, "provider_allocations", "NEW.name = 'shop/pod-01000/app'", func() {
			pgtest.Await(t, w.database.Pool, "state = 'active' AND wait_event_type = 'Lock'")
			crash()
		})
		err := w.run(t.Context(), 13, nil)
		release()
		w.opencost.answer(hour, nil)
		if hour == 10 {
			w.opencost.answer(10, items(at(10), "shop/web-1/app web 10.5", "shop/web-2/app web 0.00011"))
		}
		w.recovers(fmt.Sprintf("a crash inside of the COPY of hour %d", hour), err, want)
	}
}

// recovers collects hour 13 once more after a run of it that has failed, and
// wants what an undisturbed run stores.
func (w *world) recovers(after string, err error, want []string) {
	w.t.Helper()
	w.database.Pool.Reset() // The test's own connections may be gone, too.
	if err == nil {
		w.t.Fatalf("after %s: the run says that it succeeded", after)
	}
	w.opencost.answer(12, nil)
	w.collect(13)
	if diff := cmp.Diff(want, withoutAttempts(w.dump())); diff != "" {
		w.t.Fatalf("after %s: -undisturbed, +run again:\n%s", after, diff)
	}
	w.holds(13)
}

// TestNobodyHeardTheCommit loses the answer to one commit after the other: the
// server has done it, the run cannot know, and the next one finds it done (F3).
func TestNobodyHeardTheCommit(t *testing.T) {
	want := undisturbed(t)
	w := newStory(t)
	w.quiet()
	line := pgtest.NewLine(t, w.database.DSN)
	for n := 1; ; n++ {
		w.before()
		w.opencost.answer(12, cutOff(at(12)))
		line.CutAfter(n)
		w.through = line.DSN
		err := w.run(t.Context(), 13, nil)
		w.through = ""
		if line.Commits() < n { // There are no more.
			if n < 4 {
				t.Errorf("a run has %d commits; the line does not see them all", n-1)
			}
			break
		}
		w.recovers(fmt.Sprintf("the loss of the answer to commit %d", n), err, want)
	}
}

// TestServerRefuses lets a server that is there refuse to work. The run says why
// and leaves nothing half done; afterwards the next one does it all (F4).
func TestServerRefuses(t *testing.T) {
	want := undisturbed(t)
	for name, refusal := range pgtest.Refusals() {
		t.Run(name, func(t *testing.T) {
			db, dsn, begin := refusal.Make(t)
			w := newStoryOn(t, db)
			w.quiet()
			w.through = dsn
			w.opencost.answer(13, manyItems(at(13))) // More than there is room for.
			before := w.stored()
			end := begin()
			err := w.run(t.Context(), 13, nil)
			if err == nil || !strings.Contains(err.Error(), refusal.Says) {
				t.Errorf("%s\nwant an error with %q, got %v", refusal.Reason, refusal.Says, err)
			}
			end()
			if diff := cmp.Diff(before, w.stored()); diff != "" {
				t.Errorf("%s\nwhat is stored: -before, +after:\n%s", refusal.Reason, diff)
			}
			w.opencost.answer(13, nil)
			w.recovers(name, err, want)
		})
	}
}

// stored are the rows of all hours that were not there before the story's run.
func (w *world) stored() []string {
	w.t.Helper()
	return w.list("SELECT hour || ' ' || name FROM provider_allocations WHERE hour > '2026-04-01T10:00:00Z' ORDER BY 1")
}

package allocation

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// before brings the world to where the runs of these tests begin: some hours are
// stored, and some of them will be answered otherwise from now on.
func (w *world) before() {
	w.t.Helper()
	w.opencost.answer(10, nil)
	if _, err := w.database.Pool.Exec(w.t.Context(), `DELETE FROM provider_allocations; DELETE FROM allocation_hours; DELETE FROM allocation_days;
		DELETE FROM current_pricebooks; DELETE FROM pricebooks; ALTER TABLE pricebooks ALTER COLUMN id RESTART; REFRESH MATERIALIZED VIEW mv_provider_allocations_summary`); err != nil {
		w.t.Fatal(err)
	}
	costJob := w.costJob() // Its history goes, too.
	costJob.Status = v1alpha1.CostJobStatus{}
	if err := w.kube.Status().Update(w.t.Context(), costJob); err != nil {
		w.t.Fatal(err)
	}
	w.collect(10)
	w.opencost.answer(10, items(at(10), "shop/web-1/app web 10.5", "shop/web-2/app web 0.00011"))
}

// newStory is a world in which the next run, of hour 13, has something of every
// kind to do: catch up with two hours, one of them stored already, store a
// window of two, one of which fails, settle and refresh.
func newStory(t *testing.T) *world { t.Helper(); return newStoryOn(t, pgtest.Database(t)) }

func newStoryOn(t *testing.T, db pgtest.DB) *world {
	t.Helper()
	w := newWorldOn(t, db)
	w.settings.Limits.LookbackHours = 1
	w.opencost.answer(12, cutOff(at(12)))
	w.before()
	return w
}

// undisturbed is what the story's database holds after runs that nobody cuts
// off. The last run finds the failed hour answered.
func undisturbed(t *testing.T) []string {
	t.Helper()
	w := newStory(t)
	w.fail(13)
	w.opencost.answer(12, nil)
	w.collect(13)
	return withoutAttempts(w.dump())
}

// withoutAttempts leaves out how often an hour has failed: a run that is cut
// off after it has written that down has counted, too.
func withoutAttempts(dump []string) []string {
	all := make([]string, 0, len(dump))
	for _, line := range dump {
		head, tail, found := strings.Cut(line, `"attempts": `)
		if found {
			_, tail, _ = strings.Cut(tail, ",")
			line = head + tail
		}
		all = append(all, line)
	}
	return all
}

// TestCutOffAtEveryStatement stops a run before each of its statements, in two
// ways, and runs it again: what is stored then is what an undisturbed run stores.
func TestCutOffAtEveryStatement(t *testing.T) {
	want := undisturbed(t)

	for name, how := range map[string]func(w *world, cancel context.CancelFunc, conn *pgx.Conn){
		"Stopped": func(_ *world, cancel context.CancelFunc, _ *pgx.Conn) { cancel() },
		"ConnectionTerminated": func(w *world, _ context.CancelFunc, conn *pgx.Conn) {
			w.terminate(fmt.Sprintf("pid = %d", conn.PgConn().PID()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newStory(t)
			w.quiet()

			statements := 1
			for ; ; statements++ {
				w.before()
				w.opencost.answer(12, cutOff(at(12)))

				ctx, cancel := context.WithCancel(t.Context())
				steps := &pgtest.Steps{At: statements, Strike: func(conn *pgx.Conn) { how(w, cancel, conn) }}
				err := w.run(ctx, 13, steps)
				cancel()
				if err == nil {
					t.Fatalf("statement %d: the run says that it succeeded", statements)
				}

				w.opencost.answer(12, nil)
				w.collect(13)
				if diff := cmp.Diff(want, withoutAttempts(w.dump())); diff != "" {
					t.Fatalf("cut off before statement %d: -undisturbed, +run again:\n%s", statements, diff)
				}
				w.holds(13)
				if steps.Count() < statements {
					break // The run has fewer statements than this.
				}
			}
			t.Logf("cut off before each of %d statements", statements-1)
			if statements < 40 {
				t.Errorf("a run has %d statements; they are not all seen", statements)
			}
		})
	}
}

// TestCutOffInsideOfACopy strikes while the rows of an hour are being written,
// after each tenth of them. The server waits there until the strike has hit.
func TestCutOffInsideOfACopy(t *testing.T) {
	want := undisturbed(t)

	const writing = "state = 'active' AND wait_event_type = 'Lock'"
	for name, how := range map[string]func(w *world, cancel context.CancelFunc){
		"Stopped":              func(w *world, cancel context.CancelFunc) { pgtest.Await(w.t, w.database.Pool, writing); cancel() },
		"ConnectionTerminated": func(w *world, _ context.CancelFunc) { w.terminate(writing) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newStory(t)
			w.quiet()
			for _, hour := range []int{10, 13} { // Compared with what is stored; copied into the table itself.
				for n := range 10 {
					w.before()
					w.opencost.answer(12, cutOff(at(12)))
					w.opencost.answer(hour, manyItems(at(hour)))
					ctx, cancel := context.WithCancel(t.Context())
					release := pgtest.StopAt(t, w.database.Pool, "provider_allocations", fmt.Sprintf("NEW.name = 'shop/pod-%05d/app'", n*items10/10), func() { how(w, cancel) })
					err := w.run(ctx, 13, nil)
					cancel()
					release()
					if err == nil || strings.HasPrefix(err.Error(), "cannot collect 1 of") {
						t.Fatalf("hour %d, step %d: the run was not cut off: %v", hour, n, err)
					}

					w.opencost.answer(hour, nil)
					if hour == 10 {
						w.opencost.answer(10, items(at(10), "shop/web-1/app web 10.5", "shop/web-2/app web 0.00011"))
					}
					w.opencost.answer(12, nil)
					w.collect(13)
					if diff := cmp.Diff(want, withoutAttempts(w.dump())); diff != "" {
						t.Fatalf("hour %d, cut off after step %d: -undisturbed, +run again:\n%s", hour, n, diff)
					}
					w.holds(13)
				}
			}
		})
	}
}

// items10 is how many items an hour has that is cut off inside.
const items10 = 2000

func manyItems(h time.Time) http.HandlerFunc {
	workloads := make([]string, 0, items10)
	for n := range items10 {
		workloads = append(workloads, fmt.Sprintf("shop/pod-%05d/app web 1", n))
	}
	return items(h, workloads...)
}

// terminate ends the server's side of a connection to the database of the test.
// It waits until there is such a connection, and returns once it is gone.
func (w *world) terminate(which string) {
	w.t.Helper()
	pgtest.Await(w.t, w.database.Pool, which)
	_, err := w.database.Pool.Exec(context.Background(), `SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid() AND `+which)
	if err != nil {
		w.t.Errorf("cannot terminate the connection where %s: %v", which, err)
	}
}

// TestTwoAtOnce lets two runs for the same hour start together, as two pods of
// one Job may: both succeed, and what is stored is what one of them stores.
func TestTwoAtOnce(t *testing.T) {
	want := newWorld(t)
	want.collect(10, 11)

	w := newWorld(t)
	w.collect(10)
	var running sync.WaitGroup
	for range 3 {
		running.Go(func() {
			if err := w.run(t.Context(), 11, nil); err != nil {
				t.Errorf("one of three runs: %v", err)
			}
		})
	}
	running.Wait()
	if diff := cmp.Diff(want.dump(), w.dump()); diff != "" {
		t.Errorf("-one run, +three at once:\n%s", diff)
	}
	w.holds(11)
}

// TestAnotherIsRunning has somebody else hold the lock for longer than a run
// waits: it leaves without an error, without a record and without a trace.
func TestAnotherIsRunning(t *testing.T) {
	w := newWorld(t)
	w.collect(10)
	records, written := len(w.costJob().Status.ExecutionHistory), pgtest.Changes(t, w.database.Pool)

	w.settings.Timeouts.DatabaseInit, w.patient = 100*time.Millisecond, true
	key := postgres.LockKey{Work: "allocation-collection", Scope: "default"}
	err := postgres.WithLock(t.Context(), w.database.Pool, key, 0, func(ctx context.Context) error {
		return w.run(ctx, 11, nil)
	})
	if err != nil {
		t.Errorf("the run that found the lock taken: %v", err)
	}
	if diff := cmp.Diff(written, pgtest.Changes(t, w.database.Pool)); diff != "" {
		t.Errorf("-before, +after:\n%s", diff)
	}
	if got := len(w.costJob().Status.ExecutionHistory); got != records {
		t.Errorf("%d records, want %d", got, records)
	}
}

// TestInterrupted stops a run while it waits for OpenCost. The record is written
// all the same, and what was committed before is kept.
func TestInterrupted(t *testing.T) {
	w := newWorld(t)
	w.settings.Limits.LookbackHours = 1
	w.collect(5)

	ctx, stop := context.WithCancel(t.Context())
	w.opencost.answer(9, func(_ http.ResponseWriter, r *http.Request) {
		for len(w.hours()) < 5 && t.Context().Err() == nil { //nolint:contextcheck // It is asked for while earlier hours are being stored.
		}
		stop()
		<-r.Context().Done()
	})
	if err := w.run(ctx, 10, nil); err == nil {
		t.Fatal("a run that was stopped says that it succeeded")
	}

	last := w.costJob().Status.ExecutionHistory[0]
	if last.Status != v1alpha1.ExecutionStatusFailed || !strings.HasPrefix(last.Error, "the run was interrupted: ") {
		t.Errorf("the record says %q, %q", last.Status, last.Error)
	}
	want := []string{"4 final 3 3", "5 final 3 3", "6 final 3 3", "7 final 3 3", "8 final 3 3"}
	if diff := cmp.Diff(want, w.hours()); diff != "" {
		t.Errorf("hours: -want, +got:\n%s", diff)
	}
	w.opencost.answer(9, nil)
	w.collect(10)
	w.holds(10)
}

// TestHangingOpenCost bounds an hour that is never answered: it fails, the
// others do not.
func TestHangingOpenCost(t *testing.T) {
	w := newWorld(t)
	w.settings.Limits.LookbackHours = 2
	w.settings.Timeouts.OpenCostFetch, w.hasty = 2*time.Second, at(9)
	w.opencost.answer(9, func(rw http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(rw, document(at(9), usual(at(9))...)[:700])
		_ = http.NewResponseController(rw).Flush()
		<-r.Context().Done()
	})
	w.fail(10)
	if diff := cmp.Diff([]string{"8 final 3 3", "9 failed 0 0", "10 open 3 0"}, w.hours()); diff != "" {
		t.Errorf("hours: -want, +got:\n%s", diff)
	}
}

// TestFailsBeforeItBegins looks at runs that cannot even start: the record says
// why.
func TestFailsBeforeItBegins(t *testing.T) {
	cases := map[string]struct {
		reason string
		spoil  func(w *world)
		want   string
	}{
		"NoDatabase": {
			reason: "Nobody is at the address.",
			spoil:  func(w *world) { w.database.DSN = "postgres://someone:hunter2@127.0.0.1:1/finops?sslmode=disable" },
			want:   "connect",
		},
		"Ahead": {
			reason: "An hour that has not begun is refused (design R14).",
			spoil:  func(w *world) { w.ahead = time.Hour },
			want:   "the hour has not begun",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			tc.spoil(w)
			w.fail(10)
			last := w.costJob().Status.ExecutionHistory[0]
			if last.Status != v1alpha1.ExecutionStatusFailed || !strings.Contains(last.Error, tc.want) || strings.Contains(last.Error, "hunter2") {
				t.Errorf("%s\nthe record says %q, %q, want %q in it", tc.reason, last.Status, last.Error, tc.want)
			}
		})
	}
}

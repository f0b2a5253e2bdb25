package charge_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/jobs/charge"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// collectorVariable turns the test binary into a collector of a crowd, so that
// its memory is that of a run and not of the tests. It names the database.
const (
	collectorVariable = "FINOPS_TEST_COLLECTOR_DSN"
	sizeVariable      = "FINOPS_TEST_COLLECTOR_SIZE"
	sourcesVariable   = "FINOPS_TEST_COLLECTOR_SOURCES"

	// crowdHour is when the crowd is charged, a day after it was activated.
	crowdHour = "2026-03-06T00:00:00Z"
)

// crowdOf is the crowd that is measured: everybody with a fee and two meters, and
// with so many sources besides the one that selects something.
func crowdOf(size, more int) *crowd {
	c := &crowd{size: size, make: func(n int) v1alpha1.Subscription {
		sources := []v1alpha1.UsageSource{{Namespace: fmt.Sprintf("ns-%d", n)}}
		for i := range more {
			name := fmt.Sprintf("%s-%d-%d", strings.Repeat("x", 100), n, i)
			sources = append(sources, v1alpha1.UsageSource{ResourceType: "Deployment", Name: name, Namespace: name})
		}
		return member(n, "both", at("2026-03-05T00:00:00Z"), sources...)
	}}
	c.offering("both", withMeters(fee(v1alpha1.TickAlignmentHourBoundary, "1", 1000), v1alpha1.MeterCPUHour, v1alpha1.MeterRAMGbHour))
	return c
}

// collect is one run in a process of its own. It prints its peak memory in KiB.
func collect(dsn string) error {
	size, err := strconv.Atoi(os.Getenv(sizeVariable))
	if err != nil {
		return err
	}
	more, err := strconv.Atoi(os.Getenv(sourcesVariable))
	if err != nil {
		return err
	}
	settings := crowdSettings(dsn)
	settings.Hint.Scheduled = crowdHour
	debug.SetGCPercent(30) // As the program has it for its jobs.
	err = charge.Run(context.Background(), settings, charge.Dependencies{
		Client: crowdOf(size, more).client(), Clock: clocktesting.NewFakePassiveClock(at(settings.Hint.Scheduled)), Log: logr.Discard(),
	})
	if err != nil {
		return err
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "VmHWM:") {
			_, err = fmt.Fprintln(os.Stdout, strings.Fields(line)[1])
		}
	}
	return err
}

// collectApart runs the collector as a process and returns its peak memory in KiB.
func collectApart(t testing.TB, dsn string, size, more int) (peak int64) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), collectorVariable+"="+dsn, sizeVariable+"="+strconv.Itoa(size), sourcesVariable+"="+strconv.Itoa(more))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("cannot run a collector: %v", err)
	}
	if _, err := fmt.Sscan(string(out), &peak); err != nil {
		t.Fatalf("cannot read what the collector printed, %q: %v", out, err)
	}
	return peak
}

// TestMemory charges 3,000 Subscriptions with three sources for a day. What that
// adds to an idle process is bounded, whether all rows are new or none is.
func TestMemory(t *testing.T) {
	const (
		size = 3_000
		most = 24 << 10
	)
	db := pgtest.Database(t)
	plantCrowd(t, db, size, at("2026-03-05T00:00:00Z"), 24)
	plantMirror(t, db, size)

	idle := collectApart(t, db.DSN, 0, 0)
	first := collectApart(t, db.DSN, size, 0)
	again := collectApart(t, db.DSN, size, 0)
	var rows int
	if err := db.Pool.QueryRow(t.Context(), "SELECT count(*) FROM subscription_charges").Scan(&rows); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d rows: peak %d KiB, again %d KiB; without Subscriptions %d KiB", rows, first, again, idle)
	if want := size * (25 + 2*24); rows != want {
		t.Errorf("A fee for 25 hours and two meters for 24: want %d rows, got %d", want, rows)
	}
	if first-idle > most || again-idle > most {
		t.Errorf("Peak memory above that of an idle run, %d KiB: want at most %d KiB more, got %d and %d", idle, most, first-idle, again-idle)
	}
}

// TestMemoryOfSources charges 500 Subscriptions with 300 usage sources of 200
// bytes each, 30 MB of text. A run holds no more of it than the objects it reads
// at a time.
func TestMemoryOfSources(t *testing.T) {
	const (
		size, more = 500, 300
		most       = 20 << 10
	)
	db := pgtest.Database(t)
	plantCrowd(t, db, size, at("2026-03-05T00:00:00Z"), 1)

	few := collectApart(t, db.DSN, size, 0)
	many := collectApart(t, db.DSN, size, more) // Edited: everybody gets a new version.
	again := collectApart(t, db.DSN, size, more)
	t.Logf("%d sources each: peak %d KiB, again %d KiB; with one %d KiB", 1+more, many, again, few)
	var versions, rows int
	if err := db.Pool.QueryRow(t.Context(), "SELECT (SELECT count(*) FROM subscriptions), (SELECT count(*) FROM subscription_charges)").Scan(&versions, &rows); err != nil {
		t.Fatal(err)
	}
	if wantVersions, want := 2*size, size*(25+2); versions != wantVersions || rows != want {
		t.Errorf("Two versions each, a fee for 25 hours and two meters for one: want %d and %d, got %d and %d", wantVersions, want, versions, rows)
	}
	if many-few > most || again-few > most {
		t.Errorf("Peak memory above that with one source each, %d KiB: want at most %d KiB more, got %d and %d", few, most, many-few, again-few)
	}
}

// plantMirror has the crowd mirrored, as the controller does before anybody is
// charged.
func plantMirror(t testing.TB, db pgtest.DB, size int) {
	t.Helper()
	_, err := db.Pool.Exec(t.Context(), `
		INSERT INTO subscriptions (cluster_id, namespace, name, uid, generation, content_hash, valid_from, offering_namespace,
		       offering_name, spec)
		SELECT 'crowd', 'crowd', 'member-' || n, ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, 1, 'planted',
		       '2026-03-05T00:00:00Z', 'catalogue', 'both', '{}'
		  FROM generate_series(0, $1::int - 1) AS n`, size)
	if err != nil {
		t.Fatal(err)
	}
}

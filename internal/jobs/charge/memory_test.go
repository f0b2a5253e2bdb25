package charge_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

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
	hourVariable      = "FINOPS_TEST_COLLECTOR_HOUR"
)

// crowdOf is the crowd that is measured: everybody with a fee and two meters.
func crowdOf(size int) *crowd {
	c := &crowd{size: size, make: func(n int) v1alpha1.Subscription {
		return member(n, "both", at("2026-03-05T00:00:00Z"), v1alpha1.UsageSource{Namespace: fmt.Sprintf("ns-%d", n)})
	}}
	c.offering("both", withMeters(fee(v1alpha1.TickAlignmentHourBoundary, "1", 1000), v1alpha1.MeterCPUHour, v1alpha1.MeterRAMGbHour))
	return c
}

// collect is one run in a process of its own. It prints its peak memory in KiB
// and how long it took.
func collect(dsn string) error {
	size, err := strconv.Atoi(os.Getenv(sizeVariable))
	if err != nil {
		return err
	}
	settings := crowdSettings(dsn)
	settings.Hint.Scheduled = os.Getenv(hourVariable)
	began := time.Now()
	err = charge.Run(context.Background(), settings, charge.Dependencies{
		Client: crowdOf(size).client(), Clock: clocktesting.NewFakePassiveClock(at(settings.Hint.Scheduled)), Log: logr.Discard(),
	})
	if err != nil {
		return err
	}
	took := time.Since(began)
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "VmHWM:") {
			fmt.Printf("%s %d\n", strings.Fields(line)[1], took.Milliseconds())
		}
	}
	return nil
}

// collectApart runs the collector as a process and returns its peak memory in
// KiB and its time.
func collectApart(t testing.TB, dsn string, size int, hourText string) (peak int64, took time.Duration) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), collectorVariable+"="+dsn, sizeVariable+"="+strconv.Itoa(size), hourVariable+"="+hourText)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("cannot run a collector: %v", err)
	}
	var milliseconds int64
	if _, err := fmt.Sscan(string(out), &peak, &milliseconds); err != nil {
		t.Fatalf("cannot read what the collector printed, %q: %v", out, err)
	}
	return peak, time.Duration(milliseconds) * time.Millisecond
}

// TestMemory charges 10,000 Subscriptions with three sources for a day within 64
// MiB, of which a fresh process takes its part.
func TestMemory(t *testing.T) {
	const (
		size  = 10_000
		limit = 64 << 10
	)
	db := pgtest.Database(t)
	plantCrowd(t, db, size, at("2026-03-05T00:00:00Z"), 24)

	idle, _ := collectApart(t, db.DSN, 0, "2026-03-06T00:00:00Z")
	first, firstTook := collectApart(t, db.DSN, size, "2026-03-06T00:00:00Z")
	again, againTook := collectApart(t, db.DSN, size, "2026-03-06T00:00:00Z")
	var rows int
	if err := db.Pool.QueryRow(t.Context(), "SELECT count(*) FROM subscription_charges").Scan(&rows); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d rows: peak %d KiB in %s, again %d KiB in %s; without Subscriptions %d KiB", rows, first, firstTook, again, againTook, idle)
	if first > limit || again > limit {
		t.Errorf("Peak memory: want at most %d KiB, got %d and %d", limit, first, again)
	}
}

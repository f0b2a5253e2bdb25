package charge_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/hour"
	"github.com/provider-finops/provider-finops/internal/jobs/charge"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// TestManyAtOnce starts runs of one hour and of overlapping ones together: each
// succeeds, and what is left is what one after the other would leave (F10).
func TestManyAtOnce(t *testing.T) {
	db := pgtest.Database(t)
	alone := faultyStage(t, db, "alone")
	alone.mustRun("2026-04-30T11:00:00Z")
	want := alone.outcome()

	s := faultyStage(t, db, "crowded")
	var group errgroup.Group
	for range 6 {
		group.Go(func() error { return s.run("2026-04-30T11:00:00Z") })
	}
	if err := group.Wait(); err != nil {
		t.Errorf("A run among others: %v", err)
	}
	if diff := cmp.Diff(want, s.outcome()); diff != "" {
		t.Errorf("Six runs at once: -one, +got:\n%s", diff)
	}
	s.holds(nil, "2026-04-30T11:00:00Z")
}

// TestLockTaken leaves the work to whoever has it (BETTER-CJ-10).
func TestLockTaken(t *testing.T) {
	s := newStage(t)
	s.offering("hourly", fee(v1alpha1.TickAlignmentActivatedAt, "1h", 40000000))
	s.subscription("sub", "hourly", "2026-04-01T09:00:00Z")
	s.collector("charges", v1alpha1.CostJobTypeSubscriptionChargeCollection)
	s.settings.CostJob = types.NamespacedName{Namespace: s.namespace, Name: "charges"}
	s.settings.DatabaseInitTimeout = 15 * time.Second // It also has to connect in that time.

	key := postgres.LockKey{Work: "charge-collection", Scope: s.cluster}
	s.must(postgres.WithLock(t.Context(), s.db.Pool, key, time.Minute, func(context.Context) error {
		return s.run("2026-04-01T10:00:00Z") //nolint:contextcheck // A stage runs under its test's context.
	}))
	if rows := s.charges(); len(rows) != 0 || !strings.Contains(s.log.String(), "leaving the work to it") {
		t.Errorf("A run that finds another one at work does nothing and says so, got rows %v", rows)
	}
	if history := s.history("charges"); len(history) != 0 {
		t.Errorf("A run that did nothing leaves no record, got %v", history)
	}
}

// TestRecord checks the execution record of runs that succeed, fail and refuse
// (BETTER-CJ-1).
func TestRecord(t *testing.T) {
	s := newStage(t)
	s.offering("hourly", fee(v1alpha1.TickAlignmentActivatedAt, "1h", 40000000))
	s.subscription("sub", "hourly", "2026-04-01T09:00:00Z")
	s.collector("charges", v1alpha1.CostJobTypeSubscriptionChargeCollection)
	s.settings.CostJob = types.NamespacedName{Namespace: s.namespace, Name: "charges"}

	s.mustRun("2026-04-01T10:00:00Z")
	lost := s.subscription("lost", "never-existed", "2026-04-01T09:00:00Z")
	if err := s.run("2026-04-01T11:00:00Z"); err == nil {
		t.Error("A Subscription without terms fails the run, it succeeded")
	}

	ahead := s.settings
	ahead.Hint = hour.Hint{Scheduled: "2026-04-01T12:00:00Z"}
	err := charge.Run(t.Context(), ahead, charge.Dependencies{
		Client: s.api, Clock: clocktesting.NewFakePassiveClock(at("2026-04-01T11:50:00Z")), Log: s.logger(),
	})
	if !errors.Is(err, hour.ErrAhead) {
		t.Errorf("An hour that has not begun: want %v, got %v", hour.ErrAhead, err)
	}

	nowhere := s.settings
	nowhere.Database.DSN = "postgres://nobody:secret-word@127.0.0.1:1/none"
	nowhere.DatabaseInitTimeout = time.Second
	if err := s.runWith(nowhere, "2026-04-01T12:00:00Z"); err == nil || strings.Contains(err.Error(), "secret-word") {
		t.Errorf("Without a database: want an error that shows no password, got %v", err)
	}

	s.clearFinalizer("lost")
	s.must(s.api.Delete(t.Context(), lost))
	for h := 13; h < 22; h++ {
		s.mustRun(fmt.Sprintf("2026-04-01T%02d:00:00Z", h))
	}
	history := s.history("charges")
	if len(history) != v1alpha1.MaxExecutionHistory {
		t.Errorf("The history keeps ten records, got %d", len(history))
	}
	got := s.costJob("charges").Status
	if got.LastExecutionStatus != v1alpha1.ExecutionStatusSuccess || !got.LastSuccessfulExecutionTime.Time.Equal(at("2026-04-01T21:00:07Z")) {
		t.Errorf("The last run succeeded at 21:00:07, got %+v", got)
	}
	if first := history[0]; !strings.HasPrefix(first, "21:00:07 Success") {
		t.Errorf("The newest record comes first, got %v", history)
	}
	if last := history[9]; !strings.HasPrefix(last, "12:00:07 Failed") {
		t.Errorf("A failure is recorded with its text, got %v", history)
	}
}

func (s *stage) costJob(name string) *v1alpha1.CostJob {
	s.Helper()
	job := &v1alpha1.CostJob{}
	s.must(s.api.Get(s.Context(), types.NamespacedName{Namespace: s.namespace, Name: name}, job))
	return job
}

// history are the records of a CostJob, newest first.
func (s *stage) history(name string) []string {
	s.Helper()
	lines := make([]string, 0, v1alpha1.MaxExecutionHistory)
	for _, r := range s.costJob(name).Status.ExecutionHistory {
		lines = append(lines, fmt.Sprintf("%s %s %s", r.ExecutionTime.UTC().Format("15:04:05"), r.Status, r.Error))
	}
	return lines
}

// clearFinalizer lets a Subscription go without any collector.
func (s *stage) clearFinalizer(name string) {
	s.Helper()
	sub := s.get(name)
	sub.Finalizers = nil
	s.must(s.api.Update(s.Context(), sub))
}

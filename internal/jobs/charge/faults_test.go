package charge_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/finops/hour"
	"github.com/provider-finops/provider-finops/internal/jobs/charge"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
	"github.com/provider-finops/provider-finops/internal/testkit/invariants"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// errKilled is what ends a run in the middle.
var errKilled = errors.New("killed by the test")

// A killer ends a run at its n-th step. A step is a statement, a COPY or a write
// to the API server; nothing of the run happens from that step on.
type killer struct {
	at    int64 // Zero kills nobody.
	steps atomic.Int64
	kill  context.CancelCauseFunc
}

func (k *killer) step() bool {
	if k.steps.Add(1) >= k.at && k.at > 0 {
		k.kill(errKilled)
		return true
	}
	return false
}

// TraceQueryStart lets the statement fail before it is sent.
func (k *killer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	if !k.step() {
		return ctx
	}
	dead, cancel := context.WithCancelCause(ctx)
	cancel(errKilled)
	return dead
}

func (*killer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceCopyFromStart does the same for a COPY.
func (k *killer) TraceCopyFromStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceCopyFromStartData) context.Context {
	return k.TraceQueryStart(ctx, nil, pgx.TraceQueryStartData{})
}

func (*killer) TraceCopyFromEnd(context.Context, *pgx.Conn, pgx.TraceCopyFromEndData) {}

// runWithKiller runs an hour that ends at the killer's step.
func (s *stage) runWithKiller(k *killer, hourText string) error {
	s.Helper()
	ctx, cancel := context.WithCancelCause(s.Context())
	defer cancel(nil)
	k.kill = cancel

	settings := s.settings
	settings.Hint = hour.Hint{Scheduled: hourText}
	settings.Database.Tracer = k
	s.writes.fail = func(*http.Request) error {
		if k.step() {
			return errKilled
		}
		return nil
	}
	defer func() { s.writes.fail = nil }()
	api, err := client.New(s.writes.config, client.Options{Scheme: apitest.Scheme()})
	s.must(err)
	return charge.Run(ctx, settings, charge.Dependencies{
		Client: api, Clock: clocktesting.NewFakePassiveClock(at(hourText)), Log: s.logger(),
	})
}

// outcome is what a run leaves behind, without what the database numbers by
// itself.
func (s *stage) outcome() []string {
	s.Helper()
	var costs []string
	for _, name := range []string{"metered", "plain", "leaving", "never-activated"} {
		if s.gone(name) {
			costs = append(costs, name+" is gone")
			continue
		}
		costs = append(costs, fmt.Sprintf("%s %v", name, s.get(name).Status.Costs))
	}
	rows := s.charges()
	slices.Sort(rows) // Uids differ from stage to stage.
	marks := s.lines(`SELECT concat_ws(' ', v.name, w.finalized_through, v.deleted_at IS NOT NULL)
		  FROM (SELECT DISTINCT ON (uid) * FROM subscriptions WHERE cluster_id = $1 ORDER BY uid, id DESC) AS v
		  LEFT JOIN subscription_watermarks AS w ON w.subscription_uid = v.uid
		 ORDER BY v.name`, s.cluster)
	return slices.Concat(rows, marks, costs)
}

// faultyStage has one Subscription of every kind that matters: metered, plain,
// one to be let go with its closing tick ahead, one that was never activated.
func faultyStage(t *testing.T, db pgtest.DB, cluster string) *stage {
	t.Helper()
	s := newStageOn(t, db, cluster)
	s.activeBook()
	book := s.tariff("EUR", 20000)
	s.collector("allocations", v1alpha1.CostJobTypeResourceCostCollection)
	s.offering("both", withMeters(fee(v1alpha1.TickAlignmentHourBoundary, "1", 40000000), v1alpha1.MeterCPUHour))
	s.offering("monthly", fee(v1alpha1.TickAlignmentMonthBoundary, "1", 500000000))
	s.subscription("metered", "both", "2026-04-29T20:20:00Z", v1alpha1.UsageSource{Namespace: "app"})
	s.subscription("plain", "both", "2026-04-28T09:20:00Z")
	s.subscription("leaving", "monthly", "2026-04-30T09:20:00Z")
	s.subscription("never-activated", "both", "")
	s.remove("leaving", "2026-04-30T10:30:00Z")
	s.remove("never-activated", "2026-04-30T10:30:00Z")
	for h := range 14 {
		s.measure(at("2026-04-29T20:00:00Z").Add(time.Duration(h)*hour.Length).Format(time.RFC3339), "api-1", "1.5", book, h < 13)
	}
	return s
}

// TestKilledAnywhere ends the run at each of its steps, as a crash would, and
// runs it again: what is left is what an undisturbed run leaves (F2, I7, I8).
func TestKilledAnywhere(t *testing.T) {
	db := pgtest.Database(t)
	alone := faultyStage(t, db, "undisturbed")
	counter := &killer{}
	if err := alone.runWithKiller(counter, pinned); err != nil {
		t.Fatal(err)
	}
	want := alone.outcome()
	if !slices.Contains(want, "leaving is gone") || !slices.ContainsFunc(want, func(l string) bool { return strings.Contains(l, "closeOut") }) {
		t.Fatalf("The run has to do everything there is to do, got %v", want)
	}

	steps := counter.steps.Load()
	if steps < 30 {
		t.Errorf("A run takes %d steps; they are not all seen", steps)
	}
	for n := int64(1); n <= steps; n++ {
		t.Run(fmt.Sprintf("Step%d", n), func(t *testing.T) {
			s := faultyStage(t, db, fmt.Sprintf("killed-at-%d", n))
			if err := s.runWithKiller(&killer{at: n}, pinned); err == nil {
				if diff := cmp.Diff(want, s.outcome()); diff != "" {
					t.Errorf("Killed at step %d of %d, the run says that it succeeded: -undisturbed, +got:\n%s", n, steps, diff)
				}
			}
			if leaving := s.gone("leaving"); leaving && !slices.ContainsFunc(s.charges(), func(l string) bool { return strings.Contains(l, "closeOut") }) {
				t.Error("A Subscription went before its last charge was there (I7)")
			}
			before := invariants.Remember(t, s.world())
			s.mustRun(pinned)
			if diff := cmp.Diff(want, s.outcome()); diff != "" {
				t.Errorf("After step %d of %d and another run: -undisturbed, +got:\n%s", n, steps, diff)
			}
			s.holds(before, pinned)
		})
	}
}

package charge_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/testkit/invariants"
)

// A spoiler lets the statements fail that hold some text, as often as it is
// told to.
type spoiler struct {
	text  string
	times int
}

func (s *spoiler) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if s.times == 0 || !strings.Contains(data.SQL, s.text) {
		return ctx
	}
	s.times--
	spoiled, cancel := context.WithCancel(ctx)
	cancel()
	return spoiled
}

func (*spoiler) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TestFailedBatch loses the first batch of hours. Everybody in it is kept and
// continued by the next run, which must find no gap; whoever has no hour in it
// is charged.
func TestFailedBatch(t *testing.T) {
	s := newStage(t)
	s.offering("hourly", fee(v1alpha1.TickAlignmentActivatedAt, "12h", 40000000))
	s.subscription("old", "hourly", "2026-03-30T09:00:00Z")
	s.subscription("young", "hourly", "2026-04-01T08:00:00Z")
	s.remove("old", "2026-04-01T08:30:00Z")
	s.remove("young", "2026-04-01T08:30:00Z")

	broken := s.settings
	broken.Database.Tracer = &spoiler{text: "SELECT EXISTS", times: 1}
	err := s.runWith(broken, "2026-04-01T10:00:00Z")
	if err == nil || !strings.Contains(err.Error(), "old") || !strings.Contains(err.Error(), "1 of 2") {
		t.Errorf("The run fails for the old one alone, got %v", err)
	}
	want := []string{
		"young 01 08 subscription 0", "young 01 09 subscription 0", `young 01 19 subscription 40000000 {"closeOut": true}`,
	}
	if diff := cmp.Diff(want, s.charges()); diff != "" {
		t.Errorf("Rows after the failure: -want, +got:\n%s", diff)
	}
	if s.gone("old") || !s.gone("young") {
		t.Errorf("Who was not charged is kept, the other goes: gone are old %t, young %t", s.gone("old"), s.gone("young"))
	}

	before := invariants.Remember(t, s.world())
	s.mustRun("2026-04-01T10:00:00Z")
	hours := s.lines(`
		SELECT count(*)::text || ' ' || sum(amount_micros)::text FROM subscription_charges AS c
		  JOIN subscriptions AS v ON v.uid = c.subscription_uid WHERE v.name = 'old' AND c.finalized`)
	// Two days, with ticks at 21:00, 09:00, 21:00 and, the closing one, 09:00.
	if diff := cmp.Diff([]string{"48 160000000"}, hours); diff != "" {
		t.Errorf("Rows and fee of the old one: -want, +got:\n%s", diff)
	}
	if !s.gone("old") {
		t.Error("The next run settles the old one; it is still there")
	}
	s.holds(before, "2026-04-01T10:00:00Z")
}

// TestSumsUnavailable publishes from the calculator when the recorded charges
// cannot be read (60.8), and says so.
func TestSumsUnavailable(t *testing.T) {
	s := newStage(t)
	s.activeBook()
	book := s.tariff("EUR", 20000)
	s.offering("both", withMeters(fee(v1alpha1.TickAlignmentActivatedAt, "1h", 40000000), v1alpha1.MeterCPUHour))
	s.subscription("sub", "both", "2026-04-01T09:00:00Z", v1alpha1.UsageSource{Namespace: "app"})
	s.measure("2026-04-01T12:00:00Z", "api-1", "2", book, true)

	broken := s.settings
	broken.Database.Tracer = &spoiler{text: "All three buckets", times: 1}
	if err := s.runWith(broken, "2026-04-01T13:00:00Z"); err == nil {
		t.Error("The run fails, for something could not be read; it succeeded")
	}
	status := s.get("sub").Status
	want := []v1alpha1.CostBucket{
		bucket("hour", "2026-04-01T13:00:00Z", "2026-04-01T14:00:00Z", 0, 40000000, v1alpha1.CostMetric{Name: "subscription", Projected: 40000000}),
		bucket("day", "2026-04-01T00:00:00Z", "2026-04-02T00:00:00Z", 160000000, 600000000, v1alpha1.CostMetric{Name: "subscription", Current: 160000000, Projected: 600000000}),
		bucket("month", "2026-04-01T00:00:00Z", "2026-05-01T00:00:00Z", 160000000, 28440000000, v1alpha1.CostMetric{Name: "subscription", Current: 160000000, Projected: 28440000000}),
	}
	if diff := cmp.Diff(want, status.Costs, sameInstant); diff != "" {
		t.Errorf("The fee, and no usage: -want, +got:\n%s", diff)
	}
	c := meta.FindStatusCondition(status.Conditions, v1alpha1.TypeCostsResolved)
	if c == nil || c.Reason != v1alpha1.ReasonFromCalculator || c.Message != "Status.Costs resolved from calculator" {
		t.Errorf("CostsResolved says where the figures come from, got %v", c)
	}

	s.mustRun("2026-04-01T13:00:00Z")
	status = s.get("sub").Status
	c = meta.FindStatusCondition(status.Conditions, v1alpha1.TypeCostsResolved)
	if c.Reason != v1alpha1.ReasonFromDB || status.Costs[1].Current != 160040000 {
		t.Errorf("The next run shows what is recorded, usage included, got %v, %v", c, status.Costs[1])
	}
	if got := c.LastTransitionTime; !got.Time.Equal(at("2026-04-01T13:00:07Z")) {
		t.Errorf("The status of the condition did not change, so neither did its time, got %s", got)
	}
	s.holds(nil, "2026-04-01T13:00:00Z")
}

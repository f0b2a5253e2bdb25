package charge_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// TestMeteredWaitsForMeasurements is the end of the worked run of the
// specification, 50.9: the same with usage and the boundary at 13:00.
func TestMeteredWaitsForMeasurements(t *testing.T) {
	s := newStage(t)
	s.activeBook()
	book := s.tariff("EUR", 20000)
	s.collector("allocations", v1alpha1.CostJobTypeResourceCostCollection)
	s.offering("both", withMeters(fee(v1alpha1.TickAlignmentActivatedAt, "1h", 40000000), v1alpha1.MeterCPUHour))
	s.subscription("sub", "both", "2026-04-01T12:00:00Z", v1alpha1.UsageSource{Namespace: "app"})
	s.measure("2026-04-01T12:00:00Z", "api-1", "1", book, true)
	s.measure("2026-04-01T13:00:00Z", "api-1", "1", book, false)
	s.remove("sub", "2026-04-01T13:30:00Z")

	s.mustRun("2026-04-01T14:00:00Z")
	want := []string{
		"sub 01 12 cpuHour 20000 EUR", "sub 01 12 subscription 40000000 EUR",
		"sub 01 13 cpuHour 10000 EUR ~", "sub 01 13 subscription 40000000 EUR ~",
	}
	if diff := cmp.Diff(want, s.charges()); diff != "" {
		t.Errorf("The hour 13 is charged but open: -want, +got:\n%s", diff)
	}
	if s.gone("sub") {
		t.Error("The hour of the end is not final, so the Subscription stays; it is gone")
	}

	s.measure("2026-04-01T13:00:00Z", "api-1", "2", book, true)
	s.mustRun("2026-04-01T15:00:00Z")
	want = []string{
		"sub 01 12 cpuHour 20000 EUR", "sub 01 12 subscription 40000000 EUR",
		"sub 01 13 cpuHour 20000 EUR", "sub 01 13 subscription 40000000 EUR",
	}
	if diff := cmp.Diff(want, s.charges()); diff != "" {
		t.Errorf("The hour 13 is computed again and final: -want, +got:\n%s", diff)
	}
	if !s.gone("sub") {
		t.Error("Everything is final, so nothing holds the Subscription; it is still there")
	}
}

// TestVanishedUsage checks that an open usage row goes when nothing was measured
// after all, and that absent is not zero (OPEN-CJ-15).
func TestVanishedUsage(t *testing.T) {
	s := newStage(t)
	book := s.tariff("EUR", 20000)
	s.offering("usage", withMeters(v1alpha1.OfferingSpec{}, v1alpha1.MeterCPUHour))
	s.subscription("sub", "usage", "2026-04-01T12:00:00Z", v1alpha1.UsageSource{Namespace: "app"})
	s.measure("2026-04-01T12:00:00Z", "api-1", "1", book, false)
	s.mustRun("2026-04-01T12:00:00Z")
	if diff := cmp.Diff([]string{"sub 01 12 cpuHour 20000 EUR ~"}, s.charges()); diff != "" {
		t.Errorf("Usage of the hour in progress: -want, +got:\n%s", diff)
	}

	s.exec("DELETE FROM provider_allocations")
	s.measure("2026-04-01T13:00:00Z", "other", "0", book, false)
	s.exec("UPDATE provider_allocations SET namespace = 'elsewhere'")
	s.mustRun("2026-04-01T13:00:00Z")
	if rows := s.charges(); len(rows) != 0 {
		t.Errorf("Nothing was measured: want no row, got %v", rows)
	}
	if diff := cmp.Diff([]string{"01 12"}, s.watermarks()); diff != "" {
		t.Errorf("An hour without a row is settled all the same (OPEN-CJ-14): -want, +got:\n%s", diff)
	}
	s.holds(nil, "2026-04-01T13:00:00Z")
}

// TestCloseOut lets a Subscription go whose closing tick lies weeks ahead
// (OPEN-CJ-23), with every hour behind it final.
func TestCloseOut(t *testing.T) {
	s := newStage(t)
	s.activeBook()
	s.offering("monthly", fee(v1alpha1.TickAlignmentMonthBoundary, "1", 500000000))
	s.subscription("sub", "monthly", "2026-04-15T12:00:00Z")
	s.mustRun("2026-04-15T13:00:00Z")
	s.remove("sub", "2026-04-15T13:42:07Z")
	s.mustRun("2026-04-15T14:00:00Z")

	if !s.gone("sub") {
		t.Error("The hour of the end has closed, so nothing holds the Subscription; it is still there")
	}
	want := []string{
		"sub 15 12 subscription 0 EUR",
		"sub 15 13 subscription 0 EUR",
		`sub 30 23 subscription 254620123 EUR {"closeOut": true, "proratedSeconds": 1339200}`,
	}
	if diff := cmp.Diff(want, s.charges()); diff != "" {
		t.Errorf("The closing tick is written in advance: -want, +got:\n%s", diff)
	}
}

// TestNothingStaysOpen lets a Subscription go in the same hour in which an earlier
// run could not yet: the row of the hour in progress that one left has nobody to
// finish it.
func TestNothingStaysOpen(t *testing.T) {
	s := newStage(t)
	s.activeBook()
	book := s.tariff("EUR", 20000)
	s.collector("allocations", v1alpha1.CostJobTypeResourceCostCollection)
	s.offering("daily", withMeters(fee(v1alpha1.TickAlignmentDayBoundary, "1", 24000000), v1alpha1.MeterCPUHour))
	s.subscription("sub", "daily", "2026-04-01T12:00:00Z", v1alpha1.UsageSource{Namespace: "app"})
	s.measure("2026-04-01T12:00:00Z", "api-1", "1", book, false)
	s.remove("sub", "2026-04-01T12:30:00Z")

	s.mustRun("2026-04-01T13:00:00Z")
	want := []string{"sub 01 12 cpuHour 10000 EUR ~", "sub 01 12 subscription 0 EUR ~", "sub 01 13 subscription 0 EUR ~"}
	if diff := cmp.Diff(want, s.charges()); diff != "" {
		t.Errorf("The hour of the end is not measured for good, so everything is open: -want, +got:\n%s", diff)
	}

	s.measure("2026-04-01T12:00:00Z", "api-1", "1", book, true)
	s.mustRun("2026-04-01T13:00:00Z")
	want = []string{
		"sub 01 12 cpuHour 10000 EUR", "sub 01 12 subscription 0 EUR",
		`sub 01 23 subscription 12000000 EUR {"closeOut": true, "proratedSeconds": 43200}`,
	}
	if diff := cmp.Diff(want, s.charges()); diff != "" {
		t.Errorf("Nothing is left open: -want, +got:\n%s", diff)
	}
	if !s.gone("sub") {
		t.Error("The hour of the end is final, so nothing holds the Subscription; it is still there")
	}
	s.holds(nil, "2026-04-01T13:00:00Z")
}

// TestHeld checks that what is not settled is kept, and that what was never
// activated is not (OPEN-SUB-11).
func TestHeld(t *testing.T) {
	minimum := fee(v1alpha1.TickAlignmentActivatedAt, "1h", 40000000)
	periods := int32(24)
	minimum.Pricing.SubscriptionFee.MinPeriods = &periods

	s := newStage(t)
	s.offering("hourly", fee(v1alpha1.TickAlignmentActivatedAt, "1h", 40000000))
	s.offering("minimum", minimum)
	s.subscription("in-progress", "hourly", "2026-04-01T09:00:00Z")
	s.subscription("too-early", "minimum", "2026-04-01T09:00:00Z")
	s.subscription("never-activated", "hourly", "")
	s.subscription("not-ended", "hourly", "2026-04-01T09:00:00Z")
	s.remove("in-progress", "2026-04-01T12:10:00Z")
	s.remove("too-early", "2026-04-01T10:30:00Z")
	s.remove("never-activated", "2026-04-01T12:10:00Z")
	s.must(s.api.Delete(s.Context(), s.get("not-ended")))

	steps := []struct {
		hour string
		gone map[string]bool
	}{
		{"2026-04-01T12:00:00Z", map[string]bool{"in-progress": false, "too-early": false, "never-activated": true, "not-ended": false}},
		{"2026-04-01T13:00:00Z", map[string]bool{"in-progress": true, "too-early": false, "never-activated": true, "not-ended": false}},
		{"2026-04-02T08:00:00Z", map[string]bool{"in-progress": true, "too-early": false, "never-activated": true, "not-ended": false}},
		{"2026-04-02T09:00:00Z", map[string]bool{"in-progress": true, "too-early": true, "never-activated": true, "not-ended": false}},
	}
	for _, step := range steps {
		s.mustRun(step.hour) // Holding is no error.
		got := map[string]bool{}
		for name := range step.gone {
			got[name] = s.gone(name)
		}
		if diff := cmp.Diff(step.gone, got); diff != "" {
			t.Errorf("Gone after the run of %s: -want, +got:\n%s", step.hour, diff)
		}
	}
	if rows := s.lines("SELECT count(*)::text FROM subscription_charges AS c JOIN subscriptions AS v ON v.uid = c.subscription_uid WHERE v.name = 'never-activated'"); rows[0] != "0" {
		t.Errorf("Rows of what was never activated: want none, got %s", rows[0])
	}
	if !strings.Contains(s.log.String(), "MinPeriods not yet satisfied, keeping finalizer") {
		t.Error("The log names the gate that holds")
	}
}

// TestChangedIsNotReleased changes a Subscription after it was listed: it must
// not be let go on what was read before.
func TestChangedIsNotReleased(t *testing.T) {
	s := newStage(t)
	s.offering("hourly", fee(v1alpha1.TickAlignmentActivatedAt, "1h", 40000000))
	s.subscription("sub", "hourly", "2026-04-01T09:00:00Z")
	s.remove("sub", "2026-04-01T10:30:00Z")

	// The status write of the run is the moment at which somebody else writes.
	once := true
	s.writes.fail = func(r *http.Request) error {
		if once && strings.HasSuffix(r.URL.Path, "/sub/status") {
			once = false
			sub := s.get("sub")
			sub.Spec.UsageSources = []v1alpha1.UsageSource{{Namespace: "app"}}
			return s.api.Update(s.Context(), sub)
		}
		return nil
	}
	s.mustRun("2026-04-01T11:00:00Z")
	if s.gone("sub") {
		t.Fatal("The Subscription changed while it was charged, so the next run looks again; it is gone")
	}
	if costs := s.get("sub").Status.Costs; len(costs) != 3 {
		t.Errorf("Its costs are written all the same, got %v", costs)
	}
	s.mustRun("2026-04-01T11:00:00Z")
	if !s.gone("sub") {
		t.Error("Nothing holds the Subscription now; it is still there")
	}
	s.holds(nil, "2026-04-01T11:00:00Z")
}

// TestFailuresHoldNobodyElse lets the API server refuse what is written for one
// Subscription: it is kept and reported, the other goes.
func TestFailuresHoldNobodyElse(t *testing.T) {
	for _, broken := range []string{"PATCH /bad/status", "PATCH /bad"} {
		t.Run(broken, func(t *testing.T) {
			s := newStage(t)
			s.offering("hourly", fee(v1alpha1.TickAlignmentActivatedAt, "1h", 40000000))
			for _, name := range []string{"bad", "good"} {
				s.subscription(name, "hourly", "2026-04-01T09:00:00Z")
				s.remove(name, "2026-04-01T10:30:00Z")
			}
			method, path, _ := strings.Cut(broken, " ")
			s.writes.fail = func(r *http.Request) error {
				if r.Method == method && strings.HasSuffix(r.URL.Path, path) {
					return fmt.Errorf("refused by the test")
				}
				return nil
			}
			err := s.run("2026-04-01T11:00:00Z")
			if err == nil || !strings.Contains(err.Error(), "refused by the test") || !strings.Contains(err.Error(), "bad") {
				t.Errorf("The run fails and names the Subscription, got %v", err)
			}
			if s.gone("bad") || !s.gone("good") {
				t.Errorf("bad is kept and good goes: gone are bad %t, good %t", s.gone("bad"), s.gone("good"))
			}
			s.writes.fail = nil
			s.mustRun("2026-04-01T11:00:00Z")
			if !s.gone("bad") {
				t.Error("The next run settles it; it is still there")
			}
		})
	}
}

// TestRests ends a Subscription that nobody deletes. Its costs become nothing as
// time passes, and then it is not touched any more.
func TestRests(t *testing.T) {
	s := newStage(t)
	s.offering("hourly", fee(v1alpha1.TickAlignmentActivatedAt, "1h", 40000000))
	s.subscription("sub", "hourly", "2026-04-29T09:00:00Z")
	s.end("sub", "2026-04-29T10:30:00Z")

	for _, step := range []struct {
		hour    string
		written int
		month   int64
	}{
		{"2026-04-29T12:00:00Z", 1, 80000000},
		{"2026-04-30T12:00:00Z", 1, 80000000},
		{"2026-05-01T00:00:00Z", 1, 0},
		{"2026-05-01T01:00:00Z", 0, 0},
		{"2026-06-07T05:00:00Z", 0, 0},
	} {
		s.writes.take()
		s.mustRun(step.hour)
		if got := s.writes.take(); len(got) != step.written {
			t.Errorf("Run of %s: want %d writes, got %v", step.hour, step.written, got)
		}
		costs := s.get("sub").Status.Costs
		if len(costs) != 3 || costs[2].Current != step.month {
			t.Errorf("Run of %s: want a month of %d, got %+v", step.hour, step.month, costs)
		}
	}
}

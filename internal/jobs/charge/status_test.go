package charge_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

func bucket(granularity v1alpha1.CostGranularity, start, end string, current, projected int64, breakdown ...v1alpha1.CostMetric) v1alpha1.CostBucket {
	return v1alpha1.CostBucket{
		Granularity: granularity, Start: metav1.NewTime(at(start)), EndExclusive: metav1.NewTime(at(end)),
		Current: current, Projected: projected, Breakdown: breakdown,
	}
}

var sameInstant = cmp.Comparer(func(a, b metav1.Time) bool { return a.Equal(&b) })

// TestPublishedCosts holds worked buckets (a) of the specification, 60.8, and
// what else is published.
func TestPublishedCosts(t *testing.T) {
	s := newStage(t)
	s.activeBook()
	book := s.tariff("EUR", 20000)
	s.offering("hourly", fee(v1alpha1.TickAlignmentActivatedAt, "1h", 40000000))
	s.offering("usage", withMeters(v1alpha1.OfferingSpec{}, v1alpha1.MeterCPUHour))
	s.offering("free", v1alpha1.OfferingSpec{})
	s.subscription("hourly", "hourly", "2026-04-01T09:00:00Z")
	s.subscription("usage", "usage", "2026-04-01T11:30:00Z", v1alpha1.UsageSource{Namespace: "app"})
	s.subscription("free", "free", "2026-04-01T09:00:00Z")
	s.subscription("waiting", "hourly", "")
	s.measure("2026-04-01T11:00:00Z", "api-1", "1.5", book, true)
	s.measure("2026-04-01T12:00:00Z", "api-1", "2", book, true)
	s.measure("2026-04-01T13:00:00Z", "api-1", "0.5", book, false)
	s.mustRun("2026-04-01T13:00:00Z")

	empty := []v1alpha1.CostBucket{
		bucket("hour", "2026-04-01T13:00:00Z", "2026-04-01T14:00:00Z", 0, 0),
		bucket("day", "2026-04-01T00:00:00Z", "2026-04-02T00:00:00Z", 0, 0),
		bucket("month", "2026-04-01T00:00:00Z", "2026-05-01T00:00:00Z", 0, 0),
	}
	cases := map[string]struct {
		reason  string
		costs   []v1alpha1.CostBucket
		message string
	}{
		"hourly": {
			reason: "Four ticks so far, fifteen this day, 711 this month; the hour's fee is not due yet.",
			costs: []v1alpha1.CostBucket{
				bucket("hour", "2026-04-01T13:00:00Z", "2026-04-01T14:00:00Z", 0, 40000000, v1alpha1.CostMetric{Name: "subscription", Projected: 40000000}),
				bucket("day", "2026-04-01T00:00:00Z", "2026-04-02T00:00:00Z", 160000000, 600000000, v1alpha1.CostMetric{Name: "subscription", Current: 160000000, Projected: 600000000}),
				bucket("month", "2026-04-01T00:00:00Z", "2026-05-01T00:00:00Z", 160000000, 28440000000, v1alpha1.CostMetric{Name: "subscription", Current: 160000000, Projected: 28440000000}),
			},
			message: "Status.Costs resolved from DBCostSummary, currency=EUR",
		},
		"usage": {
			reason: "Half an hour of 1.5 cores, an hour of 2 and, so far, 0.5 core-hours of the one in progress (BETTER-BILL-1).",
			costs: []v1alpha1.CostBucket{
				bucket("hour", "2026-04-01T13:00:00Z", "2026-04-01T14:00:00Z", 10000, 0, v1alpha1.CostMetric{Name: "cpuHour", Current: 10000}),
				bucket("day", "2026-04-01T00:00:00Z", "2026-04-02T00:00:00Z", 65000, 0, v1alpha1.CostMetric{Name: "cpuHour", Current: 65000}),
				bucket("month", "2026-04-01T00:00:00Z", "2026-05-01T00:00:00Z", 65000, 0, v1alpha1.CostMetric{Name: "cpuHour", Current: 65000}),
			},
			message: "Status.Costs resolved from DBCostSummary, currency=EUR",
		},
		"free": {
			reason:  "What charges nothing has three empty buckets, and no currency.",
			costs:   empty,
			message: "Status.Costs resolved from DBCostSummary",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			sub := s.get(name)
			if diff := cmp.Diff(tc.costs, sub.Status.Costs, sameInstant); diff != "" {
				t.Errorf("%s\nstatus.costs: -want, +got:\n%s", tc.reason, diff)
			}
			want := v1alpha1.CostsResolved(v1alpha1.ReasonFromDB, tc.message)
			want.ObservedGeneration, want.LastTransitionTime = sub.Generation, metav1.NewTime(at("2026-04-01T13:00:07Z"))
			got := meta.FindStatusCondition(sub.Status.Conditions, v1alpha1.TypeCostsResolved)
			if diff := cmp.Diff(&want, got, sameInstant); diff != "" {
				t.Errorf("%s\nCostsResolved: -want, +got:\n%s", tc.reason, diff)
			}
			if c := meta.FindStatusCondition(sub.Status.Conditions, v1alpha1.TypeActive); c == nil || c.Status != metav1.ConditionTrue {
				t.Errorf("The controller's conditions stay as they are, got %v", sub.Status.Conditions)
			}
			if owned := ownedBy(t, sub, "finops-charge-collector"); owned != `{"f:status":{"f:conditions":{"k:{\"type\":\"CostsResolved\"}":{".":{},"f:lastTransitionTime":{},"f:message":{},"f:observedGeneration":{},"f:reason":{},"f:status":{},"f:type":{}}},"f:costs":{}}}` {
				t.Errorf("The collector owns its own fields alone (R5), got %s", owned)
			}
		})
	}
	if sub := s.get("waiting"); len(sub.Status.Costs) != 0 {
		t.Errorf("Who was never activated has no costs, got %v", sub.Status.Costs)
	}
}

// ownedBy are the fields of an object that a manager owns.
func ownedBy(t *testing.T, sub *v1alpha1.Subscription, manager string) string {
	t.Helper()
	var all []string
	for _, f := range sub.ManagedFields {
		if f.Manager != manager {
			continue
		}
		var fields any
		if err := json.Unmarshal(f.FieldsV1.Raw, &fields); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(text))
	}
	return strings.Join(all, " ")
}

// TestSecondRunWritesNothing repeats runs of one hour: no row and no tuple is
// touched, and nothing is sent to the API server.
func TestSecondRunWritesNothing(t *testing.T) {
	s := newStage(t)
	s.activeBook()
	book := s.tariff("EUR", 20000)
	s.offering("both", withMeters(fee(v1alpha1.TickAlignmentHourBoundary, "1", 40000000), v1alpha1.MeterCPUHour))
	s.subscription("metered", "both", "2026-04-01T09:20:00Z", v1alpha1.UsageSource{Namespace: "app"})
	s.subscription("plain", "both", "2026-04-01T09:20:00Z")
	s.collector("allocations", v1alpha1.CostJobTypeResourceCostCollection)
	s.measure("2026-04-01T10:00:00Z", "api-1", "1.5", book, true)
	s.measure("2026-04-01T11:00:00Z", "api-1", "2", book, false)
	s.mustRun("2026-04-01T12:00:00Z")
	s.writes.take()

	dump, changes := s.dump(), pgtest.Changes(t, s.db.Pool)
	for range 2 {
		s.mustRun("2026-04-01T12:00:00Z")
	}
	if diff := cmp.Diff(dump, s.dump()); diff != "" {
		t.Errorf("Rows after another run: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(changes, pgtest.Changes(t, s.db.Pool)); diff != "" {
		t.Errorf("Tuples written by another run: -want, +got:\n%s", diff)
	}
	if writes := s.writes.take(); len(writes) != 0 {
		t.Errorf("Requests of another run: want none, got %v", writes)
	}
}

// TestCurrencies holds BETTER-BILL-2 for what is in more than one.
func TestCurrencies(t *testing.T) {
	s := newStage(t)
	s.activeBook()
	book := s.tariff("USD", 20000)
	s.offering("both", withMeters(fee(v1alpha1.TickAlignmentHourBoundary, "1", 40000000), v1alpha1.MeterCPUHour))
	s.subscription("metered", "both", "2026-04-01T10:20:00Z", v1alpha1.UsageSource{Namespace: "app"})
	s.measure("2026-04-01T10:00:00Z", "api-1", "1.5", book, true)
	s.mustRun("2026-04-01T11:00:00Z")

	c := meta.FindStatusCondition(s.get("metered").Status.Conditions, v1alpha1.TypeCostsResolved)
	if want := "Status.Costs resolved from DBCostSummary, currency=mixed"; c == nil || c.Message != want {
		t.Errorf("A fee in EUR and usage in USD: want %q, got %v", want, c)
	}
}

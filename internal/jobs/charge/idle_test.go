package charge_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/finops/hour"
)

// TestIdleIsNobodys charges a day in which some hours report what the cluster had
// idle, and others do not, as OpenCost does with short windows (kubecost#2190). A
// day is what its hours are, and none of them is dearer for what stood idle in it.
func TestIdleIsNobodys(t *testing.T) {
	s := newStage(t)
	book := s.tariff("EUR", 20000)
	s.collector("allocations", v1alpha1.CostJobTypeResourceCostCollection)
	s.offering("usage", withMeters(v1alpha1.OfferingSpec{}, v1alpha1.MeterCPUHour))
	s.subscription("by-namespace", "usage", "2026-04-01T00:00:00Z", v1alpha1.UsageSource{Namespace: "app"})
	s.subscription("by-name", "usage", "2026-04-01T00:00:00Z", v1alpha1.UsageSource{Name: "api"}) // In whatever namespace.
	for n := range 24 {
		at := at("2026-04-01T00:00:00Z").Add(time.Duration(n) * hour.Length).Format(time.RFC3339)
		s.measure(at, "api-1", "1.5", book, true)
		if n%3 == 0 {
			continue
		}
		s.exec(`
			INSERT INTO provider_allocations (cluster_id, aggregation, hour, namespace, name, controller, controller_kind,
			       alloc_start, alloc_end, collected_at, is_finalized, cpu_core_usage_avg, pricebook_id, currency)
			SELECT cluster_id, aggregation, hour, '__idle__', '__idle__', controller, controller_kind,
			       alloc_start, alloc_end, collected_at, is_finalized, 6.25, pricebook_id, currency
			  FROM provider_allocations WHERE cluster_id = $1 AND hour = $2`, s.cluster, at)
	}
	s.mustRun("2026-04-02T00:00:00Z")

	hourly := s.lines(`
		SELECT DISTINCT concat_ws(' ', v.name, c.amount_micros, c.finalized)
		  FROM subscription_charges AS c JOIN subscriptions AS v ON v.uid = c.subscription_uid WHERE c.cluster_id = $1 ORDER BY 1`, s.cluster)
	if diff := cmp.Diff([]string{"by-name 30000 t", "by-namespace 30000 t"}, hourly); diff != "" {
		t.Errorf("One and a half cores an hour, in every hour alike: -want, +got:\n%s", diff)
	}
	claims := s.lines(`SELECT DISTINCT concat_ws(' ', meter, trim_scale(measured), trim_scale(unclaimed)) FROM usage_claims WHERE cluster_id = $1 AND measured > 0`, s.cluster)
	if diff := cmp.Diff([]string{"cpuHour 1.5 0"}, claims); diff != "" {
		t.Errorf("Nor does what stood idle count as usage that nobody is billed for: -want, +got:\n%s", diff)
	}
	for _, name := range []string{"by-name", "by-namespace"} {
		for _, b := range s.get(name).Status.Costs {
			if b.Granularity == "month" && b.Current != 24*30000 {
				t.Errorf("%s: the month of %s says %d, its hours %d", name, b.Start, b.Current, 24*30000)
			}
		}
	}
	s.holds(nil, "2026-04-02T00:00:00Z")
}

package charge_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// TestUnclaimedIsReported measures two pods of which one belongs to somebody. The
// hour is counted once, by the first run that finds it final.
func TestUnclaimedIsReported(t *testing.T) {
	s := newStage(t)
	book := s.tariff("EUR", 20000)
	s.collector("allocations", v1alpha1.CostJobTypeResourceCostCollection)
	s.offering("usage", withMeters(v1alpha1.OfferingSpec{}, v1alpha1.MeterCPUHour))
	s.subscription("sub", "usage", "2026-04-01T12:15:00Z", v1alpha1.UsageSource{ResourceType: "Pod", Name: "api-1", Namespace: "app"})
	s.measure("2026-04-01T12:00:00Z", "api-1", "1.5", book, true)
	s.measure("2026-04-01T12:00:00Z", "api-2", "0.5", book, true)
	s.measure("2026-04-01T13:00:00Z", "api-1", "1", book, false)
	counted := func() []string {
		return s.lines(`SELECT concat_ws(' ', to_char(hour AT TIME ZONE 'UTC', 'DD HH24'), meter, trim_scale(measured), trim_scale(unclaimed), trim_scale(unrated))
			  FROM usage_claims WHERE cluster_id = $1 AND measured > 0 ORDER BY hour, meter`, s.cluster)
	}

	s.mustRun("2026-04-01T13:00:00Z")
	want := []string{"01 12 cpuHour 2 0.5 0"}
	if diff := cmp.Diff(want, counted()); diff != "" {
		t.Errorf("A row is claimed if any of it is; the hour in progress is not counted: -want, +got:\n%s", diff)
	}
	if said := `"cpuHour"="2.00000 measured, 25.0 % unclaimed, 0.0 % without a rate"`; !strings.Contains(s.log.String(), said) {
		t.Errorf("The run has to say %s", said)
	}

	s.measure("2026-04-01T13:00:00Z", "api-2", "1", book, false)
	s.exec("UPDATE provider_allocations SET is_finalized = true, pricebook_id = NULL, currency = NULL WHERE hour = '2026-04-01T13:00:00Z'")
	s.exec("UPDATE allocation_hours SET state = 'final'")
	s.mustRun("2026-04-01T14:00:00Z")
	s.mustRun("2026-04-01T14:00:00Z")
	s.mustRun("2026-04-01T15:00:00Z")
	want = append(want, "01 13 cpuHour 2 1 1")
	if diff := cmp.Diff(want, counted()); diff != "" {
		t.Errorf("Half is nobody's, and the other half was measured without a book: -want, +got:\n%s", diff)
	}
	if n := strings.Count(s.log.String(), "usage of hours that are final now"); n != 2 {
		t.Errorf("Four runs have to report two hours once each, reported %d", n)
	}
}

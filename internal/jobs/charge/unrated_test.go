package charge_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// TestUnratedIsReported measures an hour while no price book is known. It is
// never billed, and somebody has to know: once, when it can no longer change.
func TestUnratedIsReported(t *testing.T) {
	s := newStage(t)
	book := s.tariff("EUR", 20000)
	s.collector("allocations", v1alpha1.CostJobTypeResourceCostCollection)
	s.collector("charges", v1alpha1.CostJobTypeSubscriptionChargeCollection)
	s.offering("usage", withMeters(v1alpha1.OfferingSpec{}, v1alpha1.MeterCPUHour))
	s.subscription("sub", "usage", "2026-04-01T12:00:00Z", v1alpha1.UsageSource{Namespace: "app"})
	s.measure("2026-04-01T12:00:00Z", "api-1", "1", book, false)
	s.exec("UPDATE provider_allocations SET pricebook_id = NULL, currency = NULL")
	s.settings.CostJob = types.NamespacedName{Namespace: s.namespace, Name: "charges"}

	const said = "usage of 1 Subscriptions has no rate and is not billed: cpuHour in 1 hours"
	s.mustRun("2026-04-01T13:00:00Z")
	if strings.Contains(s.log.String(), said) {
		t.Error("The hour is open, so it may still get a rate: nothing is to be said yet")
	}
	s.exec("UPDATE provider_allocations SET is_finalized = true")
	s.exec("UPDATE allocation_hours SET state = 'final'")
	s.mustRun("2026-04-01T14:00:00Z")
	s.mustRun("2026-04-01T15:00:00Z")
	if n := strings.Count(s.log.String(), said); n != 1 {
		t.Errorf("Three runs have to say once that the hour has no rate, said it %d times", n)
	}
	events := slices.DeleteFunc(s.events(), func(e string) bool { return !strings.HasPrefix(e, "charges ") })
	if diff := cmp.Diff([]string{"charges UsageWithoutRate"}, events); diff != "" {
		t.Errorf("Events of the CostJob: -want, +got:\n%s", diff)
	}
	if rows := s.charges(); len(rows) != 0 {
		t.Errorf("Nothing is billed at the bare margin: want no row, got %v", rows)
	}
}

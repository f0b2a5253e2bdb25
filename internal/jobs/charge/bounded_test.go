package charge_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// TestEveryRequestIsBounded looks at what a run asks of the API server, from the
// lists at its beginning to events and the release. None may wait for ever: while
// a run waits its CronJob makes no other.
func TestEveryRequestIsBounded(t *testing.T) {
	s := newStage(t)
	book := s.tariff("EUR", 20000)
	s.collector("charges", v1alpha1.CostJobTypeSubscriptionChargeCollection)
	s.offering("both", withMeters(fee(v1alpha1.TickAlignmentActivatedAt, "1h", 40000000), v1alpha1.MeterCPUHour))
	s.subscription("unrated", "both", "2026-04-01T12:00:00Z", v1alpha1.UsageSource{Namespace: "app"})
	s.subscription("leaves", "both", "2026-04-01T12:00:00Z")
	s.remove("leaves", "2026-04-01T12:30:00Z")
	s.measure("2026-04-01T12:00:00Z", "api-1", "1", book, true)
	s.exec("UPDATE provider_allocations SET pricebook_id = NULL, currency = NULL")
	s.settings.CostJob = types.NamespacedName{Namespace: s.namespace, Name: "charges"}

	discovery := []string{"api", "apis", "v1", "v1alpha1"} // Its client has a bound of its own.
	var mu sync.Mutex
	asked, unbounded := map[string]bool{}, []string{}
	s.writes.config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			parts := strings.Split(r.URL.Path, "/")
			what := r.Method + " " + parts[len(parts)-1]
			if slices.Contains(discovery, parts[len(parts)-1]) {
				return next.RoundTrip(r)
			}
			mu.Lock()
			asked[what] = true
			if _, bounded := r.Context().Deadline(); !bounded {
				unbounded = append(unbounded, what)
			}
			mu.Unlock()
			return next.RoundTrip(r)
		})
	})
	s.mustRun("2026-04-01T13:00:00Z")

	if diff := cmp.Diff([]string{}, unbounded); diff != "" {
		t.Errorf("requests without an end: -want, +got:\n%s", diff)
	}
	for _, what := range []string{"GET subscriptions", "POST events", "PATCH status", "PATCH leaves"} {
		if !asked[what] {
			t.Errorf("The run never asked to %s, only %v", what, asked)
		}
	}
}

package charge_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/finops/hour"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// TestAnHourThatIsNotOverIsNotClosed is about a run that the schedule's clock
// starts minutes before the pod's clock reaches the hour. What it made final
// could not be taken back when the Subscription ends before the hour does.
func TestAnHourThatIsNotOverIsNotClosed(t *testing.T) {
	s := newStage(t)
	s.activeBook()
	s.offering("minutely", fee(v1alpha1.TickAlignmentActivatedAt, "1m", 1000))
	s.subscription("sub", "minutely", "2026-04-01T04:49:55Z")

	settings := s.settings
	settings.Hint = hour.Hint{Scheduled: "2026-04-01T05:00:00Z"}
	api, err := client.New(s.writes.config, client.Options{Scheme: apitest.Scheme()})
	s.must(err)
	s.must(s.runOn(api, settings, at("2026-04-01T04:55:20Z")))
	if diff := cmp.Diff([]string{"sub 01 04 subscription 0 EUR ~"}, s.charges()); diff != "" {
		t.Errorf("The hour 04 goes on, so its row stays open: -want, +got:\n%s", diff)
	}

	s.remove("sub", "2026-04-01T04:55:31Z")
	s.mustRun("2026-04-01T05:00:00Z")
	if diff := cmp.Diff([]string{"sub 01 04 subscription 6000 EUR"}, s.charges()); diff != "" {
		t.Errorf("Six ticks, the last of which falls on the snap at 04:55:55: -want, +got:\n%s", diff)
	}
	if !s.gone("sub") {
		t.Error("Everything is settled; the Subscription is still there")
	}
	s.holds(nil, "2026-04-01T05:00:00Z")
}

package charge_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// TestChangedAtTheLastMoment changes a Subscription when all about it is written
// and its finalizer is about to go: what it uses now was not charged.
func TestChangedAtTheLastMoment(t *testing.T) {
	s := newStage(t)
	s.offering("hourly", fee(v1alpha1.TickAlignmentActivatedAt, "1h", 40000000))
	s.subscription("sub", "hourly", "2026-04-01T09:00:00Z")
	s.remove("sub", "2026-04-01T10:30:00Z")

	// It is read once more before the finalizer goes.
	changed := false
	s.writes.look = func(r *http.Request) error {
		if changed || !strings.HasSuffix(r.URL.Path, "/subscriptions/sub") {
			return nil
		}
		changed = true
		sub := s.get("sub")
		sub.Spec.UsageSources = []v1alpha1.UsageSource{{Namespace: "app"}}
		return s.api.Update(s.Context(), sub)
	}
	s.mustRun("2026-04-01T11:00:00Z")
	if !changed {
		t.Fatal("It was not read once more, so this test shows nothing")
	}
	if s.gone("sub") {
		t.Fatal("The Subscription has changed since it was charged; it is gone")
	}
	s.mustRun("2026-04-01T11:00:00Z")
	if !s.gone("sub") {
		t.Error("Nothing holds the Subscription now; it is still there")
	}
	s.holds(nil, "2026-04-01T11:00:00Z")
}

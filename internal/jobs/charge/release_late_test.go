package charge_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// TestLetGoAndKept lets a Subscription go that somebody else's finalizer keeps, in the
// middle of a long period. It is settled: no run adds to that, and when it goes at
// last nothing of it is open.
func TestLetGoAndKept(t *testing.T) {
	const others = "example.org/other"
	s := newStage(t)
	s.offering("monthly", fee(v1alpha1.TickAlignmentMonthBoundary, "1", 300000000))
	sub := s.subscription("sub", "monthly", "2026-04-01T09:00:00Z")
	sub.Finalizers = append(sub.Finalizers, others)
	s.must(s.api.Update(s.Context(), sub))
	s.remove("sub", "2026-04-01T10:30:00Z")
	s.mustRun("2026-04-01T11:00:00Z")
	if diff := cmp.Diff([]string{others}, s.get("sub").Finalizers); diff != "" {
		t.Fatalf("It is let go, and kept by somebody else. Finalizers: -want, +got:\n%s", diff)
	}

	before := s.dump()
	s.writes.take()
	s.mustRun("2026-04-01T11:00:00Z")
	s.mustRun("2026-04-01T13:00:00Z")
	if diff := cmp.Diff(before, s.dump()); diff != "" {
		t.Errorf("Runs have added to what is settled: -before, +after:\n%s", diff)
	}
	if w := s.writes.take(); len(w) > 0 {
		t.Errorf("Runs have written what nobody needs any more: %v", w)
	}
	s.clearFinalizer("sub")
	s.holds(nil, "2026-04-01T13:00:00Z")
}

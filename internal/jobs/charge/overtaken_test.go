package charge_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// TestOvertaken has Subscriptions change while a run reads. In a large cluster
// there is always somebody who does, so that is no failure: they are left to the
// next run, the one that is being deleted with its finalizer.
func TestOvertaken(t *testing.T) {
	s := newStage(t)
	s.offering("hourly", fee(v1alpha1.TickAlignmentActivatedAt, "1h", 40000000))
	for _, name := range []string{"edited", "ended", "leaves", "same"} {
		s.subscription(name, "hourly", "2026-04-01T09:00:00Z")
	}
	s.remove("leaves", "2026-04-01T09:30:00Z")

	lists := 0
	s.writes.look = func(r *http.Request) error {
		if !strings.HasSuffix(r.URL.Path, "/subscriptions") {
			return nil
		}
		if lists++; lists == 2 {
			s.end("ended", "2026-04-01T09:45:00Z")
			for _, name := range []string{"edited", "leaves"} {
				sub := s.get(name)
				sub.Spec.UsageSources = []v1alpha1.UsageSource{{Namespace: "app"}}
				s.must(s.api.Update(s.Context(), sub))
			}
		}
		return nil
	}
	s.mustRun("2026-04-01T10:00:00Z")
	charged := func() []string {
		return s.lines(`
			SELECT DISTINCT v.name || to_char(c.window_start AT TIME ZONE 'UTC', ' HH24 ') || c.amount_micros || CASE WHEN c.finalized THEN '' ELSE ' ~' END
			  FROM subscription_charges AS c JOIN subscriptions AS v ON v.cluster_id = c.cluster_id AND v.uid = c.subscription_uid ORDER BY 1`)
	}
	if diff := cmp.Diff([]string{"same 09 40000000", "same 10 0 ~"}, charged()); diff != "" {
		t.Errorf("charged by the run that they have overtaken: -want, +got:\n%s", diff)
	}
	if s.gone("leaves") {
		t.Error("It is let go, and was not charged")
	}
	if s.settled {
		t.Error("The run says that it has left nobody behind")
	}

	s.writes.look = nil
	s.mustRun("2026-04-01T10:00:00Z")
	want := []string{
		"edited 09 40000000", "edited 10 0 ~", "ended 09 40000000", "leaves 09 40000000", "same 09 40000000", "same 10 0 ~",
	}
	if diff := cmp.Diff(want, charged()); diff != "" {
		t.Errorf("charged by the next: -want, +got:\n%s", diff)
	}
	if !s.gone("leaves") {
		t.Error("It is settled, and not let go")
	}
	s.holds(nil, "2026-04-01T10:00:00Z")
}

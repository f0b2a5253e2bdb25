package charge_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// TestWorkedRun is the worked run of the specification, 50.9, its deletion
// included.
func TestWorkedRun(t *testing.T) {
	s := newStage(t)
	s.activeBook()
	s.offering("hourly", fee(v1alpha1.TickAlignmentActivatedAt, "1h", 40000000))
	s.subscription("sub", "hourly", "2026-04-01T09:00:00Z")

	steps := []struct {
		reason    string
		hour      string
		before    func()
		rows      []string
		watermark string
	}{
		{
			reason: "The first closed hour, and the one in progress.",
			hour:   "2026-04-01T10:00:00Z", watermark: "01 09",
			rows: []string{"sub 01 09 subscription 40000000 EUR", "sub 01 10 subscription 0 EUR ~"},
		},
		{
			reason: "The hour that was in progress is made final.",
			hour:   "2026-04-01T11:00:00Z", watermark: "01 10",
			rows: []string{"sub 01 09 subscription 40000000 EUR", "sub 01 10 subscription 40000000 EUR", "sub 01 11 subscription 0 EUR ~"},
		},
		{
			reason: "The run of 12:00 never came; that of 13:00 does two hours.",
			hour:   "2026-04-01T13:00:00Z", watermark: "01 12",
			rows: []string{
				"sub 01 09 subscription 40000000 EUR", "sub 01 10 subscription 40000000 EUR", "sub 01 11 subscription 40000000 EUR",
				"sub 01 12 subscription 40000000 EUR", "sub 01 13 subscription 0 EUR ~",
			},
		},
		{
			reason: "Deleted in the hour 13, it is settled when that has closed, and let go.",
			hour:   "2026-04-01T14:00:00Z", watermark: "01 13",
			before: func() { s.remove("sub", "2026-04-01T13:42:07Z") },
			rows: []string{
				"sub 01 09 subscription 40000000 EUR", "sub 01 10 subscription 40000000 EUR", "sub 01 11 subscription 40000000 EUR",
				"sub 01 12 subscription 40000000 EUR", "sub 01 13 subscription 40000000 EUR",
			},
		},
	}
	for _, step := range steps {
		if step.before != nil {
			step.before()
		}
		s.mustRun(step.hour)
		if diff := cmp.Diff(step.rows, s.charges()); diff != "" {
			t.Errorf("%s\nRun of %s: -want, +got:\n%s", step.reason, step.hour, diff)
		}
		if diff := cmp.Diff([]string{step.watermark}, s.watermarks()); diff != "" {
			t.Errorf("%s\nWatermark after %s: -want, +got:\n%s", step.reason, step.hour, diff)
		}
	}
	if !s.gone("sub") {
		t.Error("Five ticks are charged, so nothing holds the Subscription; it is still there")
	}
	if diff := cmp.Diff([]string{"sub Released"}, s.events()); diff != "" {
		t.Errorf("Events: -want, +got:\n%s", diff)
	}
	if deleted := s.lines("SELECT name FROM subscriptions WHERE deleted_at IS NOT NULL"); len(deleted) != 1 {
		t.Errorf("The mirror knows that the object is gone: want one row, got %v", deleted)
	}
}

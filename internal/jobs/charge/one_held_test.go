package charge_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	finops "github.com/provider-finops/provider-finops/internal/finops/charge"
	"github.com/provider-finops/provider-finops/internal/jobs/charge"
)

// TestReleaseOneHeld has a single Subscription held by what would hold it in a run
// for all, and by whose work it is.
func TestReleaseOneHeld(t *testing.T) {
	type want struct {
		Gate finops.Gate
		Says string // Of the hold, or of the error.
		Err  bool
	}
	settled := want{Gate: finops.GateSettled, Says: "Charges not finalized through deactivation hour, keeping finalizer"}
	cases := map[string]struct {
		reason string
		plant  func(*stage, *charge.Settings)
		now    string
		name   string // Sub if it is empty.
		want   want
	}{
		"HourOpen": {
			reason: "The hour in which it ended is not over.",
			now:    "2026-04-01T13:59:59Z", want: settled,
		},
		"NotMeasured": {
			reason: "What it used in its last hour may yet be measured.",
			plant: func(s *stage, _ *charge.Settings) {
				s.exec(`UPDATE provider_allocations SET is_finalized = false WHERE hour = '2026-04-01T13:00:00Z'`)
			},
			want: settled,
		},
		"MinPeriods": {
			reason: "It has to stay for three periods, of which two have passed.",
			plant: func(s *stage, _ *charge.Settings) {
				terms, least := fee(v1alpha1.TickAlignmentActivatedAt, "1h", 40000000), int32(3)
				terms.Pricing.SubscriptionFee.MinPeriods = &least
				s.offering("bound", terms)
				s.subscription("bound", "bound", "2026-04-01T12:00:00Z")
				s.remove("bound", "2026-04-01T13:30:00Z")
			},
			name: "bound",
			want: want{Gate: finops.GateMinPeriods, Says: "MinPeriods not yet satisfied, keeping finalizer"},
		},
		"NoTerms": {
			reason: "Nobody knows what it costs.",
			plant: func(s *stage, _ *charge.Settings) {
				s.subscription("lost", "never-existed", "2026-04-01T12:00:00Z")
				s.remove("lost", "2026-04-01T13:30:00Z")
			},
			name: "lost",
			want: want{Gate: finops.GateError, Says: "cannot find offering"},
		},
		"Implausible": {
			reason: "Its bill is held back, and it says so.",
			plant:  func(_ *stage, settings *charge.Settings) { settings.MaxAmount = 1 },
			want:   want{Gate: finops.GateError, Says: "more than 1: implausible charge"},
		},
		"Collector": {
			reason: "There is somebody whose work it is.",
			plant: func(s *stage, _ *charge.Settings) {
				s.collector("charges", v1alpha1.CostJobTypeSubscriptionChargeCollection)
			},
			want: want{Err: true, Says: "a SubscriptionChargeCollection CostJob exists"},
		},
		"NotDeleted": {
			reason: "Who is alive is not charged from here.",
			name:   "living",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := lonelyStage(t)
			settings := s.settings
			if tc.plant != nil {
				tc.plant(s, &settings)
			}
			if tc.now == "" {
				tc.now = "2026-04-01T14:00:05Z"
			}
			if tc.name == "" {
				tc.name = "sub"
			}
			hold, err := s.release(t.Context(), settings, s.get(tc.name), tc.now)
			got := want{Gate: hold.Gate, Says: hold.Reason, Err: err != nil}
			if err != nil {
				got.Says = err.Error()
			}
			if strings.Contains(got.Says, tc.want.Says) && tc.want.Says != "" {
				got.Says = tc.want.Says
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if s.gone(tc.name) {
				t.Errorf("%s It is gone.", tc.reason)
			}
			if parked := meta.IsStatusConditionTrue(s.get(tc.name).Status.Conditions, v1alpha1.TypeChargesParked); parked != (name == "Implausible") {
				t.Errorf("%s Parked: %t", tc.reason, parked)
			}
			if rows := of("living", s.charges()); len(rows) > 0 {
				t.Errorf("%s Somebody else was charged: %v", tc.reason, rows)
			}
		})
	}
}

// TestReleaseOneChanged changes a Subscription when all about it is written and its
// finalizer is about to go. It stays, and it is said why.
func TestReleaseOneChanged(t *testing.T) {
	s := lonelyStage(t)
	changed := false
	s.writes.look = func(r *http.Request) error {
		if changed || !strings.HasSuffix(r.URL.Path, "/subscriptions/sub") || len(of("sub", s.charges())) == 0 {
			return nil
		}
		changed = true
		sub := s.get("sub")
		sub.Spec.UsageSources = []v1alpha1.UsageSource{{Namespace: "other"}}
		return s.api.Update(s.Context(), sub)
	}
	hold, err := s.release(t.Context(), s.settings, s.get("sub"), "2026-04-01T14:00:05Z")
	if !changed {
		t.Fatal("It was not read once more, so this test shows nothing")
	}
	want := finops.Hold{Gate: finops.GateError, Reason: "The Subscription has changed since the run began, keeping finalizer"}
	if diff := cmp.Diff(want, hold); diff != "" || err != nil {
		t.Errorf("what holds it: -want, +got:\n%s%v", diff, err)
	}
	if s.gone("sub") {
		t.Error("it is gone, and what it uses now was not charged")
	}
}

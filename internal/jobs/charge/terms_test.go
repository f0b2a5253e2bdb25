package charge_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// TestOfferingGone removes the Offering of a Subscription that runs on and of
// one that is being deleted: both are charged on the recorded terms
// (BETTER-SUB-5), minPeriods included (OPEN-CJ-24).
func TestOfferingGone(t *testing.T) {
	s := newStage(t)
	s.activeBook()
	terms := fee(v1alpha1.TickAlignmentActivatedAt, "1h", 40000000)
	periods := int32(3)
	terms.Pricing.SubscriptionFee.MinPeriods = &periods
	offering := s.offering("hourly", terms)
	s.subscription("active", "hourly", "2026-04-01T09:00:00Z")
	s.subscription("ended", "hourly", "2026-04-01T09:00:00Z")
	s.mustRun("2026-04-01T10:00:00Z")

	s.must(s.api.Delete(s.Context(), offering))
	s.remove("ended", "2026-04-01T10:30:00Z")
	s.mustRun("2026-04-01T11:00:00Z")
	if s.gone("ended") {
		t.Error("Two of three periods have passed by the recorded terms; the Subscription is gone")
	}
	s.mustRun("2026-04-01T12:00:00Z")
	if !s.gone("ended") {
		t.Error("Three of three periods have passed by the recorded terms; the Subscription is still there")
	}
	want := []string{
		"active 01 09 subscription 40000000 EUR", "active 01 10 subscription 40000000 EUR", "active 01 11 subscription 40000000 EUR",
		"active 01 12 subscription 0 EUR ~",
		"ended 01 09 subscription 40000000 EUR", "ended 01 10 subscription 40000000 EUR",
	}
	got := s.charges()
	if strings.HasPrefix(got[0], "ended") { // They come in the order of uids.
		got = append(got[2:], got[:2]...)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Charged on the recorded terms: -want, +got:\n%s", diff)
	}
	if !strings.Contains(s.log.String(), "using recorded offering terms") {
		t.Error("The log says which terms are used")
	}
}

// TestOfferingUnknown has an Offering that nobody ever recorded: the
// Subscription is neither charged nor let go, and the others are.
func TestOfferingUnknown(t *testing.T) {
	s := newStage(t)
	s.offering("hourly", fee(v1alpha1.TickAlignmentActivatedAt, "1h", 40000000))
	s.subscription("lost", "never-existed", "2026-04-01T09:00:00Z")
	s.subscription("found", "hourly", "2026-04-01T09:00:00Z")
	s.remove("lost", "2026-04-01T09:30:00Z")

	err := s.run("2026-04-01T10:00:00Z")
	if err == nil || !strings.Contains(err.Error(), "never-existed") {
		t.Errorf("The run fails and names the Offering, got %v", err)
	}
	if s.settled {
		t.Error("The run says that everybody is settled; one of them is not even charged")
	}
	if s.gone("lost") || len(s.get("lost").Status.Costs) != 0 {
		t.Error("Without terms nothing is settled: it is kept, without costs")
	}
	if diff := cmp.Diff([]string{"found 01 09 subscription 40000000", "found 01 10 subscription 0 ~"}, s.charges()); diff != "" {
		t.Errorf("The other is charged: -want, +got:\n%s", diff)
	}
}

// TestOfferingReplaced lets another Offering take the name: with other terms it
// changes nothing for those who were there before, with equal ones it is the
// same to everybody (BETTER-OFF-5).
func TestOfferingReplaced(t *testing.T) {
	cases := map[string]struct {
		reason string
		price  int64
		want   []string
		fresh  bool
	}{
		"OtherTerms": {
			reason: "What was sold goes on.",
			price:  99000000,
			want:   []string{"sub 01 09 subscription 40000000", "sub 01 10 subscription 40000000", "sub 01 11 subscription 0 ~"},
		},
		"EqualTerms": {
			reason: "Equal terms are adopted.",
			price:  40000000,
			want:   []string{"sub 01 09 subscription 40000000", "sub 01 10 subscription 40000000", "sub 01 11 subscription 0 ~"},
			fresh:  true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			old := s.offering("hourly", fee(v1alpha1.TickAlignmentActivatedAt, "1h", 40000000))
			s.subscription("sub", "hourly", "2026-04-01T09:00:00Z")
			s.mustRun("2026-04-01T10:00:00Z")
			s.must(s.api.Delete(s.Context(), old))
			s.offering("hourly", fee(v1alpha1.TickAlignmentActivatedAt, "1h", tc.price))
			s.mustRun("2026-04-01T11:00:00Z")

			if diff := cmp.Diff(tc.want, s.charges()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			versions := s.lines(`
				SELECT o.uid::text FROM subscription_charges AS c
				  JOIN offerings AS o ON o.cluster_id = c.cluster_id AND o.id = c.offering_version_id
				 ORDER BY c.window_start DESC LIMIT 1`)
			if adopted := versions[0] != string(old.UID); adopted != tc.fresh {
				t.Errorf("%s\nThe newest row names the new Offering: want %t, got %t", tc.reason, tc.fresh, adopted)
			}
		})
	}
}

// TestOfferingReplacedBeforeTheSale has a Subscription wait while another Offering
// takes the name of the one that was recorded with it. It is activated on the
// terms of that other one, and the controller could not record it yet.
func TestOfferingReplacedBeforeTheSale(t *testing.T) {
	s := newStage(t)
	old := s.offering("hourly", fee(v1alpha1.TickAlignmentActivatedAt, "1h", 40000000))
	waiting := s.subscription("sub", "hourly", "")
	spec := func(of any) []byte {
		text, err := json.Marshal(of)
		s.must(err)
		return text
	}
	before := at("2026-04-01T08:00:00Z")
	_, err := postgres.StoreOfferings(s.Context(), s.db.Pool, s.cluster, before, postgres.Offering{
		Object: postgres.Object{Namespace: s.namespace, Name: "hourly", UID: string(old.UID), Generation: 1, Spec: spec(old.Spec)},
	})
	s.must(err)
	_, err = postgres.StoreSubscriptions(s.Context(), s.db.Pool, s.cluster, before, postgres.Subscription{
		Object:            postgres.Object{Namespace: s.namespace, Name: "sub", UID: string(waiting.UID), Generation: 1, Spec: spec(waiting.Spec)},
		OfferingNamespace: s.namespace, OfferingName: "hourly", OfferingUID: string(old.UID),
	})
	s.must(err)

	s.must(s.api.Delete(s.Context(), old))
	sold := s.offering("hourly", fee(v1alpha1.TickAlignmentActivatedAt, "1h", 99000000))
	waiting.Status.ActivatedAt = new(metav1.NewTime(at("2026-04-01T09:00:00Z")))
	waiting.Report(v1alpha1.Active(v1alpha1.ReasonActivationSucceeded, ""))
	s.must(s.api.Status().Update(s.Context(), waiting))
	s.mustRun("2026-04-01T10:00:00Z")

	if diff := cmp.Diff([]string{"sub 01 09 subscription 99000000", "sub 01 10 subscription 0 ~"}, s.charges()); diff != "" {
		t.Errorf("It is charged what it was sold: -want, +got:\n%s", diff)
	}
	recorded := s.lines(`SELECT offering_uid::text FROM subscriptions ORDER BY id DESC LIMIT 1`)
	if diff := cmp.Diff([]string{string(sold.UID)}, recorded); diff != "" {
		t.Errorf("The record names what it was sold: -want, +got:\n%s", diff)
	}
	s.holds(nil, "2026-04-01T10:00:00Z")
}

// TestParked holds back what is more likely a mistake than a bill (design R5):
// the condition says so, the run does not fail, nobody else is affected, and
// when the bound is raised everything is caught up.
func TestParked(t *testing.T) {
	cases := map[string]struct {
		reason string
		rate   int64
		cores  string
		says   string
	}{
		"Implausible": {
			reason: "An amount above the bound.",
			rate:   2_000_000_000_000_000, cores: "1",
			says: "cpuHour of hour 2026-04-01T09:00:00Z is 1966666666666666 micros, more than 1000000000000000",
		},
		"Overflow": {
			reason: "An amount that does not fit at all.",
			rate:   9_000_000_000_000_000_000, cores: "64",
			says: "amount does not fit",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			book := s.tariff("EUR", tc.rate)
			s.offering("both", withMeters(fee(v1alpha1.TickAlignmentActivatedAt, "1h", 1), v1alpha1.MeterCPUHour))
			s.offering("hourly", fee(v1alpha1.TickAlignmentActivatedAt, "1h", 40000000))
			s.subscription("large", "both", "2026-04-01T09:00:00Z", v1alpha1.UsageSource{Namespace: "app"})
			s.subscription("small", "hourly", "2026-04-01T09:00:00Z")
			s.measure("2026-04-01T09:00:00Z", "api-1", tc.cores, book, true)
			s.remove("large", "2026-04-01T09:59:00Z")
			s.mustRun("2026-04-01T10:00:00Z")

			parked := meta.FindStatusCondition(s.get("large").Status.Conditions, v1alpha1.TypeChargesParked)
			if parked == nil || parked.Status != metav1.ConditionTrue || parked.Reason != v1alpha1.ReasonImplausibleCharge || !strings.Contains(parked.Message, tc.says) {
				t.Errorf("%s\nChargesParked: want True with %q, got %v", tc.reason, tc.says, parked)
			}
			if got := s.events(); len(got) != 1 || got[0] != "large ImplausibleCharge" {
				t.Errorf("%s\nEvents: want one on the Subscription, got %v", tc.reason, got)
			}
			if c := meta.FindStatusCondition(s.get("small").Status.Conditions, v1alpha1.TypeChargesParked); c != nil {
				t.Errorf("%s\nNobody else is affected, got %v", tc.reason, c)
			}
			if rows := s.lines("SELECT count(*)::text FROM subscription_charges AS c JOIN subscriptions AS v ON v.uid = c.subscription_uid WHERE v.name = 'large'"); rows[0] != "0" {
				t.Errorf("%s\nRows of what is held back: want none, got %s", tc.reason, rows[0])
			}

			before := pgtest.Changes(t, s.db.Pool)
			s.writes.take()
			s.mustRun("2026-04-01T10:00:00Z")
			if diff := cmp.Diff(before, pgtest.Changes(t, s.db.Pool)); diff != "" || len(s.writes.take()) != 0 {
				t.Errorf("%s\nStill parked, nothing is written again: %s", tc.reason, diff)
			}
			if s.settled {
				t.Errorf("%s\nThe run says that everybody is settled; the bill of one is held back", tc.reason)
			}
			if name == "Overflow" {
				return
			}

			s.settings.MaxAmount = 9_000_000_000_000_000_000
			s.mustRun("2026-04-01T11:00:00Z")
			if !s.settled {
				t.Errorf("%s\nWith the bound raised nobody is left behind; the run does not say so", tc.reason)
			}
			if !s.gone("large") {
				t.Errorf("%s\nWith the bound raised it is settled and let go; it is still there", tc.reason)
			}
		})
	}
}

// TestProjectionDoesNotFit charges what fits, and says that the month's
// projection does not, instead of showing some other number.
func TestProjectionDoesNotFit(t *testing.T) {
	s := newStage(t)
	s.settings.MaxAmount = 9_000_000_000_000_000_000
	s.offering("large", fee(v1alpha1.TickAlignmentActivatedAt, "1h", 100_000_000_000_000_000))
	s.subscription("sub", "large", "2026-04-01T09:00:00Z")
	s.mustRun("2026-04-01T10:00:00Z")

	if diff := cmp.Diff([]string{"sub 01 09 subscription 100000000000000000", "sub 01 10 subscription 0 ~"}, s.charges()); diff != "" {
		t.Errorf("Rows: -want, +got:\n%s", diff)
	}
	status := s.get("sub").Status
	parked := meta.FindStatusCondition(status.Conditions, v1alpha1.TypeChargesParked)
	if len(status.Costs) != 0 || parked == nil || !strings.Contains(parked.Message, "amount does not fit") {
		t.Errorf("No figures, and the reason: got %v, %v", status.Costs, parked)
	}
}

// TestSumDoesNotFit has rows that fit and a sum that does not: it is neither cut
// nor left out, but said.
func TestSumDoesNotFit(t *testing.T) {
	s := newStage(t)
	s.settings.MaxAmount = 9_000_000_000_000_000_000
	book := s.tariff("EUR", 9_000_000_000_000_000_000)
	s.offering("usage", withMeters(v1alpha1.OfferingSpec{}, v1alpha1.MeterCPUHour))
	s.subscription("sub", "usage", "2026-04-01T09:00:00Z", v1alpha1.UsageSource{Namespace: "app"})
	s.measure("2026-04-01T09:00:00Z", "api-1", "1", book, true)
	s.measure("2026-04-01T10:00:00Z", "api-1", "1", book, true)
	s.mustRun("2026-04-01T11:00:00Z")

	if rows := s.charges(); len(rows) != 2 {
		t.Errorf("Rows: want two, got %v", rows)
	}
	status := s.get("sub").Status
	parked := meta.FindStatusCondition(status.Conditions, v1alpha1.TypeChargesParked)
	if len(status.Costs) != 0 || parked == nil || !strings.Contains(parked.Message, "cannot sum up the day for cpuHour: 18000000000000000000 micros") {
		t.Errorf("No figures, and the sum that does not fit: got %v, %v", status.Costs, parked)
	}
}

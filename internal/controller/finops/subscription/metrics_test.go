package subscription

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// filledInformer holds what it is given.
type filledInformer struct {
	toolscache.Store

	synced bool
}

func (i *filledInformer) HasSynced() bool            { return i.synced }
func (i *filledInformer) GetStore() toolscache.Store { return i.Store }

func TestMetrics(t *testing.T) {
	held := func(s *v1alpha1.Subscription) { s.Report(v1alpha1.NotReady("OfferingNotFound", "")) }
	deleted := func(s *v1alpha1.Subscription) { s.DeletionTimestamp = &noon }
	informer := &filledInformer{Store: toolscache.NewStore(toolscache.MetaNamespaceKeyFunc)}
	for _, s := range []*v1alpha1.Subscription{
		sub("new", "", "o"), sub("waiting", "", "o", held), sub("held", "", "o", isActive, held), sub("active", "", "o", isActive),
		sub("ended", "", "o", isActive, hasEndedAt, held), sub("deleted", "", "o", isActive, hasEndedAt, deleted),
	} {
		if err := informer.Add(s); err != nil {
			t.Fatal(err)
		}
	}
	now := clocktesting.NewFakePassiveClock(noon.Time)
	c := &collector{byState: states.byState, byReason: states.byReason, waiting: states.waiting, parked: states.parked}
	c.read(informer, store(t, interceptor.Funcs{}), now)
	if n := testutil.CollectAndCount(c); n != 0 {
		t.Errorf("Before the first list is complete there is nothing to count: got %d metrics", n)
	}
	informer.synced = true

	const want = `
# HELP finops_subscription_gate_failures Subscriptions that have not ended and that a gate objects to, by its reason.
# TYPE finops_subscription_gate_failures gauge
finops_subscription_gate_failures{reason="OfferingNotFound"} 2
# HELP finops_subscriptions Subscriptions by where they are in their life.
# TYPE finops_subscriptions gauge
finops_subscriptions{state="active"} 2
finops_subscriptions{state="deleting"} 1
finops_subscriptions{state="ended"} 1
finops_subscriptions{state="waiting"} 2
# HELP finops_subscriptions_charges_parked Subscriptions whose bill is held back as implausible.
# TYPE finops_subscriptions_charges_parked gauge
finops_subscriptions_charges_parked 0
# HELP finops_subscriptions_waiting_release Deleted Subscriptions that are still there, by what holds them: minPeriods, settled (their charges are not final yet), error (their bill is held back, or the last charge run failed), or collector, since nothing charges.
# TYPE finops_subscriptions_waiting_release gauge
finops_subscriptions_waiting_release{gate="collector"} 1
finops_subscriptions_waiting_release{gate="error"} 0
finops_subscriptions_waiting_release{gate="minPeriods"} 0
finops_subscriptions_waiting_release{gate="settled"} 0
`
	if err := testutil.CollectAndCompare(c, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

// TestHolds tells apart what a deleted Subscription waits for: time, which helps
// by itself, and what somebody has to look into.
func TestHolds(t *testing.T) {
	two := int32(2)
	keeps := offeringOf("keeps")
	keeps.Spec.Pricing.SubscriptionFee = &v1alpha1.SubscriptionFee{TickAlignment: "ActivatedAt", Period: "1h", PriceMicros: 1, MinPeriods: &two}
	run := func(at metav1.Time, status v1alpha1.ExecutionStatus) v1alpha1.ExecutionRecord {
		return v1alpha1.ExecutionRecord{ExecutionTime: at, Status: status}
	}
	collector := func(runs ...v1alpha1.ExecutionRecord) *v1alpha1.CostJob {
		j := &v1alpha1.CostJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "charges"}}
		j.Spec.Type = v1alpha1.CostJobTypeSubscriptionChargeCollection
		j.Status.ExecutionHistory = runs
		return j
	}
	parked := func(s *v1alpha1.Subscription) {
		s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{Type: v1alpha1.TypeChargesParked, Status: metav1.ConditionTrue})
	}
	later := metav1.NewTime(noon.Add(time.Hour))

	cases := map[string]struct {
		reason string
		sub    *v1alpha1.Subscription
		job    *v1alpha1.CostJob
		now    metav1.Time
		want   string
	}{
		"NoCollector":         {reason: "Nothing charges, so nothing else matters.", sub: sub("s", "", "keeps", isActive, hasEndedAt), now: noon, want: "collector"},
		"MinPeriods":          {reason: "One of two hours has passed.", sub: sub("s", "", "keeps", isActive, hasEndedAt), job: collector(), now: noon, want: "minPeriods"},
		"MinPeriodsInsideRun": {reason: "A run counts to its hour, so an unfinished one is none.", sub: sub("s", "", "keeps", isActive, hasEndedAt), job: collector(), now: metav1.NewTime(noon.Add(59 * time.Minute)), want: "minPeriods"},
		"MinPeriodsFailedRun": {reason: "That a run failed is not what holds it.", sub: sub("s", "", "keeps", isActive, hasEndedAt), job: collector(run(noon, v1alpha1.ExecutionStatusFailed)), now: noon, want: "minPeriods"},
		"MinPeriodsPassed":    {reason: "After the second hour a run has to settle it.", sub: sub("s", "", "keeps", isActive, hasEndedAt), job: collector(), now: later, want: "settled"},
		"NeverActivated":      {reason: "Who was never billed keeps nothing.", sub: sub("s", "", "keeps", hasEndedAt), job: collector(), now: noon, want: "settled"},
		"NoMinPeriods":        {reason: "The Offering asks for none.", sub: sub("s", "", "basic", isActive, hasEndedAt), job: collector(), now: noon, want: "settled"},
		"OfferingGone":        {reason: "The run counts by the recorded terms.", sub: sub("s", "", "gone", isActive, hasEndedAt), job: collector(), now: noon, want: "settled"},
		"Parked":              {reason: "A bill that is held back holds whatever else does.", sub: sub("s", "", "keeps", isActive, hasEndedAt, parked), job: collector(), now: noon, want: "error"},
		"RunFailed":           {reason: "The last run since the end has failed.", sub: sub("s", "", "basic", isActive, hasEndedAt), job: collector(run(noon, v1alpha1.ExecutionStatusFailed)), now: later, want: "error"},
		"RunFailedBefore":     {reason: "What failed before the end says nothing about it.", sub: sub("s", "", "basic", isActive, hasEndedAt), job: collector(run(metav1.NewTime(earlier.Add(-time.Hour)), v1alpha1.ExecutionStatusFailed)), now: noon, want: "settled"},
		"RunSucceededSince":   {reason: "The latest run counts, wherever it stands in the list.", sub: sub("s", "", "basic", isActive, hasEndedAt), job: collector(run(later, v1alpha1.ExecutionStatusSuccess), run(noon, v1alpha1.ExecutionStatusFailed)), now: later, want: "settled"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{keeps.DeepCopy(), offeringOf("basic")}
			if c.job != nil {
				objects = append(objects, c.job)
			}
			from := &counted{cache: store(t, interceptor.Funcs{}, objects...), clock: clocktesting.NewFakePassiveClock(c.now.Time)}
			if got := newHolds(t.Context(), from).of(t.Context(), c.sub); got != c.want {
				t.Errorf("%s: want %q, got %q", c.reason, c.want, got)
			}
		})
	}
}

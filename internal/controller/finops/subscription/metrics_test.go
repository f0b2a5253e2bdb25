package subscription

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

func TestMetrics(t *testing.T) {
	held := func(s *v1alpha1.Subscription) { s.Report(v1alpha1.NotReady("OfferingNotFound", "")) }
	deleted := func(s *v1alpha1.Subscription) { s.DeletionTimestamp = &noon }
	c := &collector{byState: states.byState, byReason: states.byReason, waiting: states.waiting, parked: states.parked}
	c.read(store(t, interceptor.Funcs{},
		sub("new", "", "o"), sub("waiting", "", "o", held), sub("held", "", "o", isActive, held), sub("active", "", "o", isActive),
		sub("ended", "", "o", isActive, hasEndedAt, held), sub("deleted", "", "o", isActive, hasEndedAt, deleted)))

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
# HELP finops_subscriptions_waiting_release Deleted Subscriptions that are still there, by what they wait for: run, a charge run that settles them, or collector, since nothing runs one.
# TYPE finops_subscriptions_waiting_release gauge
finops_subscriptions_waiting_release{gate="collector"} 1
finops_subscriptions_waiting_release{gate="run"} 0
`
	if err := testutil.CollectAndCompare(c, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

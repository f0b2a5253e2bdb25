package subscription

import (
	"context"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/finops/mirrored"
)

// mirrorErrors counts versions that could not be stored.
var mirrorErrors = mirrored.Errors.WithLabelValues("Subscription")

// states counts Subscriptions as often as somebody asks for metrics. None of
// its labels names one: there may be very many, and what they cost is not for
// everybody who may read metrics.
var states = registered(&collector{
	byState: prometheus.NewDesc("finops_subscriptions", "Subscriptions by where they are in their life.", []string{"state"}, nil),
	byReason: prometheus.NewDesc("finops_subscription_gate_failures",
		"Subscriptions that have not ended and that a gate objects to, by its reason.", []string{"reason"}, nil),
	waiting: prometheus.NewDesc("finops_subscriptions_waiting_release",
		"Deleted Subscriptions that are still there, by what holds them: minPeriods, settled (their charges are not final yet), error (their bill is held back, or the last charge run failed), or collector, since nothing charges.", []string{"gate"}, nil),
	parked: prometheus.NewDesc("finops_subscriptions_charges_parked", "Subscriptions whose bill is held back as implausible.", nil, nil),
})

func registered(c *collector) *collector {
	metrics.Registry.MustRegister(c)
	return c
}

// The states of a life. A Subscription is in one of them.
const (
	stateWaiting  = "waiting"
	stateActive   = "active"
	stateEnded    = "ended"
	stateDeleting = "deleting"
)

// A collector counts what the cache holds.
type collector struct {
	byState  *prometheus.Desc
	byReason *prometheus.Desc
	waiting  *prometheus.Desc
	parked   *prometheus.Desc
	from     atomic.Pointer[counted]
}

// counted is what a collector counts from.
type counted struct {
	cache client.Reader
	clock clock.PassiveClock
}

// read makes the collector count from here on.
func (c *collector) read(cache client.Reader, now clock.PassiveClock) {
	c.from.Store(&counted{cache, now})
}

// Describe names the metrics.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	ch <- c.byState
	ch <- c.byReason
	ch <- c.waiting
	ch <- c.parked
}

// Collect counts.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	from := c.from.Load()
	if from == nil {
		return
	}
	list := &v1alpha1.SubscriptionList{}
	if err := from.cache.List(context.Background(), list, client.UnsafeDisableDeepCopy); err != nil { // The cache does not fail once it is filled.
		return
	}
	byState := map[string]int{stateWaiting: 0, stateActive: 0, stateEnded: 0, stateDeleting: 0}
	byReason := map[string]int{}
	byHold := map[string]int{holdMinPeriods: 0, holdSettled: 0, holdError: 0, holdCollector: 0}
	parked := 0
	holds := newHolds(context.Background(), from)
	for i := range list.Items {
		s := &list.Items[i]
		state := stateOf(s)
		byState[state]++
		if state == stateDeleting {
			byHold[holds.of(context.Background(), s)]++
		}
		ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.TypeReady)
		if (state == stateWaiting || state == stateActive) && ready != nil && ready.Status == metav1.ConditionFalse {
			byReason[ready.Reason]++
		}
		if isParked(s) {
			parked++
		}
	}
	ch <- prometheus.MustNewConstMetric(c.parked, prometheus.GaugeValue, float64(parked))
	for desc, counts := range map[*prometheus.Desc]map[string]int{c.byState: byState, c.byReason: byReason, c.waiting: byHold} {
		for value, n := range counts {
			ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(n), value)
		}
	}
}

func isParked(s *v1alpha1.Subscription) bool {
	return meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.TypeChargesParked)
}

func stateOf(s *v1alpha1.Subscription) string {
	switch {
	case s.DeletionTimestamp != nil:
		return stateDeleting
	case s.Status.DeactivatedAt != nil:
		return stateEnded
	case s.Status.ActivatedAt != nil:
		return stateActive
	default:
		return stateWaiting
	}
}

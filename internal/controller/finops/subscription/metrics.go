package subscription

import (
	"context"
	"sync/atomic"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
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
	subscriptions informed
	cache         client.Reader
	clock         clock.PassiveClock
}

// informed is what an informer holds. A list of the cache is one of copies, and
// of ten thousand Subscriptions that would be seven megabytes every time.
type informed interface {
	HasSynced() bool
	GetStore() toolscache.Store
}

// subscriptionsIn finds the informer of Subscriptions.
func subscriptionsIn(c cache.Cache) (informed, error) {
	informer, err := c.GetInformer(context.Background(), &v1alpha1.Subscription{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, errors.Wrap(err, "cannot watch Subscriptions")
	}
	holding, ok := informer.(informed)
	if !ok {
		return nil, errors.Errorf("cannot count Subscriptions: a %T shows nothing of what it holds", informer)
	}
	return holding, nil
}

// read makes the collector count from here on.
func (c *collector) read(subscriptions informed, cache client.Reader, now clock.PassiveClock) {
	c.from.Store(&counted{subscriptions, cache, now})
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
	if from == nil || !from.subscriptions.HasSynced() {
		return
	}
	byState := map[string]int{stateWaiting: 0, stateActive: 0, stateEnded: 0, stateDeleting: 0}
	byReason := map[string]int{}
	byHold := map[string]int{holdMinPeriods: 0, holdSettled: 0, holdError: 0, holdCollector: 0}
	parked := 0
	holds := newHolds(context.Background(), from)
	for _, o := range from.subscriptions.GetStore().List() {
		s, ok := o.(*v1alpha1.Subscription) // The cache's own, only to be read.
		if !ok {
			continue
		}
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

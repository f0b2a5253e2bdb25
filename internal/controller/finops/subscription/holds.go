package subscription

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/finops/charge"
	"github.com/provider-finops/provider-finops/internal/finops/hour"
	"github.com/provider-finops/provider-finops/internal/finops/money"
	"github.com/provider-finops/provider-finops/internal/finops/tick"
	"github.com/provider-finops/provider-finops/internal/objects"
)

// What holds a deleted Subscription: the gates of the charge collector, as it
// names them, and that there is none.
const (
	holdMinPeriods = string(charge.GateMinPeriods)
	holdSettled    = string(charge.GateSettled)
	holdError      = string(charge.GateError)
	holdCollector  = "collector"
)

// holds tells what holds deleted Subscriptions, as far as it can be seen from
// here: the charge run decides with what it has computed.
type holds struct {
	counted

	noCollector bool
	failedAt    time.Time // When the last charge run began, if it failed.
}

func newHolds(ctx context.Context, from *counted) holds {
	h := holds{counted: *from, noCollector: true}
	jobs := &v1alpha1.CostJobList{}
	if err := from.cache.List(ctx, jobs, client.UnsafeDisableDeepCopy); err != nil { // The cache does not fail once it is filled.
		return h
	}
	var last v1alpha1.ExecutionRecord
	for i := range jobs.Items {
		j := &jobs.Items[i]
		if !objects.CollectsCharges(j) {
			continue
		}
		h.noCollector = false
		for _, r := range j.Status.ExecutionHistory {
			if r.ExecutionTime.After(last.ExecutionTime.Time) {
				last = r
			}
		}
	}
	if last.Status != "" && last.Status != v1alpha1.ExecutionStatusSuccess {
		h.failedAt = last.ExecutionTime.Time
	}
	return h
}

// of returns what holds a deleted Subscription.
func (h holds) of(ctx context.Context, s *v1alpha1.Subscription) string {
	switch {
	case h.noCollector:
		return holdCollector
	case isParked(s):
		return holdError
	case !h.minPeriodsPassed(ctx, s):
		return holdMinPeriods
	case s.Status.DeactivatedAt != nil && h.failedAt.After(s.Status.DeactivatedAt.Time):
		return holdError
	}
	return holdSettled
}

// minPeriodsPassed counts up to the hour of now, as a run for it would.
func (h holds) minPeriodsPassed(ctx context.Context, s *v1alpha1.Subscription) bool {
	end, asked := minPeriodsEnd(ctx, h.cache, s)
	return !asked || !hour.Of(h.clock.Now()).Before(end)
}

// minPeriodsEnd is the first hour whose charge run may release a Subscription,
// as far as its minPeriods are concerned. What cannot be told is not asked for:
// the run counts by the recorded terms then.
func minPeriodsEnd(ctx context.Context, from client.Reader, s *v1alpha1.Subscription) (time.Time, bool) {
	if s.Status.ActivatedAt == nil {
		return time.Time{}, false
	}
	o := &v1alpha1.Offering{}
	if ok, err := get(ctx, from, "offeringRef", key(s.Spec.OfferingRef), o); err != nil || !ok {
		return time.Time{}, false
	}
	fee := o.Spec.Pricing.SubscriptionFee
	if fee == nil || fee.MinPeriods == nil {
		return time.Time{}, false
	}
	terms, err := tick.ParseTerms(tick.Alignment(fee.TickAlignment), fee.Period, money.Micros(fee.PriceMicros), int64(*fee.MinPeriods))
	if err != nil || terms.MinPeriods < 1 {
		return time.Time{}, false
	}
	boundary := terms.Over(tick.Life{ActivatedAt: s.Status.ActivatedAt.Time}).Boundary(terms.MinPeriods)
	end := hour.Of(boundary)
	if end.Before(boundary) {
		end = end.Add(hour.Length)
	}
	return end, true
}

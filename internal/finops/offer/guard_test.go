package offer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

// TestGuard tests who counts (BETTER-OFF-4).
func TestGuard(t *testing.T) {
	self := ref.Key{Namespace: "catalogue", Name: "base"}
	subscriber := func(ready bool) []Subscriber {
		return []Subscriber{{Key: ref.Key{Namespace: "acme", Name: "s"}, Offering: self, Ready: ready}}
	}
	requiring := func(ready bool) []Offering {
		return []Offering{{Key: ref.Key{Namespace: "catalogue", Name: "top"}, Requires: []ref.Key{self}, Ready: ready}}
	}
	cases := map[string]struct {
		reason      string
		guard       Guard
		subscribers []Subscriber
		offerings   []Offering
		want        Reason
	}{
		"AllUnreadySubscriber": {reason: "One that has ended has still to be settled.", subscribers: subscriber(false), want: DependentSubscriptionsExist},
		"AllUnreadyOffering":   {reason: "So does an Offering that waits.", offerings: requiring(false), want: DependentOfferingsExist},
		"ReadyIgnoresUnready":  {reason: "By choice only those count that are ready.", guard: GuardReady, subscribers: subscriber(false), offerings: requiring(false)},
		"ReadySubscriber":      {reason: "Those do count.", guard: GuardReady, subscribers: subscriber(true), want: DependentSubscriptionsExist},
		"ReadyOffering":        {reason: "Of both kinds.", guard: GuardReady, offerings: requiring(true), want: DependentOfferingsExist},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.guard.Deletable(self, tc.subscribers, tc.offerings).Reason); diff != "" {
				t.Errorf("%s\nDeletable(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

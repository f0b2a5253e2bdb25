package subscription

import (
	"context"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/finops/tick"
)

// lives tells the lives of those who were activated, by uid, or false before the
// first list is complete.
func lives(subscriptions informed) func(context.Context) (map[string]tick.Life, bool) {
	return func(context.Context) (map[string]tick.Life, bool) {
		if !subscriptions.HasSynced() {
			return nil, false
		}
		all := map[string]tick.Life{}
		for _, o := range subscriptions.GetStore().List() {
			s, ok := o.(*v1alpha1.Subscription) // The cache's own, only to be read.
			if !ok || s.Status.ActivatedAt == nil {
				continue
			}
			life := tick.Life{ActivatedAt: s.Status.ActivatedAt.Time}
			if at := s.Status.DeactivatedAt; at != nil {
				life.DeactivatedAt = at.Time
			}
			all[string(s.UID)] = life
		}
		return all, true
	}
}

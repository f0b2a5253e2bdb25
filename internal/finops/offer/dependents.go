package offer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

// shown is how many dependents a message names.
const shown = 5

// A Subscriber is a Subscription as its Offering sees it.
type Subscriber struct {
	Key      ref.Key
	Offering ref.Key
	Ready    bool
}

// A Guard says who keeps an Offering from being deleted.
type Guard int

const (
	// GuardAll counts every dependent.
	GuardAll Guard = iota

	// GuardReady counts only those that are ready.
	GuardReady
)

// Deletable objects to the deletion of an Offering by those that count.
func (g Guard) Deletable(self ref.Key, subscribers []Subscriber, offerings []Offering) Verdict {
	if g == GuardReady {
		subscribers = slices.DeleteFunc(slices.Clone(subscribers), func(s Subscriber) bool { return !s.Ready })
		offerings = slices.DeleteFunc(slices.Clone(offerings), func(o Offering) bool { return !o.Ready })
	}
	return Deletable(self, subscribers, offerings)
}

// Deletable objects to the deletion of an Offering while something depends on
// it: every Subscription that is bound to it, in whatever state, until it is
// gone; and every Offering that requires it and is not itself being deleted
// (BETTER-OFF-4). Subscriptions are named first (OPEN-OFF-6). It is asked at
// admission and again before the finalizer is removed.
func Deletable(self ref.Key, subscribers []Subscriber, offerings []Offering) Verdict {
	var bound, requiring []ref.Key
	for _, s := range subscribers {
		if s.Offering == self {
			bound = append(bound, s.Key)
		}
	}
	for _, o := range offerings {
		if o.Key != self && !o.Deleting && slices.Contains(o.Requires, self) {
			requiring = append(requiring, o.Key)
		}
	}
	switch {
	case len(bound) > 0:
		return Verdict{DependentSubscriptionsExist, fmt.Sprintf("offering %s is still referenced by subscriptions %s", self, list(bound))}
	case len(requiring) > 0:
		return Verdict{DependentOfferingsExist, fmt.Sprintf("offering %s is still required by dependent resources %s", self, list(requiring))}
	}
	return Verdict{}
}

// list names the first few in order, and how many more there are.
func list(keys []ref.Key) string {
	slices.SortFunc(keys, ref.Compare)
	names := make([]string, 0, shown)
	for _, k := range keys[:min(len(keys), shown)] {
		names = append(names, k.String())
	}
	text := strings.Join(names, ", ")
	if more := len(keys) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

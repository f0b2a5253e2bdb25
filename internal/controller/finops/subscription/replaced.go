package subscription

import (
	"sync"

	"github.com/provider-finops/provider-finops/internal/finops/family"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

// replaced holds the few Subscriptions that run on recorded terms: what they
// require does not follow from their Offering, so no index finds them by it.
type replaced struct {
	mu     sync.Mutex
	byRoot map[string]map[ref.Key]family.Member
}

func newReplaced() *replaced { return &replaced{byRoot: map[string]map[ref.Key]family.Member{}} }

// set says of a member whether it is one of them.
func (r *replaced) set(m family.Member, is bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kin := r.byRoot[m.Root]
	switch {
	case is && kin == nil:
		r.byRoot[m.Root] = map[ref.Key]family.Member{m.Key: m}
	case is:
		kin[m.Key] = m
	case kin != nil:
		delete(kin, m.Key)
		if len(kin) == 0 {
			delete(r.byRoot, m.Root)
		}
	}
}

// in returns those of a family.
func (r *replaced) in(root string) []family.Member {
	r.mu.Lock()
	defer r.mu.Unlock()
	members := make([]family.Member, 0, len(r.byRoot[root]))
	for _, m := range r.byRoot[root] {
		members = append(members, m)
	}
	return members
}

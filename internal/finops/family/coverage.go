package family

import (
	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

// A Family is what is known of the Subscriptions under one root.
type Family struct {
	members map[ref.Key]Member

	// active finds the active members by what they are bound to.
	active map[ref.Key][]ref.Key

	// removed holds the parents of members that no longer exist.
	removed map[ref.Key]ref.Key
}

// New returns the family under a root. Members with another root, or without
// one yet, are invisible in it. Removed holds, for Subscriptions that no longer
// exist, the parent that each of them named: their children are still beneath
// it (OPEN-SUB-5). It may be nil.
func New(root string, members []Member, removed map[ref.Key]ref.Key) Family {
	f := Family{members: make(map[ref.Key]Member, len(members)), active: map[ref.Key][]ref.Key{}, removed: removed}
	for _, m := range members {
		if m.Root == root {
			f.members[m.Key] = m
		}
	}
	for k, m := range f.members {
		if m.Active {
			f.active[m.Offering] = append(f.active[m.Offering], k)
		}
	}
	return f
}

// Provider returns the member that covers an Offering for a Subscription: an
// active one, bound to exactly that Offering, that is neither the Subscription
// itself nor beneath it. If there are several it is the first by name.
func (f Family) Provider(of Member, offering ref.Key) (Member, bool) {
	var provider Member
	var found bool
	for _, k := range f.active[offering] {
		m := f.members[k]
		if m.Key == of.Key || m.UID == of.UID {
			continue
		}
		if found && ref.Compare(provider.Key, m.Key) < 0 || f.beneath(m, of) {
			continue
		}
		provider, found = m, true
	}
	return provider, found
}

// Uncovered returns the first of the required Offerings that nobody covers for
// a Subscription, or false if all are covered.
func (f Family) Uncovered(of Member, required []ref.Key) (ref.Key, bool) {
	for _, offering := range required {
		if _, ok := f.Provider(of, offering); !ok {
			return offering, true
		}
	}
	return ref.Key{}, false
}

// beneath tells whether m is a descendant of top. A link that nobody knows any
// more leads nowhere: assuming that it leads to top would end innocents.
func (f Family) beneath(m, top Member) bool {
	parent := m.Parent
	for range len(f.members) + len(f.removed) + 1 { // Longer is a loop.
		if parent == top.Key {
			return true
		}
		if next, ok := f.members[parent]; ok {
			parent = next.Parent
			continue
		}
		next, ok := f.removed[parent]
		if !ok {
			return false
		}
		parent = next
	}
	return false
}

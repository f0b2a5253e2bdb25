package gate

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/internal/finops/family"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

// A world is a cluster of Subscriptions and Offerings in which decisions are
// carried out one after the other, in any order.
type world struct {
	now       time.Time
	subs      map[string]*citizen
	offerings map[string]Offering
	removed   map[ref.Key]ref.Key
}

type citizen struct {
	Subscription

	Ready  bool
	Reason Reason // On Ready while it waits or is billed, on Active when it has ended.
}

func key(name string) ref.Key { return ref.Key{Namespace: "ns", Name: name} }

func newWorld(offerings map[string]Terms) *world {
	w := &world{now: activation, subs: map[string]*citizen{}, offerings: map[string]Offering{}, removed: map[ref.Key]ref.Key{}}
	for name, terms := range offerings {
		w.offerings[name] = Offering{UID: "uid-" + name, Ready: true, SpecHash: name, Terms: terms}
	}
	return w
}

func (w *world) apply(name, parent, offering string) {
	s := Subscription{UID: "uid-" + name, Key: key(name), Offering: key(offering)}
	if parent != "" {
		s.Parent = new(key(parent))
	}
	w.subs[name] = &citizen{Subscription: s}
}

func (w *world) input(s *citizen) Input {
	in := Input{Now: w.now, Self: s.Subscription, Offering: Gone[Offering](), Parent: Gone[Parent](), Recorded: Gone[Recorded]()}
	if o, ok := w.offerings[s.Offering.Name]; ok {
		in.Offering = Found(o)
	}
	if s.Parent != nil {
		if p, ok := w.subs[s.Parent.Name]; ok {
			in.Parent = Found(Parent{Ready: p.Ready, Deactivated: p.DeactivatedAt != nil})
		}
	}

	root := s.Root
	if root == "" {
		var err error
		in.Root = Failed[string](errTimeout)
		if root, err = family.Root(s.Member(), w.parentOf); err == nil {
			in.Root = Found(root)
		}
	}
	members := make([]family.Member, 0, len(w.subs))
	for _, m := range w.subs {
		members = append(members, m.Member())
	}
	in.Family = Found(family.New(root, members, w.removed))
	return in
}

func (w *world) parentOf(child family.Member) (*family.Member, error) {
	if p, ok := w.subs[child.Parent.Name]; ok {
		return new(p.Member()), nil
	}
	return nil, nil //nolint:nilnil // The documented answer for what does not exist.
}

// look decides about one Subscription and carries the decision out. It tells
// whether anything changed.
func (w *world) look(name string) bool {
	s := w.subs[name]
	before := *s
	d := Decide(w.input(s))
	if d.ActivatedAt != nil {
		s.ActivatedAt = d.ActivatedAt
	}
	if d.DeactivatedAt != nil {
		s.DeactivatedAt = d.DeactivatedAt
	}
	if d.Root != "" {
		s.Root = d.Root
	}
	if d.Kind != Resting {
		s.Ready, s.Reason = d.Kind == Billed, d.Reason
	}
	return before.Ready != s.Ready || before.Reason != s.Reason || before.Root != s.Root
}

// settle looks at everybody in turn until nothing changes any more.
func (w *world) settle(t *testing.T, order []string) {
	t.Helper()
	for range 10 * (len(order) + 1) {
		changed := false
		for _, name := range order {
			if _, ok := w.subs[name]; ok && w.look(name) {
				changed = true
			}
		}
		if !changed {
			return
		}
	}
	t.Fatal("the world does not settle")
}

func (w *world) remove(name string) { w.subs[name].Deleting = true }

func (w *world) reasons() map[string]Reason {
	got := map[string]Reason{}
	for name, s := range w.subs {
		got[name] = s.Reason
	}
	return got
}

func (w *world) names() []string { return slices.Sorted(maps.Keys(w.subs)) }

// TestSequenceA applies a child before its parent (part 40.12).
func TestSequenceA(t *testing.T) {
	w := newWorld(map[string]Terms{"basic": {}})
	w.apply("child", "parent", "basic")
	w.look("child")
	if diff := cmp.Diff(map[string]Reason{"child": ParentSubscriptionNotFound}, w.reasons()); diff != "" {
		t.Fatalf("The child waits for its parent, unstamped.\n-want +got:\n%s", diff)
	}
	if w.subs["child"].Root != "" {
		t.Fatalf("The child is stamped %q before its chain is complete", w.subs["child"].Root)
	}

	w.apply("parent", "", "basic")
	w.look("parent")
	w.now = w.now.Add(time.Second)
	w.look("child")

	want := map[string]time.Time{"parent": activation, "child": activation.Add(time.Second)}
	got := map[string]time.Time{}
	for name, s := range w.subs {
		got[name] = *s.ActivatedAt
		if s.Root != "uid-parent" {
			t.Errorf("%s is stamped %q, not with its parent's uid", name, s.Root)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("The fees of the two start one second apart.\n-want +got:\n%s", diff)
	}
}

// suite is the worked tree of part 40.6, all active, without node-3.
func suite(t *testing.T) *world {
	t.Helper()
	w := newWorld(map[string]Terms{
		"suite": {}, "node-std": {},
		"backup": {Requires: []ref.Key{key("node-std")}},
		"audit":  {Requires: []ref.Key{key("node-std"), key("suite")}},
		"seal":   {Requires: []ref.Key{key("node-std")}},
		"orphan": {OnParentEnd: new(Orphan)},
	})
	w.apply("suite-1", "", "suite")
	w.apply("node-1", "suite-1", "node-std")
	w.apply("backup-1", "suite-1", "backup")
	w.apply("audit-1", "suite-1", "audit")
	w.apply("seal-1", "audit-1", "seal")
	w.apply("node-2", "seal-1", "node-std")
	w.settle(t, w.names())
	for name, s := range w.subs {
		if !s.Active() {
			t.Fatalf("%s is not active: %s", name, s.Reason)
		}
	}
	return w
}

// TestSequenceB deletes node-1 of the worked tree in every order of looking
// (part 40.12): what ends does not depend on the order, only why.
func TestSequenceB(t *testing.T) {
	rng := rand.New(rand.NewPCG(40, 12))
	for range 200 {
		w := suite(t)
		w.subs["node-2"].OnParentEnd = new(Orphan)
		w.remove("node-1")

		order := w.names()
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		w.settle(t, order)

		want := map[string]Reason{
			"suite-1": ActivationSucceeded, "node-1": MarkedForDeletion, "backup-1": ActivationSucceeded,
			"audit-1": CompatibilityRequirementNotMet, "seal-1": CompatibilityRequirementNotMet, "node-2": Orphaned,
		}
		if w.subs["seal-1"].Reason == ParentDeactivated {
			want["seal-1"] = ParentDeactivated // Legal: its parent had ended first.
		}
		if diff := cmp.Diff(want, w.reasons()); diff != "" {
			t.Fatalf("Order %v.\n-want +got:\n%s", order, diff)
		}
	}
}

// TestWorkedTreeVariants holds the rest of the worked tree of part 40.6.
func TestWorkedTreeVariants(t *testing.T) {
	w := suite(t)
	w.remove("node-1")
	w.settle(t, w.names())
	if w.subs["node-2"].Reason != ParentDeactivated || w.subs["backup-1"].Reason != CompatibilityRequirementNotMet {
		t.Errorf("With policy Deactivate node-2 ends with seal-1 and takes the coverage of backup-1 along, got %v", w.reasons())
	}

	w = suite(t)
	w.apply("node-3", "suite-1", "node-std")
	w.settle(t, w.names())
	w.remove("node-1")
	w.settle(t, w.names())
	for name, s := range w.subs {
		if name != "node-1" && !s.Active() {
			t.Errorf("With node-3 in place beforehand nothing ends, but %s has: %s", name, s.Reason)
		}
	}
}

// TestCompatibilityPageTree deletes acme-vm of the compatibility page in every order of
// looking: in the end all three requiring Subscriptions are inactive, the disk
// after the spare.
func TestCompatibilityPageTree(t *testing.T) {
	rng := rand.New(rand.NewPCG(40, 6))
	requiresVM := Terms{Requires: []ref.Key{key("vm-standard")}}

	for range 200 {
		w := newWorld(map[string]Terms{
			"platform-core": {}, "vm-standard": {}, "vm-disk": requiresVM, "monitoring": requiresVM, "alerting": requiresVM,
		})
		w.apply("acme-bundle", "", "platform-core")
		w.apply("acme-vm", "acme-bundle", "vm-standard")
		w.apply("acme-disk", "acme-bundle", "vm-disk")
		w.apply("acme-monitor", "acme-bundle", "monitoring")
		w.apply("acme-alert", "acme-monitor", "alerting")
		w.apply("acme-vm-spare", "acme-alert", "vm-standard")

		order := w.names()
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		w.settle(t, order)
		w.remove("acme-vm")
		w.settle(t, order)

		want := map[string]Reason{
			"acme-bundle": ActivationSucceeded, "acme-vm": MarkedForDeletion, "acme-disk": CompatibilityRequirementNotMet,
			"acme-monitor": CompatibilityRequirementNotMet, "acme-alert": CompatibilityRequirementNotMet, "acme-vm-spare": ParentDeactivated,
		}
		if w.subs["acme-alert"].Reason == ParentDeactivated {
			want["acme-alert"] = ParentDeactivated // Legal: the monitor had ended first.
		}
		if diff := cmp.Diff(want, w.reasons()); diff != "" {
			t.Fatalf("Order %v.\n-want +got:\n%s", order, diff)
		}
	}
}

// TestCascadeProperties ends one member of random families and looks at the
// others in two random orders: who ends is the same, whoever ended never comes
// back, and whoever is active in the end is covered.
func TestCascadeProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(2026, 3))

	for range 300 {
		seed := rng.Uint64()
		one, other := randomWorld(t, seed), randomWorld(t, seed)
		victim := one.names()[rng.IntN(len(one.subs))]

		var ended [2]map[string]bool
		for i, w := range []*world{one, other} {
			order := w.names()
			rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			w.remove(victim)
			w.settle(t, order)

			ended[i] = map[string]bool{}
			for name, s := range w.subs {
				ended[i][name] = s.DeactivatedAt != nil
				if !s.Active() {
					continue
				}
				if v, err := requirementsCovered(w.input(s)); err != nil || !v.Passes() {
					t.Fatalf("%s is active without coverage: %v %v", name, v, err)
				}
			}
		}
		if diff := cmp.Diff(ended[0], ended[1]); diff != "" {
			t.Fatalf("Who ends depends on the order (seed %d, victim %s).\n-one +other:\n%s", seed, victim, diff)
		}
	}
}

func randomWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))

	terms := map[string]Terms{}
	for i := range 4 {
		var o Terms
		for j := range i { // Requirements point one way, so there is an order of activation.
			if rng.IntN(3) == 0 {
				o.Requires = append(o.Requires, key(fmt.Sprintf("offering-%d", j)))
			}
		}
		if rng.IntN(2) == 0 {
			o.OnParentEnd = new([]Policy{Orphan, Deactivate}[rng.IntN(2)])
		}
		terms[fmt.Sprintf("offering-%d", i)] = o
	}

	w := newWorld(terms)
	w.apply("sub-0", "", "offering-0")
	for i := range 1 + rng.IntN(10) {
		w.apply(fmt.Sprintf("sub-%d", i+1), fmt.Sprintf("sub-%d", rng.IntN(i+1)), fmt.Sprintf("offering-%d", rng.IntN(4)))
	}
	w.settle(t, w.names())
	return w
}

package subscription

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/finops/family"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

func TestDeepestFirst(t *testing.T) {
	cases := map[string]struct {
		reason  string
		members []family.Member
		known   []family.Member // Found only by looking up.
		want    []string
	}{
		"Tree": {
			reason:  "Depth before name.",
			members: []family.Member{node("a", ""), node("b", "a"), node("c", "a"), node("d", "b")},
			want:    []string{"d", "b", "c", "a"},
		},
		"Gaps": {
			reason:  "Depth is that in the whole tree, not among those that are concerned.",
			members: []family.Member{node("x", "a"), node("b", "m2")},
			known:   []family.Member{node("a", ""), node("m1", "a"), node("m2", "m1")},
			want:    []string{"b", "x"},
		},
		"Duplicates": {
			reason:  "Nobody is named twice.",
			members: []family.Member{node("b", "a"), node("a", ""), node("b", "a")},
			want:    []string{"b", "a"},
		},
		"Loop": {
			reason:  "A loop has no depth, and does not hang.",
			members: []family.Member{node("a", "b"), node("b", "a"), node("c", "b")},
			want:    []string{"a", "c", "b"},
		},
		"Orphan": {
			reason:  "A chain that ends in nothing is counted from there.",
			members: []family.Member{node("b", "gone"), node("c", "b")},
			want:    []string{"c", "b"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			up := func(child family.Member) (*family.Member, error) {
				if i := slices.IndexFunc(tc.known, func(m family.Member) bool { return m.Key == child.Parent }); i >= 0 {
					return &tc.known[i], nil
				}
				return nil, errors.New("not found")
			}
			got := make([]string, 0, len(tc.want))
			for _, m := range deepestFirst(tc.members, up) {
				got = append(got, m.Key.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\ndeepestFirst(...): -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestConcernedAgainstEverybody compares with the documented rule, by which the
// flip of a member makes the whole family be looked at: in random families and
// for every flip, whoever would get another answer is among those concerned.
func TestConcernedAgainstEverybody(t *testing.T) {
	rng := rand.New(rand.NewPCG(40, 3))
	changed := 0
	for range 150 {
		offerings, subs := randomFamily(rng)
		flip := rng.IntN(len(subs))
		before, after := subs[flip].DeepCopy(), subs[flip]
		if before.Status.DeactivatedAt != nil {
			continue // Nothing reopens it.
		}
		if before.Status.ActivatedAt == nil {
			after.Status.ActivatedAt = &noon
		} else {
			after.Status.DeactivatedAt = &noon
		}

		f := fanout{cache: familyStore(t, offerings, subs), replaced: newReplaced(), targets: &targetWatches{}}
		concerned := map[ref.Key]bool{}
		for _, m := range f.concerned(t.Context(), after) {
			concerned[m.Key] = true
		}

		was := answers(offerings, replace(subs, flip, before))
		is := answers(offerings, subs)
		for k, answer := range is {
			if answer == was[k] || k == member(after).Key {
				continue
			}
			changed++
			if !concerned[k] {
				t.Fatalf("%s gets another answer by the flip of %s and is not looked at", k, after.Name)
			}
		}
	}
	if changed < 50 {
		t.Errorf("only %d answers have changed, so nothing is compared", changed)
	}
}

func replace(subs []*v1alpha1.Subscription, at int, by *v1alpha1.Subscription) []*v1alpha1.Subscription {
	subs = slices.Clone(subs)
	subs[at] = by
	return subs
}

// answers says of everybody whether the parent is active, and which requirement
// is not covered.
func answers(offerings []*v1alpha1.Offering, subs []*v1alpha1.Subscription) map[ref.Key]string {
	members := make([]family.Member, 0, len(subs))
	for _, s := range subs {
		members = append(members, member(s))
	}
	kin := family.New("uid-s-0", members, nil)
	got := map[ref.Key]string{}
	for _, m := range members {
		i := slices.IndexFunc(offerings, func(o *v1alpha1.Offering) bool { return o.Name == m.Offering.Name })
		uncovered, _ := kin.Uncovered(m, terms(offerings[i].Spec).Requires)
		parent := slices.ContainsFunc(members, func(p family.Member) bool { return p.Key == m.Parent && p.Active })
		got[m.Key] = fmt.Sprint(parent, uncovered)
	}
	return got
}

func randomFamily(rng *rand.Rand) ([]*v1alpha1.Offering, []*v1alpha1.Subscription) {
	offerings := make([]*v1alpha1.Offering, 0, 4)
	for i := range 4 {
		var requires []string
		for j := range 4 {
			if rng.IntN(4) == 0 {
				requires = append(requires, fmt.Sprintf("o-%d", j))
			}
		}
		offerings = append(offerings, offeringOf(fmt.Sprintf("o-%d", i), requires...))
	}
	n := 2 + rng.IntN(10)
	subs := make([]*v1alpha1.Subscription, 0, n)
	for i := range n {
		parent := ""
		if i > 0 {
			parent = fmt.Sprintf("s-%d", rng.IntN(i))
		}
		subs = append(subs, sub(fmt.Sprintf("s-%d", i), parent, fmt.Sprintf("o-%d", rng.IntN(4)), func(s *v1alpha1.Subscription) {
			s.Status.CompatibilityRoot = "uid-s-0"
			if rng.IntN(3) > 0 {
				s.Status.ActivatedAt = &earlier
			}
			if s.Status.ActivatedAt != nil && rng.IntN(4) == 0 {
				s.Status.DeactivatedAt = &earlier
			}
		}))
	}
	return offerings, subs
}

func familyStore(t *testing.T, offerings []*v1alpha1.Offering, subs []*v1alpha1.Subscription) client.Client {
	t.Helper()
	all := make([]client.Object, 0, len(offerings)+len(subs))
	for _, o := range offerings {
		all = append(all, o.DeepCopy())
	}
	for _, s := range subs {
		all = append(all, s.DeepCopy())
	}
	return store(t, interceptor.Funcs{}, all...)
}

// TestStampedLooksAgain checks that a Subscription looks once more when the cache
// has its root: members that were activated before did not find it in their
// family, so nobody told it of them.
func TestStampedLooksAgain(t *testing.T) {
	waiting := sub("self", "root", "disk")
	waiting.Status.CompatibilityRoot = ""
	stamped := waiting.DeepCopy()
	stamped.Status.CompatibilityRoot = "uid-root"
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()

	f := fanout{cache: familyStore(t, nil, []*v1alpha1.Subscription{stamped}), replaced: newReplaced(), targets: &targetWatches{}}
	f.relatives().Update(t.Context(), event.UpdateEvent{ObjectOld: waiting, ObjectNew: stamped}, q)
	first := q.Len()
	f.relatives().Update(t.Context(), event.UpdateEvent{ObjectOld: stamped, ObjectNew: stamped}, q)
	if diff := cmp.Diff([]int{1, 1}, []int{first, q.Len()}); diff != "" {
		t.Errorf("who looks at the stamp, and without one: -want +got:\n%s", diff)
	}
}

// TestEvidence counts the lists that a family costs. A list serves whoever is
// decided after it, as long as nothing has happened since that they depend on.
func TestEvidence(t *testing.T) {
	vm, disk := k("vm"), k("disk")
	at := func(version, offering string, with ...func(*v1alpha1.Subscription)) *v1alpha1.Subscription {
		s := sub("m", "root", offering, append([]func(*v1alpha1.Subscription){isActive}, with...)...)
		s.ResourceVersion = version
		return s
	}

	cases := map[string]struct {
		reason string
		then   func(e *evidence)
		ask    ref.Key
		want   int // Lists in all, the first included.
	}{
		"Nothing":         {reason: "A thousand members share one list.", then: func(*evidence) {}, ask: vm, want: 1},
		"ProviderLost":    {reason: "A provider that ended after the list makes another one.", then: func(e *evidence) { e.note(at("2000", "vm", hasEndedAt), true) }, ask: vm, want: 2},
		"EarlierLoss":     {reason: "What ended before the list is in it.", then: func(e *evidence) { e.note(at("1", "vm", hasEndedAt), true) }, ask: vm, want: 1},
		"OthersLost":      {reason: "The ends of a cascade concern only those who require them.", then: func(e *evidence) { e.note(at("2000", "disk", hasEndedAt), true) }, ask: vm, want: 1},
		"OthersLostAsked": {reason: "They do concern those.", then: func(e *evidence) { e.note(at("2000", "disk", hasEndedAt), true) }, ask: disk, want: 2},
		"Gained":          {reason: "Whoever was activated might cover.", then: func(e *evidence) { e.note(at("2000", "disk"), false) }, ask: vm, want: 2},
		"NoVersion":       {reason: "What cannot be compared makes another list.", then: func(e *evidence) { e.note(at("x", "disk"), false) }, ask: vm, want: 2},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			lists := 0
			e := newEvidence(store(t, versioned(&lists), sub("root", "", "vm", isActive)))
			for range 3 {
				if _, err := e.kin(t.Context(), "uid-root", []ref.Key{vm}, nil); err != nil {
					t.Fatal(err)
				}
			}
			tc.then(e)
			for range 3 {
				if _, err := e.kin(t.Context(), "uid-root", []ref.Key{tc.ask}, nil); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(tc.want, lists); diff != "" {
				t.Errorf("%s\nlists: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestEvidenceOfAnUnseenEnd breaks the watch while a provider ends and goes: all
// that is told of it is how it was seen last, which is older than the list that
// still has it.
func TestEvidenceOfAnUnseenEnd(t *testing.T) {
	provider := sub("provider", "root", "vm", isActive)
	provider.Finalizers = nil
	api := store(t, versioned(new(int)), sub("root", "", "base", isActive), provider)
	e := newEvidence(api)
	needs := sub("needs", "root", "disk", isActive)
	covered := func() bool {
		t.Helper()
		kin, err := e.kin(t.Context(), "uid-root", []ref.Key{k("vm")}, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, lacks := kin.Uncovered(member(needs), []ref.Key{k("vm")})
		return !lacks
	}
	before := covered()

	if err := api.Delete(t.Context(), provider); err != nil {
		t.Fatal(err)
	}
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	f := fanout{cache: familyStore(t, nil, nil), evidence: e, replaced: newReplaced(), targets: &targetWatches{}}
	f.removed = &removed{living: f.hasChildren, forget: func(string) {}}
	last := provider.DeepCopy()
	last.ResourceVersion = "900"
	f.relatives().Delete(t.Context(), event.DeleteEvent{Object: last, DeleteStateUnknown: true}, q)

	if diff := cmp.Diff([]bool{true, false}, []bool{before, covered()}); diff != "" {
		t.Errorf("covered before and after: -want +got:\n%s", diff)
	}
}

// versioned counts lists and gives them a version, 1000 and then 3000: the fake
// server's have none.
func versioned(lists *int) interceptor.Funcs {
	return interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, o ...client.ListOption) error {
		*lists++
		err := c.List(ctx, l, o...)
		l.SetResourceVersion("1000")
		if *lists > 1 {
			l.SetResourceVersion("3000")
		}
		return err
	}}
}

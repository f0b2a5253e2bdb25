package subscription

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	xpevent "github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/mirror"
	"github.com/provider-finops/provider-finops/internal/finops/gate"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

var (
	orders    = flag.Int("orders", 10_000, "how many random lives of families TestAnyOrder tries")
	orderSeed = flag.Uint64("order-seed", 0, "the seed of the only life TestAnyOrder tries; 0: all")
)

// TestAnyOrder lives the lives of random families, with the controller's own
// decisions, events and evidence, in random orders: members come, are deleted,
// go and come again while others are looked at, and the cache lags behind the
// server by any number of events. The oracle, which looks at everybody, says at
// each step whether what was written is right, and whenever nothing is left to
// be done, that nobody was forgotten.
func TestAnyOrder(t *testing.T) {
	x, err := newIndexes()
	if err != nil {
		t.Fatal(err)
	}
	if *orderSeed != 0 {
		live(t, x, *orderSeed)
		return
	}
	base := rand.Uint64()
	for i := range uint64(*orders) {
		if live(t, x, base+i); t.Failed() {
			return
		}
	}
}

// A life is one family, on a server and in a cache, with what is yet to happen.
type life struct {
	t    *testing.T
	seed uint64
	rng  *rand.Rand

	server, cache *world
	oracle        oracle
	events        []change
	fanout        fanout
	controller    *connector
	queue         *picked
	log           []string

	wrote     map[types.UID]int  // The version of the controller's last write.
	uncovered map[types.UID]bool // Who was active without cover at some time.
	orphaned  map[types.UID]bool // Whose parent was gone or had ended at some time.
}

// A change is an event that the cache has not seen yet.
type change struct{ before, after *v1alpha1.Subscription }

// picked is a queue that hands out any of its items.
type picked struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]

	items []reconcile.Request
}

func (q *picked) Add(r reconcile.Request) {
	if !slices.Contains(q.items, r) {
		q.items = append(q.items, r)
	}
}

func live(t *testing.T, x *byField, seed uint64) {
	t.Helper()
	server, cache := newWorld(x), newWorld(x)
	l := &life{
		t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 40)), server: server, cache: cache,
		oracle: oracle{world: server, removed: map[ref.Key]ref.Key{}}, queue: &picked{},
		wrote: map[types.UID]int{}, uncovered: map[types.UID]bool{}, orphaned: map[types.UID]bool{},
	}
	l.fanout = fanout{cache: cache, evidence: newEvidence(server), replaced: newReplaced(), targets: &targetWatches{}}
	l.fanout.removed = &removed{tombstones: (*mirror.Mirror)(nil).Tombstones, living: l.fanout.hasChildren, forget: (*mirror.Mirror)(nil).ForgetSubscription}
	l.controller = &connector{
		cached: view{Reader: cache}, live: view{Reader: newSharing(server), live: true}, targets: targets{watches: l.fanout.targets},
		removed: l.fanout.removed, replaced: l.fanout.replaced, evidence: l.fanout.evidence,
		clock: clocktesting.NewFakePassiveClock(noon.Time), record: xpevent.NewNopRecorder(), said: newOnce(),
	}
	offerings, plan := randomPlan(l.rng)
	for _, o := range offerings {
		server.offerings[ref.Key{Namespace: o.Namespace, Name: o.Name}] = o
		cache.offerings[ref.Key{Namespace: o.Namespace, Name: o.Name}] = o
	}
	l.run(plan)
}

// run does, at each step, one of what can be done.
func (l *life) run(plan []*v1alpha1.Subscription) {
	left := 2 + l.rng.IntN(6) // Deletions and removals.
	for step := 0; !l.t.Failed(); step++ {
		if step > 5_000 {
			l.failf("it never comes to rest")
			return
		}
		if len(l.events) == 0 && len(l.queue.items) == 0 {
			l.atRest()
			if len(plan) == 0 && (left == 0 || len(l.server.subs) == 0) {
				return
			}
		}
		switch n := l.rng.IntN(10); {
		case n < 2 && len(plan) > 0:
			l.create(plan[0])
			plan = plan[1:]
		case n < 3 && left > 0 && len(l.server.subs) > 0:
			left--
			l.take()
		case n < 7 && len(l.events) > 0:
			l.deliver()
		case len(l.queue.items) > 0:
			i := l.rng.IntN(len(l.queue.items))
			r := l.queue.items[i]
			l.queue.items = slices.Delete(l.queue.items, i, i+1)
			l.look(r)
		}
	}
}

func (l *life) failf(format string, args ...any) {
	l.t.Helper()
	from := max(0, len(l.log)-60)
	l.t.Errorf("-order-seed=%d: %s\n%s", l.seed, fmt.Sprintf(format, args...), join(l.log[from:]))
}

func join(lines []string) (text string) {
	for _, line := range lines {
		text += "  " + line + "\n"
	}
	return text
}

func (l *life) notef(format string, args ...any) { l.log = append(l.log, fmt.Sprintf(format, args...)) }

// write stores on the server, and tells the cache later.
func (l *life) write(before, after *v1alpha1.Subscription) {
	l.server.version++
	if after == nil {
		gone := before.DeepCopy()
		gone.ResourceVersion = strconv.Itoa(l.server.version) // As a watch tells it.
		before = gone
		delete(l.server.subs, keyOf(before))
		delete(l.oracle.removed, keyOf(before))
		if before.Spec.Parent != nil {
			l.oracle.removed[keyOf(before)] = key(before.Spec.Parent.SubscriptionRef)
		}
	} else {
		after.ResourceVersion = strconv.Itoa(l.server.version)
		l.server.subs[keyOf(after)] = after
	}
	l.events = append(l.events, change{before, after})

	for _, s := range l.server.subs {
		if s.Status.ActivatedAt == nil || s.Status.DeactivatedAt != nil {
			continue
		}
		if s.Status.CompatibilityRoot != "" && l.oracle.gap(s, s.Status.CompatibilityRoot) != "" {
			l.uncovered[s.UID] = true
		}
		if s.Spec.Parent != nil {
			if p := l.server.subs[key(s.Spec.Parent.SubscriptionRef)]; p == nil || p.Status.DeactivatedAt != nil {
				l.orphaned[s.UID] = true
			}
		}
	}
}

func (l *life) create(s *v1alpha1.Subscription) {
	if _, there := l.server.subs[keyOf(s)]; there {
		return // Its namesake is still there.
	}
	parent := ""
	if s.Spec.Parent != nil {
		parent = s.Spec.Parent.SubscriptionRef.Name
	}
	l.notef("create %s under %q, bound to %s, which requires %v, %v", s.Name, parent, s.Spec.OfferingRef.Name, l.oracle.required(s), s.Spec.Lifecycle)
	l.write(nil, s.DeepCopy())
}

// take deletes somebody, or lets somebody go who was deleted.
func (l *life) take() {
	all := slices.SortedFunc(keys(l.server.subs), ref.Compare)
	s := l.server.subs[all[l.rng.IntN(len(all))]]
	if s.DeletionTimestamp == nil {
		l.notef("delete %s", s.Name)
		deleted := s.DeepCopy()
		deleted.DeletionTimestamp = &noon
		l.write(s, deleted)
		return
	}
	l.notef("release %s", s.Name)
	l.write(s, nil)
}

// deliver has the cache see the next event: one watch brings them in order.
func (l *life) deliver() {
	c := l.events[0]
	l.events = l.events[1:]

	ctx, handler := l.t.Context(), l.fanout.relatives()
	switch {
	case c.before == nil:
		l.cache.subs[keyOf(c.after)] = c.after
		handler.Create(ctx, event.CreateEvent{Object: c.after}, l.queue)
		l.queue.Add(request(keyOf(c.after)))
	case c.after == nil:
		delete(l.cache.subs, keyOf(c.before))
		handler.Delete(ctx, event.DeleteEvent{Object: c.before}, l.queue)
		l.queue.Add(request(keyOf(c.before)))
	default:
		l.cache.subs[keyOf(c.after)] = c.after
		handler.Update(ctx, event.UpdateEvent{ObjectOld: c.before, ObjectNew: c.after}, l.queue)
		if (c.before.DeletionTimestamp == nil) != (c.after.DeletionTimestamp == nil) {
			l.queue.Add(request(keyOf(c.after)))
		}
	}
}

// look is what Observe does: decide, decide again, and store on the version that
// was decided on.
func (l *life) look(r reconcile.Request) {
	cached, ok := l.cache.subs[ref.Key{Namespace: r.Namespace, Name: r.Name}]
	if !ok {
		return
	}
	if wrote, err := strconv.Atoi(cached.ResourceVersion); err != nil || wrote < l.wrote[cached.UID] {
		l.queue.Add(r) // The cache has not seen the last own write, so nothing is kept ([frame.Statuses]).
		return
	}
	s := cached.DeepCopy()
	e := &external{connector: l.controller}
	d := gate.Decide(e.gather(l.t.Context(), s, e.cached))
	if d.Final() {
		d = gate.Decide(e.gather(l.t.Context(), s, e.live))
	}
	report(s, d)
	if equality.Semantic.DeepEqual(cached.Status, s.Status) {
		return
	}
	current := l.server.subs[keyOf(s)]
	if current == nil || current.UID != s.UID || current.ResourceVersion != s.ResourceVersion {
		l.queue.Add(r) // A conflict.
		return
	}
	l.notef("%s: %s -> %s", s.Name, said(cached), said(s))
	l.judge(current, s)
	l.write(current, s)
	l.wrote[s.UID] = l.server.version
}

// judge asks the oracle whether something may be written that is never undone.
func (l *life) judge(before, after *v1alpha1.Subscription) {
	switch {
	case before.Status.ActivatedAt == nil && after.Status.ActivatedAt != nil:
		if want := l.oracle.verdict(before); want != said(after) {
			l.failf("%s is activated, and the oracle says %s", after.Name, want)
		}
	case before.Status.DeactivatedAt == nil && after.Status.DeactivatedAt != nil && after.DeletionTimestamp == nil:
		allowed := said(after) == "ended/"+v1alpha1.ReasonParentDeactivated && l.orphaned[after.UID] ||
			said(after) == "ended/"+v1alpha1.ReasonCompatibilityRequirementNotMet && l.uncovered[after.UID]
		if !allowed {
			l.failf("%s is %s, for which there never was a cause", after.Name, said(after))
		}
	case before.Status.DeactivatedAt != nil && after.Status.DeactivatedAt == nil,
		before.Status.ActivatedAt != nil && after.Status.ActivatedAt == nil:
		l.failf("%s takes back what is final", after.Name)
	}
	if root := before.Status.CompatibilityRoot; root == "" && after.Status.CompatibilityRoot != "" && after.Status.CompatibilityRoot != l.oracle.root(before) {
		l.failf("%s has root %s, not %s", after.Name, after.Status.CompatibilityRoot, l.oracle.root(before))
	}
}

// atRest compares everybody with the oracle.
func (l *life) atRest() {
	for _, s := range l.server.subs {
		switch {
		case s.DeletionTimestamp != nil:
			if s.Status.DeactivatedAt == nil {
				l.failf("%s was deleted and has not ended", s.Name)
			}
		case s.Status.DeactivatedAt == nil:
			if want := l.oracle.verdict(s); want != said(s) {
				l.failf("at rest %s says %s, and the oracle %s", s.Name, said(s), want)
			}
		}
	}
}

// randomPlan is a family in any order, cycles and missing parents included, and
// some of it once more, for when the first have gone.
func randomPlan(rng *rand.Rand) ([]*v1alpha1.Offering, []*v1alpha1.Subscription) {
	offerings := make([]*v1alpha1.Offering, 0, 3)
	for i := range 3 {
		var requires []string
		for j := range 3 {
			if rng.IntN(4) == 0 {
				requires = append(requires, fmt.Sprintf("o-%d", j))
			}
		}
		o := offeringOf(fmt.Sprintf("o-%d", i), requires...)
		o.Status.Ready = "True"
		offerings = append(offerings, o)
	}
	n := 2 + rng.IntN(6)
	plan := make([]*v1alpha1.Subscription, 0, 2*n)
	for i := range n {
		parent := ""
		switch {
		case i > 0 && rng.IntN(12) == 0:
			parent = fmt.Sprintf("s-%d", rng.IntN(n+1)) // Any: itself, a loop, one that never comes.
		case i > 0:
			parent = fmt.Sprintf("s-%d", rng.IntN(i))
		}
		plan = append(plan, &v1alpha1.Subscription{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("s-%d", i), Finalizers: []string{v1alpha1.SubscriptionFinalizer}},
			Spec:       v1alpha1.SubscriptionSpec{OfferingRef: v1alpha1.ObjectReference{Namespace: "ns", Name: fmt.Sprintf("o-%d", rng.IntN(3))}},
		})
		s := plan[len(plan)-1]
		if parent != "" {
			s.Spec.Parent = &v1alpha1.SubscriptionParent{SubscriptionRef: v1alpha1.ObjectReference{Namespace: "ns", Name: parent}}
		}
		if rng.IntN(3) == 0 {
			s.Spec.Lifecycle = &v1alpha1.SubscriptionLifecycle{OnParentDeactivate: v1alpha1.ParentDeactivateActionOrphan}
		}
	}
	rng.Shuffle(len(plan), func(i, j int) { plan[i], plan[j] = plan[j], plan[i] })
	for _, s := range plan[:n] {
		if rng.IntN(4) == 0 {
			plan = append(plan, s.DeepCopy())
		}
	}
	for i, s := range plan {
		s.UID = types.UID("uid-" + s.Name + "-" + strconv.Itoa(i))
		s.CreationTimestamp = metav1.Time{Time: noon.Add(-time.Hour)}
	}
	return offerings, plan
}

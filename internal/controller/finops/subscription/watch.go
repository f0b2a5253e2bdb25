package subscription

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/finops/index"
	"github.com/provider-finops/provider-finops/internal/finops/family"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
	"github.com/provider-finops/provider-finops/internal/objects"
)

// A fanout finds the Subscriptions that an event can concern, and no others:
// costs and conditions concern nobody, and the flip of a member only those whose
// answer can be another for it (design R3).
type fanout struct {
	cache    client.Reader
	removed  *removed
	evidence *evidence
	replaced *replaced
	targets  *targetWatches
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// relatives enqueues who may be covered or not any more when the activation of a
// Subscription flips, and its children when it appears, goes, or changes in what
// they wait for (BETTER-SUB-6).
func (f fanout) relatives() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			f.evidence.saw(e.Object)
			if s, ok := e.Object.(*v1alpha1.Subscription); ok && !e.IsInInitialList { // At the start everybody is looked at anyway.
				f.enqueue(ctx, q, s, f.children(ctx, s))
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			f.evidence.saw(e.ObjectNew)
			before, ok := e.ObjectOld.(*v1alpha1.Subscription)
			after, same := e.ObjectNew.(*v1alpha1.Subscription)
			if !ok || !same {
				return
			}
			was, is := member(before), member(after)
			switch {
			case was.Active != is.Active || is.Active && was.Root != is.Root:
				f.evidence.note(after, !is.Active)
				f.enqueue(ctx, q, after, f.concerned(ctx, after))
			case before.Status.Ready != after.Status.Ready || hasEnded(before) != hasEnded(after):
				f.enqueue(ctx, q, after, f.children(ctx, after))
			}
			if was.Root != is.Root && !is.Active {
				// Who was activated in its family before this was known did not
				// find it there, so it looks once more.
				q.Add(request(is.Key))
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			f.evidence.saw(e.Object)
			if s, ok := e.Object.(*v1alpha1.Subscription); ok {
				f.targets.release(ctx, s.UID)
				f.removed.note(ctx, member(s))
				f.replaced.set(member(s), false)
				f.evidence.note(s, true)
				if e.DeleteStateUnknown {
					// The watch was broken meanwhile, so this is how it was seen last, and
					// its version says nothing about its end.
					f.evidence.forget(member(s).Root)
				}
				f.enqueue(ctx, q, s, f.concerned(ctx, s))
			}
		},
	}
}

// concerned are those whose answer can be another when a member has been
// activated, has ended or is gone: its children, and the members that require
// its Offering, now or by what was recorded.
func (f fanout) concerned(ctx context.Context, s *v1alpha1.Subscription) []family.Member {
	m, children := member(s), f.children(ctx, s)
	if m.Root == "" {
		return children // It is in no family yet.
	}
	if m.Active && slices.ContainsFunc(children, func(c family.Member) bool { return c.Active }) {
		// It has taken the name of one that is gone, and with it the children:
		// who is beneath whom is another question now.
		return slices.Concat(children, f.list(ctx, client.MatchingFields{index.SubscriptionsByRoot: m.Root}))
	}

	requiring := &v1alpha1.OfferingList{}
	which := client.MatchingFields{index.OfferingsByRequired: m.Offering.String()}
	if err := f.cache.List(ctx, requiring, which, client.UnsafeDisableDeepCopy); err != nil { // The cache does not fail once it is filled.
		return children
	}
	concerned := slices.Concat(children, f.replaced.in(m.Root))
	for i := range requiring.Items {
		o := &requiring.Items[i]
		bound := index.Binding(m.Root, o.Namespace+"/"+o.Name)
		concerned = append(concerned, f.list(ctx, client.MatchingFields{index.SubscriptionsByBinding: bound})...)
	}
	return concerned
}

func (f fanout) children(ctx context.Context, s *v1alpha1.Subscription) []family.Member {
	return f.list(ctx, client.MatchingFields{index.SubscriptionsByParent: s.Namespace + "/" + s.Name})
}

// enqueue adds members, the deepest first: then each is normally judged by its
// own coverage before the end of its parent reaches it.
func (f fanout) enqueue(ctx context.Context, q queue, s *v1alpha1.Subscription, members []family.Member) {
	for _, m := range deepestFirst(members, parentOf(ctx, f.cache)) {
		if m.UID != string(s.UID) {
			q.Add(request(m.Key))
		}
	}
}

// deepestFirst orders members by their depth in the tree, without duplicates. A
// tree has a root, or the depth of those in it does not matter.
func deepestFirst(members []family.Member, up family.ParentOf) []family.Member {
	known := map[ref.Key]family.Member{}
	for _, m := range members {
		known[m.Key] = m
	}
	depths := map[ref.Key]int{}
	for _, m := range members {
		var path []ref.Key
		for {
			if _, done := depths[m.Key]; done {
				break
			}
			depths[m.Key] = 0 // A loop ends here.
			path = append(path, m.Key)
			if m.Parent.IsZero() {
				break
			}
			if next, ok := known[m.Parent]; ok {
				m = next
				continue
			}
			next, err := up(m)
			if err != nil || next == nil {
				break
			}
			m = *next
		}
		base := 0
		if len(path) > 0 && path[len(path)-1] != m.Key {
			base = depths[m.Key]
		}
		for i, k := range slices.Backward(path) {
			depths[k] = base + len(path) - i
		}
	}

	ordered := make([]family.Member, 0, len(known))
	for _, m := range known {
		ordered = append(ordered, m)
	}
	slices.SortFunc(ordered, func(a, b family.Member) int {
		return cmp.Or(cmp.Compare(depths[b.Key], depths[a.Key]), ref.Compare(a.Key, b.Key))
	})
	return ordered
}

// hasChildren tells whether a living Subscription names that parent.
func (f fanout) hasChildren(ctx context.Context, k ref.Key) bool {
	return len(f.list(ctx, client.MatchingFields{index.SubscriptionsByParent: k.String()})) > 0
}

// bound maps an Offering to its Subscriptions.
func (f fanout) bound(ctx context.Context, o client.Object) []reconcile.Request {
	return requests(f.list(ctx, client.MatchingFields{index.SubscriptionsByOffering: o.GetNamespace() + "/" + o.GetName()}))
}

// within maps a namespace to the Subscriptions in it: its labels are mirrored
// with them.
func (f fanout) within(ctx context.Context, ns client.Object) []reconcile.Request {
	return requests(f.list(ctx, client.InNamespace(ns.GetName())))
}

// deleted maps a charge collector to the Subscriptions that wait for one.
func (f fanout) deleted(ctx context.Context, _ client.Object) []reconcile.Request {
	list := &v1alpha1.SubscriptionList{}
	if err := f.cache.List(ctx, list); err != nil { // The cache does not fail once it is filled.
		return nil
	}
	var waiting []reconcile.Request
	for i := range list.Items {
		if s := &list.Items[i]; s.DeletionTimestamp != nil {
			waiting = append(waiting, request(member(s).Key))
		}
	}
	return waiting
}

// everybody maps the return of the database to all Subscriptions: what they
// could not record is recorded now.
func (f fanout) everybody(ctx context.Context) []reconcile.Request { return requests(f.list(ctx)) }

func (f fanout) list(ctx context.Context, which ...client.ListOption) []family.Member {
	members, err := list(ctx, f.cache, which...)
	if err != nil { // The cache does not fail once it is filled.
		return nil
	}
	return members
}

func requests(members []family.Member) []reconcile.Request {
	all := make([]reconcile.Request, 0, len(members))
	for _, m := range members {
		all = append(all, request(m.Key))
	}
	return all
}

func request(k ref.Key) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Namespace: k.Namespace, Name: k.Name}}
}

// finalizerLost lets a living Subscription through that has lost its finalizer:
// deleted like that it would vanish unbilled.
func finalizerLost() predicate.Predicate {
	has := func(o client.Object) bool { return controllerutil.ContainsFinalizer(o, v1alpha1.SubscriptionFinalizer) }
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return has(e.ObjectOld) && !has(e.ObjectNew) && e.ObjectNew.GetDeletionTimestamp() == nil
		},
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// offeringChanged lets those events of an Offering through that its
// Subscriptions can depend on.
func offeringChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*v1alpha1.Offering)
			after, same := e.ObjectNew.(*v1alpha1.Offering)
			return ok && same && (before.Status.Ready != after.Status.Ready || before.UID != after.UID ||
				before.Annotations[v1alpha1.AnnotationAllowedNamespaces] != after.Annotations[v1alpha1.AnnotationAllowedNamespaces])
		},
	}
}

// collectorChanged lets a charge collector through that appears or goes.
func collectorChanged() predicate.Predicate {
	collects := func(o client.Object) bool {
		j, ok := o.(*v1alpha1.CostJob)
		return ok && objects.CollectsCharges(j)
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return collects(e.Object) && !e.IsInInitialList },
		UpdateFunc: func(e event.UpdateEvent) bool { return collects(e.ObjectOld) != collects(e.ObjectNew) },
	}
}

// notCreated lets everything through but the appearance of an object.
func notCreated() predicate.Predicate {
	return predicate.Funcs{CreateFunc: func(event.CreateEvent) bool { return false }}
}

func hasEnded(s *v1alpha1.Subscription) bool { return s.Status.DeactivatedAt != nil }

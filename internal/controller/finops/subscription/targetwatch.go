package subscription

import (
	"context"
	"sync"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// targetWatches watch the kinds that Subscriptions name as targets, each from
// the first Subscription that does until the last (OPEN-SUB-9). A watch only
// says when to look: whether a target exists is always asked of the server. Of
// a kind that cannot be watched nothing is heard, and it is looked at by the
// clock.
type targetWatches struct {
	// informers are a cache of their own, because to stop a watch of a shared
	// one would stop it for everybody.
	informers cache.Cache

	mu    sync.Mutex
	queue queue // Nil until the controller has started.
	held  map[types.UID]hold
	kinds map[schema.GroupVersionKind]*watchedKind
}

// A hold is one Subscription's share in a watch.
type hold struct {
	kind    schema.GroupVersionKind
	target  client.ObjectKey
	request reconcile.Request

	// looked says that the target was read since, and exists what was found.
	looked, exists bool

	// gated says that it waits for the target to become ready.
	gated bool
}

type watchedKind struct {
	stop context.CancelFunc

	// synced is set when the watch is established. It guards no data: what it
	// says may be old, for a watch can break at any time.
	synced bool

	// by finds the holds of a target.
	by map[client.ObjectKey]map[types.UID]struct{}
}

// newTargetWatches makes the cache of the watches and hands it to the manager,
// which starts it with the controllers.
func newTargetWatches(mgr ctrl.Manager) (*targetWatches, error) {
	log := mgr.GetLogger().WithName("targets")
	informers, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient:       mgr.GetHTTPClient(),
		Scheme:           mgr.GetScheme(),
		Mapper:           mgr.GetRESTMapper(),
		DefaultTransform: onlyIdentity,
		DefaultWatchErrorHandler: func(_ context.Context, _ *toolscache.Reflector, err error) {
			// The reflector tries again by itself, more and more rarely.
			log.V(1).Info("cannot watch a kind of target", "error", err.Error())
		},
	})
	if err != nil {
		return nil, errors.Wrap(err, "cannot make the cache of targets")
	}
	w := &targetWatches{
		informers: informers,
		held:      map[types.UID]hold{},
		kinds:     map[schema.GroupVersionKind]*watchedKind{},
	}
	return w, errors.Wrap(mgr.Add(informers), "cannot add the cache of targets")
}

// onlyIdentity drops everything of a target but its name and its version.
func onlyIdentity(o any) (any, error) {
	if m, ok := o.(*metav1.PartialObjectMetadata); ok {
		return &metav1.PartialObjectMetadata{TypeMeta: m.TypeMeta, ObjectMeta: metav1.ObjectMeta{
			Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion,
		}}, nil
	}
	return o, nil
}

// Start takes the queue of the controller, so that the watches can fill it.
func (w *targetWatches) Start(_ context.Context, q queue) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = q
	return nil
}

// hold makes sure that a target's kind is watched for a Subscription. It comes
// before the target is read: what happens after the reading is then an event.
// That a kind cannot be watched is no error.
func (w *targetWatches) hold(ctx context.Context, uid types.UID, h hold) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if before, ok := w.held[uid]; ok {
		if before.kind == h.kind && before.target == h.target {
			h.looked, h.exists = before.looked, before.exists
			w.held[uid] = h
			return
		}
		w.drop(ctx, uid, before)
	}
	k := w.kinds[h.kind]
	if k == nil {
		if k = w.watch(ctx, h.kind); k == nil {
			return
		}
		w.kinds[h.kind] = k
	}
	if k.by[h.target] == nil {
		k.by[h.target] = map[types.UID]struct{}{}
	}
	k.by[h.target][uid] = struct{}{}
	w.held[uid] = h
}

// found notes what reading a target came to.
func (w *targetWatches) found(uid types.UID, exists bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if h, ok := w.held[uid]; ok {
		h.looked, h.exists = true, exists
		w.held[uid] = h
	}
}

// release ends a Subscription's share, and the watch with the last.
func (w *targetWatches) release(ctx context.Context, uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if h, ok := w.held[uid]; ok {
		w.drop(ctx, uid, h)
	}
}

func (w *targetWatches) drop(ctx context.Context, uid types.UID, h hold) {
	delete(w.held, uid)
	k := w.kinds[h.kind]
	delete(k.by[h.target], uid)
	if len(k.by[h.target]) == 0 {
		delete(k.by, h.target)
	}
	if len(k.by) > 0 {
		return
	}
	delete(w.kinds, h.kind)
	k.stop()
	_ = w.informers.RemoveInformer(ctx, ofKind(h.kind)) // It only fails for what is no object.
}

// watch begins to watch a kind, and returns nil if that cannot even be tried.
func (w *targetWatches) watch(ctx context.Context, kind schema.GroupVersionKind) *watchedKind {
	informer, err := w.informers.GetInformer(ctx, ofKind(kind), cache.BlockUntilSynced(false))
	if err != nil {
		return nil
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { w.heard(kind, o, func(h hold) bool { return !h.looked || !h.exists }) },
		UpdateFunc: func(_, o any) { w.heard(kind, o, func(h hold) bool { return h.gated }) },
		DeleteFunc: func(o any) { w.heard(kind, o, func(h hold) bool { return !h.looked || h.exists }) },
	})
	if err != nil {
		_ = w.informers.RemoveInformer(ctx, ofKind(kind))
		return nil
	}

	// The watch outlives the reconcile that needed it first.
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	k := &watchedKind{stop: stop, by: map[client.ObjectKey]map[types.UID]struct{}{}}
	go func() {
		if toolscache.WaitForCacheSync(watching.Done(), informer.HasSynced) {
			w.established(watching, kind, k)
		}
	}()
	return k
}

// established has those look whose target was deleted between their last look
// and the beginning of the watch: for them there is no event.
func (w *targetWatches) established(ctx context.Context, kind schema.GroupVersionKind, k *watchedKind) {
	w.mu.Lock()
	k.synced = true
	var doubtful []hold
	for uid := range w.held {
		if h := w.held[uid]; h.kind == kind && h.exists {
			doubtful = append(doubtful, h)
		}
	}
	w.mu.Unlock()

	for _, h := range doubtful {
		if err := w.informers.Get(ctx, h.target, ofKind(kind)); kerrors.IsNotFound(err) {
			w.enqueue(h.request)
		}
	}
}

// heard has those look whom an event of a target concerns.
func (w *targetWatches) heard(kind schema.GroupVersionKind, o any, concerns func(hold) bool) {
	if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	m, ok := o.(*metav1.PartialObjectMetadata)
	if !ok {
		return
	}
	w.mu.Lock()
	var requests []reconcile.Request
	if k := w.kinds[kind]; k != nil {
		for uid := range k.by[client.ObjectKeyFromObject(m)] {
			if h := w.held[uid]; concerns(h) {
				requests = append(requests, h.request)
			}
		}
	}
	w.mu.Unlock()
	w.enqueue(requests...)
}

func (w *targetWatches) enqueue(requests ...reconcile.Request) {
	w.mu.Lock()
	q := w.queue
	w.mu.Unlock()
	for _, r := range requests {
		if q != nil {
			q.Add(r)
		}
	}
}

// hears tells whether the end of a Subscription's target would be heard of.
func (w *targetWatches) hears(mg resource.Managed) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	h, ok := w.held[mg.GetUID()]
	return ok && w.kinds[h.kind].synced
}

func ofKind(kind schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(kind)
	return o
}

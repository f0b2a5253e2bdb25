package pricebook

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/frame"
	"github.com/provider-finops/provider-finops/internal/controller/opencost"
)

// Name of the controller.
const Name = "pricebook-controller"

// Setup adds the controller of PriceBooks to the manager.
func Setup(mgr ctrl.Manager, o frame.Options, i opencost.Installation) error {
	err := metrics.Registry.Register(collector{reader: mgr.GetClient()})
	var again prometheus.AlreadyRegisteredError // By another manager of this process; one tells enough.
	if err != nil && !errors.As(err, &again) {
		return errors.Wrap(err, "cannot register the metrics of PriceBooks")
	}

	// A blocked sender would be a reconcile that waits for itself: the source
	// hands on at once, and one that stands in the buffer is never lost.
	won := make(chan event.TypedGenericEvent[*v1alpha1.PriceBook], 1)
	documents, err := documentCache(mgr, i)
	if err != nil {
		return err
	}

	// Two reconciles at once would hold the same election and run into each
	// other's writes.
	o.MaxConcurrentReconciles = 1

	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		WithOptions(o.ForControllerRuntime()).
		For(&v1alpha1.PriceBook{}, builder.WithPredicates(changed())).
		Watches(&v1alpha1.PriceBook{}, toWinner(mgr.GetClient()), builder.WithPredicates(changed())).
		WatchesRawSource(source.Channel(won, &handler.TypedEnqueueRequestForObject[*v1alpha1.PriceBook]{})).
		WatchesRawSource(source.Kind(documents, &corev1.ConfigMap{}, toWinnerFrom[*corev1.ConfigMap](mgr.GetClient()))).
		Complete(newReconciler(mgr, o, i, func(ctx context.Context, b *v1alpha1.PriceBook) {
			select {
			case won <- event.TypedGenericEvent[*v1alpha1.PriceBook]{Object: b}:
			case <-ctx.Done():
			}
		}))
}

func newReconciler(mgr ctrl.Manager, o frame.Options, i opencost.Installation, wake func(context.Context, *v1alpha1.PriceBook)) reconcile.Reconciler {
	statuses := frame.NewStatuses(mgr.GetClient())
	kind := frame.Kind{Name: Name, GVK: v1alpha1.PriceBookGroupVersionKind}

	return frame.NewReconciler[*v1alpha1.PriceBook](mgr, o, kind, statuses, &connector{
		client:   mgr.GetClient(),
		live:     mgr.GetAPIReader(),
		statuses: statuses,
		opencost: i,
		clock:    o.Clock,
		record:   frame.Recorder(mgr, Name),
		wake:     wake,
	})
}

// documentCache holds the one ConfigMap that OpenCost takes its prices from, so
// that somebody's change to it is an event. The cache of the manager would hold
// all ConfigMaps of the cluster.
func documentCache(mgr ctrl.Manager, i opencost.Installation) (cache.Cache, error) {
	c, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(),
		Scheme:     mgr.GetScheme(),
		Mapper:     mgr.GetRESTMapper(),
		ByObject: map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {
			Namespaces: map[string]cache.Config{i.Namespace: {FieldSelector: fields.OneTermEqualSelector("metadata.name", ConfigMapName)}},
		}},
	})
	if err != nil {
		return nil, errors.Wrap(err, "cannot make a cache of the pricing document")
	}

	return c, errors.Wrap(mgr.Add(c), "cannot run the cache of the pricing document")
}

// changed lets those events of a book through that an election can depend on.
// Deletions are among them, annotations too, and the slot, in case somebody has
// moved it by hand.
func changed() predicate.Predicate {
	return predicate.Or(resource.DesiredStateChanged(), predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.PriceBook)
		after, same := e.ObjectNew.(*v1alpha1.PriceBook)

		return ok && same && before.Status.Active != after.Status.Active
	}})
}

// toWinner makes the book that an event of any book leads to reconcile: when
// the active one is deleted, or is held by an annotation that pauses it, its own
// reconcile cannot hand on the slot.
func toWinner(c client.Reader) handler.EventHandler { return toWinnerFrom[client.Object](c) }

func toWinnerFrom[T client.Object](c client.Reader) handler.TypedEventHandler[T, reconcile.Request] {
	enqueue := func(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		if o, err := electFrom(ctx, c); err == nil && o.winner != nil { // The cache does not fail once it is filled.
			q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: o.winner.Namespace, Name: o.winner.Name}})
		}
	}

	return handler.TypedFuncs[T, reconcile.Request]{
		CreateFunc: func(ctx context.Context, _ event.TypedCreateEvent[T], q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			enqueue(ctx, q)
		},
		UpdateFunc: func(ctx context.Context, _ event.TypedUpdateEvent[T], q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			enqueue(ctx, q)
		},
		DeleteFunc: func(ctx context.Context, _ event.TypedDeleteEvent[T], q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			enqueue(ctx, q)
		},
	}
}

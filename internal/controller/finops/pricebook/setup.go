package pricebook

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/frame"
	"github.com/provider-finops/provider-finops/internal/controller/opencost"
)

// Name of the controller.
const Name = "pricebook-controller"

// Settings are what the controller of PriceBooks needs beside the options of all.
type Settings struct {
	// OpenCost is told the prices.
	OpenCost opencost.Installation

	// Namespaces whose books take part in the election; none means all
	// (BETTER-SEC-2).
	Namespaces []string
}

// Setup adds the controller of PriceBooks to the manager.
func Setup(mgr ctrl.Manager, o frame.Options, s Settings) error {
	err := metrics.Registry.Register(collector{reader: mgr.GetClient()})
	var again prometheus.AlreadyRegisteredError // By another manager of this process; one tells enough.
	if err != nil && !errors.As(err, &again) {
		return errors.Wrap(err, "cannot register the metrics of PriceBooks")
	}

	// A blocked sender would be a reconcile that waits for itself: the source
	// hands on at once, and one that stands in the buffer is never lost.
	won := make(chan event.TypedGenericEvent[*v1alpha1.PriceBook], 1)
	documents, err := documentCache(mgr, s.OpenCost)
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
		Watches(&v1alpha1.PriceBook{}, toBooks(mgr.GetClient(), s.Namespaces), builder.WithPredicates(changed())).
		WatchesRawSource(source.Channel(won, &handler.TypedEnqueueRequestForObject[*v1alpha1.PriceBook]{})).
		WatchesRawSource(source.Kind(documents, &corev1.ConfigMap{}, toWinner(mgr.GetClient(), s.Namespaces))).
		Complete(newReconciler(mgr, o, s, func(ctx context.Context, b *v1alpha1.PriceBook) {
			select {
			case won <- event.TypedGenericEvent[*v1alpha1.PriceBook]{Object: b}:
			case <-ctx.Done():
			}
		}))
}

func newReconciler(mgr ctrl.Manager, o frame.Options, s Settings, wake func(context.Context, *v1alpha1.PriceBook)) reconcile.Reconciler {
	statuses := frame.NewStatuses(mgr.GetClient())
	again := &frame.Again{}
	kind := frame.Kind{Name: Name, GVK: v1alpha1.PriceBookGroupVersionKind, Again: again}

	return frame.NewReconciler[*v1alpha1.PriceBook](mgr, o, kind, statuses, &connector{
		client:   mgr.GetClient(),
		live:     mgr.GetAPIReader(),
		statuses: statuses,
		settings: s,
		clock:    o.Clock,
		record:   frame.Recorder(mgr, Name),
		again:    again,
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

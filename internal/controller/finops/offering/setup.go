package offering

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/finops/index"
	"github.com/provider-finops/provider-finops/internal/controller/frame"
	"github.com/provider-finops/provider-finops/internal/controller/mirror"
	"github.com/provider-finops/provider-finops/internal/finops/offer"
)

// Name of the controller.
const Name = "offering"

// pollHeld is how long an Offering that is held waits at most: what it waits
// for is watched, but nothing is sold meanwhile.
const pollHeld = time.Minute

// Settings choose what differs from the documented behaviour. The zero Settings
// are that.
type Settings struct {
	// Guard says who keeps an Offering from being deleted.
	Guard offer.Guard
}

// Setup adds the controller of Offerings to the manager, and the index of
// Offerings. The index of Subscriptions is added by theirs. A nil mirror is none.
func Setup(mgr ctrl.Manager, o frame.Options, m *mirror.Mirror, s Settings) error {
	if err := index.AddOfferings(context.Background(), index.Cluster(mgr.GetCache())); err != nil {
		return err
	}
	c := mgr.GetClient()

	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		WithOptions(o.ForControllerRuntime()).
		For(&v1alpha1.Offering{}, builder.WithPredicates(resource.DesiredStateChanged())).
		Watches(&v1alpha1.Offering{}, handler.EnqueueRequestsFromMapFunc(related(c)), builder.WithPredicates(sellableChanged())).
		Watches(&v1alpha1.PriceBook{}, handler.EnqueueRequestsFromMapFunc(metered(c)), builder.WithPredicates(bookChanged())).
		Watches(&v1alpha1.Subscription{}, handler.EnqueueRequestsFromMapFunc(offeringOf), builder.WithPredicates(onlyDeletions())).
		WatchesRawSource(m.Returned(everybody(c))).
		Complete(newReconciler(mgr, o, m, s))
}

func newReconciler(mgr ctrl.Manager, o frame.Options, m *mirror.Mirror, s Settings) reconcile.Reconciler {
	statuses := frame.NewStatuses(mgr.GetClient())
	kind := frame.Kind{
		Name:      Name,
		GVK:       v1alpha1.OfferingGroupVersionKind,
		Finalizer: v1alpha1.OfferingFinalizer,
		Poll:      poll,
	}

	return frame.NewReconciler[*v1alpha1.Offering](mgr, o, kind, statuses, &connector{
		cache:    mgr.GetClient(),
		live:     mgr.GetAPIReader(),
		statuses: statuses,
		mirror:   m,
		guard:    s.Guard,
		clock:    o.Clock,
		record:   frame.Recorder(mgr, Name),
	})
}

func poll(mg resource.Managed, common time.Duration) time.Duration {
	if o, ok := mg.(*v1alpha1.Offering); ok && !meta.IsStatusConditionTrue(o.Status.Conditions, v1alpha1.TypeReady) {
		return min(common, pollHeld)
	}
	return common
}

// related maps an Offering to those whose readiness, or deletion, may hang on
// it: the ones that require it, and the ones it requires (BETTER-OFF-1).
func related(c client.Reader) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		o, ok := obj.(*v1alpha1.Offering)
		if !ok {
			return nil
		}
		var requests []reconcile.Request
		requiring := &v1alpha1.OfferingList{}
		own := o.Namespace + "/" + o.Name
		if err := c.List(ctx, requiring, client.MatchingFields{index.OfferingsByRequired: own}); err == nil { // The cache does not fail once it is filled.
			for i := range requiring.Items {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&requiring.Items[i])})
			}
		}
		if o.DeletionTimestamp != nil && o.Spec.Compatibility != nil {
			for _, r := range o.Spec.Compatibility.RequiredOfferings {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: r.Namespace, Name: r.Name}})
			}
		}
		return requests
	}
}

// metered maps a PriceBook to the Offerings that are priced by books: those
// without a price may get one now, and the others say whether charges have moved
// away from theirs (BETTER-OFF-3).
func metered(c client.Reader) handler.MapFunc {
	return func(ctx context.Context, _ client.Object) []reconcile.Request {
		offerings := &v1alpha1.OfferingList{}
		if err := c.List(ctx, offerings); err != nil { // The cache does not fail once it is filled.
			return nil
		}
		var requests []reconcile.Request
		for i := range offerings.Items {
			if o := &offerings.Items[i]; len(o.Spec.Pricing.ResourcePricing) > 0 {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)})
			}
		}
		return requests
	}
}

// everybody maps the return of the database to all Offerings: what they could
// not record is recorded now.
func everybody(c client.Reader) func(context.Context) []reconcile.Request {
	return func(ctx context.Context) []reconcile.Request {
		offerings := &v1alpha1.OfferingList{}
		if err := c.List(ctx, offerings, client.UnsafeDisableDeepCopy); err != nil { // The cache does not fail once it is filled.
			return nil
		}
		requests := make([]reconcile.Request, 0, len(offerings.Items))
		for i := range offerings.Items {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&offerings.Items[i])})
		}
		return requests
	}
}

// offeringOf maps a Subscription to its Offering.
func offeringOf(_ context.Context, obj client.Object) []reconcile.Request {
	s, ok := obj.(*v1alpha1.Subscription)
	if !ok {
		return nil
	}
	r := s.Spec.OfferingRef
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: r.Namespace, Name: r.Name}}}
}

// sellableChanged lets those events of an Offering through that others can
// depend on.
func sellableChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.Offering)
		after, same := e.ObjectNew.(*v1alpha1.Offering)
		return ok && same && (before.Status.Ready != after.Status.Ready || (before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil))
	}}
}

// bookChanged lets those events of a PriceBook through that a price can depend
// on.
func bookChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.PriceBook)
		after, same := e.ObjectNew.(*v1alpha1.PriceBook)
		return ok && same && (before.Generation != after.Generation ||
			before.Status.Active != after.Status.Active || before.Status.Ready != after.Status.Ready)
	}}
}

// onlyDeletions lets nothing through but the end of an object.
func onlyDeletions() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

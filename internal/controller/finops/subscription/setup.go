package subscription

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/finops/index"
	"github.com/provider-finops/provider-finops/internal/controller/frame"
	"github.com/provider-finops/provider-finops/internal/controller/mirror"
	"github.com/provider-finops/provider-finops/internal/finops/gate"
)

// Name of the controller.
const Name = "subscription"

const (
	// pollTarget is how long the end of a target may go unnoticed (OPEN-SUB-9),
	// and pollMissing how long one that has appeared.
	pollTarget  = 5 * time.Minute
	pollMissing = 30 * time.Second
)

// namespaceKind is watched and read as metadata: only labels are mirrored.
var namespaceKind = corev1.SchemeGroupVersion.WithKind("Namespace")

// Setup adds the controller of Subscriptions to the manager, and the indexes of
// Subscriptions. A nil mirror is none.
func Setup(mgr ctrl.Manager, o frame.Options, m *mirror.Mirror) error {
	if err := index.AddSubscriptions(context.Background(), mgr.GetFieldIndexer()); err != nil {
		return err
	}
	f := fanout{cache: mgr.GetClient(), evidence: newEvidence(mgr.GetAPIReader()), replaced: newReplaced()}
	f.removed = &removed{tombstones: m.Tombstones, living: f.hasChildren}
	states.read(mgr.GetClient())

	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		WithOptions(o.ForControllerRuntime()).
		For(&v1alpha1.Subscription{}, builder.WithPredicates(predicate.Or(resource.DesiredStateChanged(), finalizerLost()))).
		Watches(&v1alpha1.Subscription{}, f.relatives()).
		Watches(&v1alpha1.Offering{}, handler.EnqueueRequestsFromMapFunc(f.bound), builder.WithPredicates(offeringChanged())).
		Watches(&v1alpha1.CostJob{}, handler.EnqueueRequestsFromMapFunc(f.deleted), builder.WithPredicates(collectorChanged())).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(f.within), builder.OnlyMetadata,
			builder.WithPredicates(predicate.And(notCreated(), predicate.LabelChangedPredicate{}))).
		Complete(newReconciler(mgr, o, m, f))
}

func newReconciler(mgr ctrl.Manager, o frame.Options, m *mirror.Mirror, f fanout) reconcile.Reconciler {
	statuses := frame.NewStatuses(mgr.GetClient())
	kind := frame.Kind{
		Name:          Name,
		GVK:           v1alpha1.SubscriptionGroupVersionKind,
		Finalizer:     v1alpha1.SubscriptionFinalizer,
		HoldFinalizer: true, // The charge collector releases.
		Poll:          poll,
	}

	return frame.NewReconciler[*v1alpha1.Subscription](mgr, o, kind, statuses, &connector{
		cached:   view{Reader: mgr.GetClient()},
		live:     view{Reader: mgr.GetAPIReader(), live: true},
		targets:  targets{live: mgr.GetAPIReader(), mapper: mgr.GetRESTMapper()},
		removed:  f.removed,
		replaced: f.replaced,
		evidence: f.evidence,
		terms:    &recordedTerms{load: m.RecordedOffering, known: map[string]gate.Recorded{}},
		statuses: statuses,
		mirror:   m,
		clock:    o.Clock,
		record:   frame.Recorder(mgr, Name),
		said:     newOnce(),
	})
}

// poll looks at targets more often than at what is watched.
func poll(mg resource.Managed, common time.Duration) time.Duration {
	s, ok := mg.(*v1alpha1.Subscription)
	if !ok || s.Spec.Lifecycle == nil || s.Spec.Lifecycle.TargetRef == nil || s.Status.DeactivatedAt != nil {
		return common
	}
	if s.Status.ActivatedAt == nil {
		return min(common, pollMissing)
	}
	return min(common, pollTarget)
}

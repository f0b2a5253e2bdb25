package subscription

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
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
func Setup(mgr ctrl.Manager, o frame.Options, m *mirror.Mirror, s Settings) error {
	if err := index.AddSubscriptions(context.Background(), index.Cluster(mgr.GetCache())); err != nil {
		return err
	}
	watches, err := newTargetWatches(mgr)
	if err != nil {
		return err
	}
	settling, err := newBuiltin(mgr, o, s)
	if err != nil {
		return errors.Wrap(err, "cannot add what settles Subscriptions")
	}
	f := fanout{cache: mgr.GetClient(), evidence: newEvidence(mgr.GetAPIReader()), replaced: newReplaced(), targets: watches}
	f.removed = &removed{tombstones: m.Tombstones, living: f.hasChildren, forget: m.ForgetSubscription}
	subscriptions, err := subscriptionsIn(mgr.GetCache())
	if err != nil {
		return err
	}
	states.read(subscriptions, mgr.GetClient(), o.Clock)
	if s.Follow != nil {
		s.Follow(lives(subscriptions))
	}

	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		WithOptions(o.ForControllerRuntime()).
		For(&v1alpha1.Subscription{}, builder.WithPredicates(predicate.Or(resource.DesiredStateChanged(), finalizerLost()))).
		Watches(&v1alpha1.Subscription{}, f.relatives()).
		Watches(&v1alpha1.Offering{}, handler.EnqueueRequestsFromMapFunc(f.bound), builder.WithPredicates(offeringChanged())).
		Watches(&v1alpha1.CostJob{}, handler.EnqueueRequestsFromMapFunc(f.deleted), builder.WithPredicates(collectorChanged())).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(f.within), builder.OnlyMetadata,
			builder.WithPredicates(predicate.And(notCreated(), predicate.LabelChangedPredicate{}))).
		WatchesRawSource(watches).
		WatchesRawSource(m.Returned(f.everybody)).
		WatchesRawSource(settling.tells()).
		Complete(newReconciler(mgr, o, m, f, s, settling))
}

func newReconciler(mgr ctrl.Manager, o frame.Options, m *mirror.Mirror, f fanout, s Settings, settling *builtin) reconcile.Reconciler {
	statuses := frame.NewStatuses(mgr.GetClient())
	kind := frame.Kind{
		Name:      Name,
		GVK:       v1alpha1.SubscriptionGroupVersionKind,
		Finalizer: v1alpha1.SubscriptionFinalizer,
		// The charge collector releases, but for whom it never charged.
		Release: func(ctx context.Context, o resource.Object) (bool, error) { return release(ctx, s, m, o) },
		Poll:    f.targets.poll,
	}

	return frame.NewReconciler[*v1alpha1.Subscription](mgr, o, kind, statuses, &connector{
		cached:   view{Reader: mgr.GetClient()},
		live:     view{Reader: newSharing(mgr.GetAPIReader()), live: true},
		targets:  targets{live: mgr.GetAPIReader(), mapper: mgr.GetRESTMapper(), watches: f.targets},
		removed:  f.removed,
		replaced: f.replaced,
		evidence: f.evidence,
		terms:    &recordedTerms{load: m.RecordedOffering, known: map[string]gate.Recorded{}},
		rules:    s.rules(),
		statuses: statuses,
		mirror:   m,
		clock:    o.Clock,
		record:   frame.Recorder(mgr, Name),
		said:     newOnce(),
		builtin:  settling,
	})
}

// release lets a Subscription go that was never activated, if that is asked for
// (OPEN-SUB-11).
func release(ctx context.Context, s Settings, m *mirror.Mirror, o resource.Object) (bool, error) {
	sub, ok := o.(*v1alpha1.Subscription)
	if !ok || !s.ReleaseNeverActivated || sub.Status.ActivatedAt != nil {
		return false, nil
	}
	return true, m.CloseSubscription(ctx, string(sub.UID))
}

// poll looks at a target more often if nothing would be heard of its end.
func (w *targetWatches) poll(mg resource.Managed, common time.Duration) time.Duration {
	s, ok := mg.(*v1alpha1.Subscription)
	if !ok || s.Spec.Lifecycle == nil || s.Spec.Lifecycle.TargetRef == nil || s.Status.DeactivatedAt != nil || w.hears(mg) {
		return common
	}
	if s.Status.ActivatedAt == nil {
		return min(common, pollMissing)
	}
	return min(common, pollTarget)
}

package frame

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// pollJitter spreads the resyncs of objects that were applied together.
const pollJitter = 0.1

// A Kind is what the frame has to know of one kind.
type Kind struct {
	// Name of the controller, as its metrics and events carry it (part 80.3).
	Name string

	GVK schema.GroupVersionKind

	// Finalizer that the kind documents, empty if it has none.
	Finalizer string

	// Release is asked, when the runtime is done with a deletion, whether the
	// finalizer may be removed; nil says yes. Where another process releases the
	// object it says no.
	Release func(ctx context.Context, o resource.Object) (bool, error)

	// Poll overrides the common interval if it is set: when can this object
	// change without an event?
	Poll func(mg resource.Managed, common time.Duration) time.Duration

	// Again overrides both for single passes; nil if the kind has no use for it.
	Again *Again
}

// NewReconciler returns the managed reconciler of a kind. The connector's
// client decides everything about the object; statuses is what it keeps
// decisions with.
func NewReconciler[T resource.Managed](mgr ctrl.Manager, o Options, k Kind, statuses *Statuses, c managed.TypedExternalConnector[T], extra ...managed.ReconcilerOption) reconcile.Reconciler {
	opts := append([]managed.ReconcilerOption{
		managed.WithLogger(o.Logger.WithValues("controller", k.Name)),
		managed.WithRecorder(onlyWarnings{Recorder(mgr, k.Name)}),
		managed.WithPollInterval(o.Poll),
		managed.WithPollIntervalHook(pollHook(k)),
		managed.WithTypedExternalConnector(c),
		withFinalizers(mgr.GetClient(), k),

		// An external resource here is a row or an object under a name that
		// follows from ours, so creating it twice is creating it once: nothing
		// about a creation has to be remembered in annotations or waited for.
		managed.WithDeterministicExternalName(true),
		managed.WithCreationGracePeriod(0),
		managed.WithCriticalAnnotationUpdater(managed.CriticalAnnotationUpdateFn(
			func(context.Context, client.Object) error { return nil })),
	}, extra...)

	// The initializer comes last, so that nobody replaces it by accident.
	opts = append(opts, WithFinalizerFirst(mgr.GetClient(), k.Finalizer))

	r := managed.NewReconciler(quietManager{Manager: mgr, statuses: statuses}, resource.ManagedKind(k.GVK), opts...)

	return ratelimiter.NewReconciler(k.Name, r, o.Limiter)
}

func pollHook(k Kind) managed.PollIntervalHook {
	return func(mg resource.Managed, common time.Duration) time.Duration {
		if d, ok := k.Again.take(mg); ok {
			return d
		}
		if k.Poll != nil {
			common = k.Poll(mg, common)
		}
		return jitter(mg, common)
	}
}

// jitter moves an interval by up to a tenth. The amount follows from the
// object's uid: it has to differ between objects, not between passes.
func jitter(mg resource.Managed, d time.Duration) time.Duration {
	var h uint32 = 2166136261 // FNV-1a.
	for _, b := range []byte(mg.GetUID()) {
		h = (h ^ uint32(b)) * 16777619
	}
	share := float64(h)/float64(1<<32)*2 - 1 // In [-1, 1).
	return d + time.Duration(float64(d)*pollJitter*share)
}

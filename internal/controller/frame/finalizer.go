package frame

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// WithFinalizerFirst puts the finalizer on an object before it is observed.
// The runtime would add it afterwards: then a decision could stand on an object
// that still vanishes without a trace, and its Update would throw away the
// status that Observe has set.
func WithFinalizerFirst(c client.Client, finalizer string) managed.ReconcilerOption {
	return managed.WithInitializers(managed.InitializerFn(func(ctx context.Context, mg resource.Managed) error {
		if finalizer == "" || meta.WasDeleted(mg) || meta.FinalizerExists(mg, finalizer) {
			return nil
		}
		before, ok := mg.DeepCopyObject().(client.Object)
		if !ok {
			return errors.Errorf("cannot copy %T", mg)
		}
		meta.AddFinalizer(mg, finalizer)

		// A merge patch replaces the whole list, so it must not miss an entry
		// that somebody else has just added.
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		return errors.Wrapf(c.Patch(ctx, mg, patch, client.FieldOwner(FieldManager)), "cannot add finalizer %q", finalizer)
	}))
}

// withFinalizers keeps the runtime from adding a finalizer of its own, and
// leaves the removal to whom the kind says.
func withFinalizers(c client.Client, k Kind) managed.ReconcilerOption {
	none := func(context.Context, resource.Object) error { return nil }
	remove := none
	if k.Finalizer != "" {
		remove = resource.NewAPIFinalizer(c, k.Finalizer).RemoveFinalizer
	}
	if k.Release != nil {
		always := remove
		remove = func(ctx context.Context, o resource.Object) error {
			if released, err := k.Release(ctx, o); err != nil || !released {
				return err
			}
			return always(ctx, o)
		}
	}
	return managed.WithFinalizer(resource.FinalizerFns{AddFinalizerFn: none, RemoveFinalizerFn: remove})
}

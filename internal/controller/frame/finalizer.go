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
		err := patchFinalizers(ctx, c, mg, func() { meta.AddFinalizer(mg, finalizer) })
		return errors.Wrapf(err, "cannot add finalizer %q", finalizer)
	}))
}

// patchFinalizers stores what change does to an object's finalizers, and nothing
// else of it.
func patchFinalizers(ctx context.Context, c client.Client, o client.Object, change func()) error {
	before, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		return errors.Errorf("cannot copy %T", o)
	}
	change()

	// A merge patch replaces the whole list, so it must not miss an entry that
	// somebody else has just added.
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return c.Patch(ctx, o, patch, client.FieldOwner(FieldManager))
}

// removeFinalizer takes a finalizer off an object, which may be gone then. The
// runtime would update the whole object, and with it a spec that the server
// does not take any more: one from an older release, with references that have
// no namespace.
func removeFinalizer(c client.Client, finalizer string) func(context.Context, resource.Object) error {
	return func(ctx context.Context, o resource.Object) error {
		if !meta.FinalizerExists(o, finalizer) {
			return nil
		}
		err := patchFinalizers(ctx, c, o, func() { meta.RemoveFinalizer(o, finalizer) })
		return errors.Wrapf(resource.IgnoreNotFound(err), "cannot remove finalizer %q", finalizer)
	}
}

// withFinalizers keeps the runtime from adding a finalizer of its own, and
// leaves the removal to whom the kind says.
func withFinalizers(c client.Client, k Kind) managed.ReconcilerOption {
	none := func(context.Context, resource.Object) error { return nil }
	remove := none
	if k.Finalizer != "" {
		remove = removeFinalizer(c, k.Finalizer)
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

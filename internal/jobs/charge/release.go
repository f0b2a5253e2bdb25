package charge

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
)

// release lets those go that have been closed out and published. The mirror is
// told first: the other way round, a run that is cut off in between would leave
// a row of something that no later run can see. A finalizer that stays after all
// is removed by the next run.
func (r *run) release(ctx context.Context, leaving []*subject) {
	leaving = slices.DeleteFunc(leaving, func(s *subject) bool { return s.behind() || s.changed })
	uids := make([]string, len(leaving))
	for i, s := range leaving {
		uids[i] = s.uid
	}
	if _, err := postgres.MarkSubscriptionsDeleted(ctx, r.pool, r.ClusterID, r.now, uids...); err != nil {
		for _, s := range leaving {
			s.fail(err)
		}
		return
	}

	var released atomic.Int64
	var group errgroup.Group
	group.SetLimit(writers)
	for _, s := range leaving {
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, r.KubernetesOperationTimeout)
			defer cancel()
			gone, err := r.letGo(ctx, s)
			if err != nil {
				s.fail(fmt.Errorf("cannot remove the finalizer of Subscription %q: %w", s.key, err))
			}
			if gone {
				released.Add(1)
				r.log.Info("Removed finalizer for deleted subscription", "subscription", s.key)
				r.emit(ctx, s, subscriptionReleased(r.one != nil))
			}
			return nil
		})
	}
	_ = group.Wait() // What fails is recorded against whom it concerns.
	r.released = released.Load()
}

// letGo removes the finalizer. Before it does, the object is read once more from
// the server and compared with what was charged, and the write names the version
// that was read: whatever has changed is for the next run to settle.
func (r *run) letGo(ctx context.Context, s *subject) (bool, error) {
	var now v1alpha1.Subscription
	err := r.client.Get(ctx, s.key, &now)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if string(now.UID) != s.uid {
		return false, nil
	}
	if !s.isStill(&now) {
		s.changed = true
		r.log.Info("the Subscription has changed since it was charged, keeping finalizer", "subscription", s.key)
		return false, nil
	}

	before := now.DeepCopy()
	now.Finalizers = slices.DeleteFunc(now.Finalizers, func(f string) bool { return f == v1alpha1.SubscriptionFinalizer })
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err = r.client.Patch(ctx, &now, patch, client.FieldOwner(FieldManager))
	switch {
	case apierrors.IsConflict(err):
		s.changed = true
		return false, nil
	case apierrors.IsNotFound(err):
		return false, nil
	}
	return err == nil, err
}

// isStill reports whether an object is what was charged.
func (s *subject) isStill(now *v1alpha1.Subscription) bool {
	return s.isChargedAs(now) && s.deleting == (now.DeletionTimestamp != nil && slices.Contains(now.Finalizers, v1alpha1.SubscriptionFinalizer))
}

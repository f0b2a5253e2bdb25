package charge

import (
	"context"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

const (
	// writers is how many objects are written at a time. More gain nothing from
	// one API server.
	writers = 16

	// attempts is how often a report is tried on an object that somebody else
	// keeps writing to.
	attempts = 5
)

// publish writes the costs of everybody whose report has changed. A settled
// Subscription costs no request at all, nor does one that ended long ago.
func (r *run) publish(ctx context.Context, summed bool) {
	var patched atomic.Int64
	var group errgroup.Group
	group.SetLimit(writers)
	for _, s := range r.world.subjects {
		if s.rests() || s.overtaken {
			continue
		}
		out, known := r.report(s, summed)
		if !known || out.digest() == s.published.digest {
			continue
		}
		newlyParked := s.parked != nil && s.published.parked.status != "True"
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, r.KubernetesOperationTimeout)
			defer cancel()
			if err := r.apply(ctx, s, out); err != nil {
				s.fail(fmt.Errorf("cannot write the status of Subscription %q: %w", s.key, err))
				return nil
			}
			patched.Add(1)
			if newlyParked {
				r.emit(ctx, s, chargeParked(s.parked))
			}
			return nil
		})
	}
	_ = group.Wait() // What fails is recorded against whom it concerns.
	r.patched = patched.Load()
}

// apply writes a report. When the object has changed in the meantime it is
// looked at again: the report goes to the same object only, and one that is no
// longer what was charged is not let go in this run.
func (r *run) apply(ctx context.Context, s *subject, out report) error {
	for attempt := 1; ; attempt++ {
		object, err := out.apply(s)
		if err != nil {
			return err
		}
		config := client.ApplyConfigurationFromUnstructured(object)
		err = r.client.Status().Apply(ctx, config, client.FieldOwner(FieldManager), client.ForceOwnership)
		if err == nil {
			s.resourceVersion = object.GetResourceVersion()
			return nil
		}
		if apierrors.IsNotFound(err) {
			s.changed = true // Gone, so there is nothing to say any more.
			return nil
		}
		if !apierrors.IsConflict(err) || attempt == attempts {
			return err
		}
		if again, err := r.look(ctx, s); err != nil || !again {
			return err
		}
	}
}

// look reads a Subscription once more. It reports false if it is gone, or if its
// name has gone to another one.
func (r *run) look(ctx context.Context, s *subject) (bool, error) {
	var now v1alpha1.Subscription
	err := r.client.Get(ctx, s.key, &now)
	if apierrors.IsNotFound(err) || err == nil && string(now.UID) != s.uid {
		s.changed = true
		return false, nil
	}
	if err != nil {
		return false, err
	}
	s.changed = s.changed || !s.isStill(&now)
	s.resourceVersion = now.ResourceVersion
	return true, nil
}

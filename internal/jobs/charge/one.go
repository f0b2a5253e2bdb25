package charge

import (
	"context"
	"errors"
	"fmt"
	"iter"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/finops/charge"
	"github.com/provider-finops/provider-finops/internal/finops/hour"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

// errCollected says that there is somebody whose work it is.
var errCollected = errors.New("a SubscriptionChargeCollection CostJob exists, which settles everybody")

// One names a deleted Subscription.
type One struct {
	Key types.NamespacedName
	UID types.UID
}

// Release settles one deleted Subscription and lets it go, as a run for the hour
// in progress would that found nobody else (BETTER-SUB-11): under the lock of the
// runs, and past the same gates. What it is held by is returned; the zero Hold
// says that nothing holds it, because it is gone or was never to be let go.
//
// It touches nobody else, and leaves to the runs what they say of whole hours: how
// much usage nobody claims, and the records of a CostJob. It is an error if there
// is a CostJob that collects charges.
func Release(ctx context.Context, s Settings, d Dependencies, one One) (charge.Hold, error) {
	s.CostJob, s.Hint = types.NamespacedName{}, hour.Hint{} // By hand, as it were.
	r := newRun(s, d)
	r.one = &one
	r.log = r.log.WithValues("only", one.Key)

	err := r.locked(ctx)
	if len(r.world.subjects) == 0 || r.released > 0 {
		return charge.Hold{}, err
	}
	only := r.world.subjects[0]
	departure := only.departure(r.pinned)
	switch {
	case departure.Failure != "":
		return charge.Hold{Gate: charge.GateError, Reason: departure.Failure}, nil
	case err != nil:
		return charge.Hold{}, err
	case only.changed:
		return charge.Hold{Gate: charge.GateError, Reason: changedMeanwhile}, nil
	}
	return charge.Departing.Hold(departure), nil
}

// gatherOne reads what decides about one Subscription, and nothing of others but
// what is true for all.
func (r *run) gatherOne(ctx context.Context) (world, error) {
	w := world{offerings: map[ref.Key]*v1alpha1.Offering{}}
	if err := r.gatherCostJobs(ctx, &w); err != nil {
		return world{}, err
	}
	if w.charging {
		return world{}, errCollected
	}
	for o, err := range r.subscriptions(ctx) {
		if err != nil {
			return world{}, err
		}
		if s := newSubject(o); s.deleting {
			w.subjects = append(w.subjects, s)
		}
	}
	if len(w.subjects) == 0 {
		return w, nil
	}

	o := &v1alpha1.Offering{}
	of := w.subjects[0].offering
	switch found, err := r.get(ctx, types.NamespacedName{Namespace: of.Namespace, Name: of.Name}, o); {
	case err != nil:
		return world{}, fmt.Errorf("cannot read Offering %q: %w", of, err)
	case found:
		w.offerings[of] = o
	}
	return w, r.gatherPriceBooks(ctx, &w)
}

// subscriptions are those that the run is about.
func (r *run) subscriptions(ctx context.Context) iter.Seq2[*v1alpha1.Subscription, error] {
	if r.one == nil {
		return items(ctx, r, func(l *v1alpha1.SubscriptionList) []v1alpha1.Subscription { return l.Items })
	}
	return func(yield func(*v1alpha1.Subscription, error) bool) {
		s := &v1alpha1.Subscription{}
		found, err := r.get(ctx, r.one.Key, s)
		switch {
		case err != nil:
			yield(nil, fmt.Errorf("cannot read Subscription %q: %w", r.one.Key, err))
		case found && s.UID == r.one.UID:
			yield(s, nil)
		}
	}
}

// get reads one object. False means that the server says it does not exist.
func (r *run) get(ctx context.Context, key types.NamespacedName, into client.Object) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, r.KubernetesOperationTimeout)
	defer cancel()
	err := r.client.Get(ctx, key, into)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

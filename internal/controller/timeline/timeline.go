// Package timeline notices that the API server has gone back in time: somebody has
// restored its store from an earlier copy. Watches wait for versions then that are
// long in coming, and what a controller remembers of its own writes is of a world
// that is no more. Nothing but a new start puts that right, so the manager ends.
//
// It shows in the version of the whole store, which otherwise only grows. A copy
// of a moment ago, whose versions an API server has made up for as it started,
// does not show.
package timeline

import (
	"context"
	"strconv"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// LookEvery is how long it goes unnoticed. A look is the list of one object.
const LookEvery = 5 * time.Second

// ErrWentBack says that the API server has been restored.
var ErrWentBack = errors.New("the API server has gone back in time: it was restored from an earlier copy, and everything has to be read anew")

// Setup has the manager end when the API server goes back in time. It looks every
// so often.
func Setup(mgr ctrl.Manager, every time.Duration) error {
	return mgr.Add(&watch{live: mgr.GetAPIReader(), every: every})
}

type watch struct {
	live  client.Reader
	every time.Duration
}

// NeedLeaderElection is false: a replica that stands by has a cache, too.
func (*watch) NeedLeaderElection() bool { return false }

// Start looks until its context ends, or time goes back.
func (w *watch) Start(ctx context.Context) error {
	latest := uint64(0)
	err := wait.PollUntilContextCancel(ctx, w.every, true, func(ctx context.Context) (bool, error) {
		now, err := w.version(ctx)
		if err != nil {
			return false, nil //nolint:nilerr // A server that is away says nothing about its time.
		}
		if now < latest {
			return false, ErrWentBack
		}
		latest = now
		return false, nil
	})
	if errors.Is(err, ErrWentBack) {
		return err
	}
	return nil
}

// version is that of the whole store, which only grows.
func (w *watch) version(ctx context.Context) (uint64, error) {
	l := &metav1.PartialObjectMetadataList{}
	l.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("SubscriptionList"))
	if err := w.live.List(ctx, l, client.Limit(1)); err != nil {
		return 0, err
	}
	return strconv.ParseUint(l.ResourceVersion, 10, 64)
}

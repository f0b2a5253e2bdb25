// Package finopsprovider tells OpenCost where the cluster runs.
//
// It does so only where the multi-tenant operator runs OpenCost, by patching the
// resource that OpenCost is run from. An OpenCost that somebody brought along is
// theirs to configure: there the status says whether the spec makes sense, and
// nothing is written. Package cloud decides what the spec asks for.
//
// What is outside, in the sense of the managed reconciler, is that resource: it
// is observed and updated, never created or deleted. Settings are only switched
// on; the deletion of a FinOpsProvider undoes nothing.
package finopsprovider

import (
	"context"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"k8s.io/apimachinery/pkg/api/equality"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/frame"
	"github.com/provider-finops/provider-finops/internal/controller/opencost"
	"github.com/provider-finops/provider-finops/internal/finops/cloud"
)

// connector makes the external client of one reconcile.
type connector struct {
	client   client.Client
	live     client.Reader // Reads from the server: the resource may not be installed, so it is not cached.
	mapper   apimeta.RESTMapper
	opencost opencost.Installation
	bundled  bool // The multi-tenant operator runs OpenCost.
	clock    clock.PassiveClock
	again    *frame.Again
	log      logging.Logger
}

// Connect returns a client for one reconcile.
func (c *connector) Connect(context.Context, *v1alpha1.FinOpsProvider) (managed.TypedExternalClient[*v1alpha1.FinOpsProvider], error) {
	return &external{connector: c}, nil
}

type external struct {
	*connector

	next change
}

// A change is what OpenCost's resource lacks.
type change struct {
	found  *unstructured.Unstructured
	wanted *unstructured.Unstructured

	write   bool // The resource lacks a value.
	restart bool // It was changed, and OpenCost has not been restarted since.
}

// Observe compares OpenCost's resource with what the spec asks for.
func (e *external) Observe(ctx context.Context, p *v1alpha1.FinOpsProvider) (managed.ExternalObservation, error) {
	if meta.WasDeleted(p) {
		return managed.ExternalObservation{}, nil
	}
	upToDate := managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}

	s, ok := options(p).Select()
	if !ok {
		e.log.Info("No valid provider option configured")
		reportNoOption(p)

		return upToDate, nil
	}
	if !e.bundled {
		reportSynced(p, messageOwnOpenCost, e.clock.Now(), false)

		return upToDate, nil
	}

	found, err := e.resource(ctx)
	var missing *notFoundError
	if errors.As(err, &missing) {
		// Trying again at once cannot help, so this is no error: the resync
		// looks again.
		reportNotFound(p, missing)

		return upToDate, nil
	}
	if err != nil {
		return managed.ExternalObservation{}, e.failed(p, err)
	}
	if e.next, err = compare(found, s); err != nil {
		return managed.ExternalObservation{}, e.failed(p, err)
	}
	if e.next.write || e.next.restart {
		return managed.ExternalObservation{ResourceExists: true}, nil
	}
	reportSynced(p, messageSynced(leftovers(found, s)), e.clock.Now(), false)

	return upToDate, nil
}

func compare(found *unstructured.Unstructured, s cloud.Settings) (change, error) {
	u, err := wanted(found, s)
	if err != nil {
		return change{}, err
	}
	_, pending := found.GetAnnotations()[opencost.AnnotationRestartPending]

	return change{found: found, wanted: u, write: !equality.Semantic.DeepEqual(found.Object, u.Object), restart: pending}, nil
}

// Create does nothing: OpenCost's resource is not ours to make.
func (e *external) Create(context.Context, *v1alpha1.FinOpsProvider) (managed.ExternalCreation, error) {
	return managed.ExternalCreation{}, nil
}

// Update patches OpenCost's resource and restarts OpenCost. The mark that a
// restart is due is stored with the patch and removed only after the restart, so
// whatever fails in between is made up for by the next reconcile.
func (e *external) Update(ctx context.Context, p *v1alpha1.FinOpsProvider) (managed.ExternalUpdate, error) {
	wait, err := e.carryOut(ctx, p)
	switch {
	case kerrors.IsConflict(err), errors.Is(err, errOvertaken):
		e.again.In(p, retryInterval) // Somebody else has written the resource. What we want of it is decided anew.
		return managed.ExternalUpdate{}, nil
	case err != nil:
		return managed.ExternalUpdate{}, e.failed(p, err)
	case wait > 0:
		e.again.In(p, wait)
		reportSynced(p, messageRestartDue, e.clock.Now(), e.next.write)
		return managed.ExternalUpdate{}, nil
	}
	s, _ := options(p).Select()
	reportSynced(p, messageSynced(leftovers(e.next.wanted, s)), e.clock.Now(), true)

	return managed.ExternalUpdate{}, nil
}

// retryInterval is when to look again at what has changed under a decision.
const retryInterval = 50 * time.Millisecond

// errOvertaken says that the spec is another one by now.
var errOvertaken = errors.New("the FinOpsProvider has changed in the meantime")

// confirm asks the server whether the spec still is what OpenCost is to be
// configured by. A controller that has been suspended may see an older one. The
// resource has been read before, so if a newer spec's patch comes between, the one
// of this spec fails on its version.
func (e *external) confirm(ctx context.Context, p *v1alpha1.FinOpsProvider) error {
	now := &v1alpha1.FinOpsProvider{}
	err := e.live.Get(ctx, client.ObjectKeyFromObject(p), now)
	switch {
	case kerrors.IsNotFound(err), err == nil && (now.UID != p.UID || now.Generation != p.Generation):
		return errOvertaken
	case err != nil:
		return errors.Wrapf(err, "cannot read FinOpsProvider %q", p.Name)
	}

	return nil
}

// carryOut does what is missing, or returns after how long OpenCost may be
// restarted again.
func (e *external) carryOut(ctx context.Context, p *v1alpha1.FinOpsProvider) (wait time.Duration, err error) {
	if err := e.confirm(ctx, p); err != nil {
		return 0, err
	}
	u := e.next.wanted
	if e.next.write {
		meta.AddAnnotations(u, map[string]string{opencost.AnnotationRestartPending: "true"})
		if err := e.patch(ctx, u, e.next.found); err != nil {
			return 0, err
		}
	}
	if wait, err := e.opencost.Restart(ctx, e.client, e.live, e.clock.Now()); err != nil || wait > 0 {
		return wait, err
	}
	before := u.DeepCopy()
	meta.RemoveAnnotations(u, opencost.AnnotationRestartPending)

	return 0, e.patch(ctx, u, before)
}

// Delete does nothing; see Observe.
func (e *external) Delete(context.Context, *v1alpha1.FinOpsProvider) (managed.ExternalDelete, error) {
	return managed.ExternalDelete{}, nil
}

// Disconnect does nothing: the client is shared.
func (e *external) Disconnect(context.Context) error { return nil }

// patch writes what differs between two states of OpenCost's resource, and
// nothing else of it: it belongs to somebody else. The version is a condition, so
// that what was decided on an older spec does not come on top of a newer one.
func (e *external) patch(ctx context.Context, u, before *unstructured.Unstructured) error {
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})

	return errors.Wrapf(e.client.Patch(ctx, u, patch, client.FieldOwner(frame.FieldManager)),
		"cannot configure OpenCost resource %q", client.ObjectKeyFromObject(u).String())
}

// failed reports an error on the object and hands it on, to events and the log.
func (e *external) failed(p *v1alpha1.FinOpsProvider, err error) error {
	err = discreet(err, p)
	reportFailed(p, err)

	return err
}

// discreet takes the name of the Secret out of an error: a server that refuses a
// value repeats it.
func discreet(err error, p *v1alpha1.FinOpsProvider) error {
	s, _ := options(p).Select()
	if s.IntegrationSecret == "" || !strings.Contains(err.Error(), s.IntegrationSecret) {
		return err
	}

	return errors.New(strings.ReplaceAll(err.Error(), s.IntegrationSecret, "(cloudIntegrationSecret)"))
}

// Package costjob turns CostJobs into CronJobs.
//
// A CronJob is what the embedded template, the CostJob and the controller's own
// environment come to (template.go); whatever somebody else writes into it is
// written over. Its Secret holds the address of the database. Both belong to the
// CostJob and are collected with it, so a CostJob needs no finalizer.
//
// What the runs did is for the runs to say: the status of a CostJob is theirs,
// but for the conditions Ready and Synced. Ready is about the schedule, not about
// the runs: whoever composes CostJobs waits for it.
package costjob

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	batchv1 "k8s.io/api/batch/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/frame"
	"github.com/provider-finops/provider-finops/internal/objects"
)

// connector makes the external client of one reconcile.
type connector struct {
	client   client.Client
	live     client.Reader // Reads from the server.
	settings Settings
	record   event.Recorder
	clock    clock.PassiveClock
}

// Connect returns a client for one reconcile of one CostJob.
func (c *connector) Connect(context.Context, *v1alpha1.CostJob) (managed.TypedExternalClient[*v1alpha1.CostJob], error) {
	return &external{connector: c}, nil
}

type external struct {
	*connector

	next plan
}

// Observe compares the CronJob and the Secret with what is wanted.
func (e *external) Observe(ctx context.Context, j *v1alpha1.CostJob) (managed.ExternalObservation, error) {
	if meta.WasDeleted(j) {
		return managed.ExternalObservation{}, nil // The garbage collector takes what the CostJob owns.
	}

	var err error
	if e.next, err = e.gather(ctx, j); err != nil {
		e.refused(j, err)
		return managed.ExternalObservation{}, err
	}

	settled := e.next.settled(j)
	if settled {
		j.Report(e.scheduled())
	}
	if silent, is := silentRun(j, e.next.cronJob, e.clock.Now()); is {
		e.record.Event(j, silent)
	}

	return managed.ExternalObservation{ResourceExists: e.next.cronJob != nil, ResourceUpToDate: settled}, nil
}

// Create writes the Secret and the CronJob.
func (e *external) Create(ctx context.Context, j *v1alpha1.CostJob) (managed.ExternalCreation, error) {
	if err := e.apply(ctx, j); err != nil {
		return managed.ExternalCreation{}, err
	}
	if e.foreignAccount(j) {
		e.record.Event(j, accountElsewhere(j, e.settings.Namespace))
	}

	return managed.ExternalCreation{}, nil
}

// Update writes over the CronJob and the Secret.
func (e *external) Update(ctx context.Context, j *v1alpha1.CostJob) (managed.ExternalUpdate, error) {
	return managed.ExternalUpdate{}, e.apply(ctx, j)
}

// Delete does nothing; see Observe.
func (e *external) Delete(context.Context, *v1alpha1.CostJob) (managed.ExternalDelete, error) {
	return managed.ExternalDelete{}, nil
}

// Disconnect does nothing: the client is shared.
func (e *external) Disconnect(context.Context) error { return nil }

// apply writes what the plan lacks, and reports what came of it.
func (e *external) apply(ctx context.Context, j *v1alpha1.CostJob) error {
	if err := e.write(ctx, j); err != nil {
		j.Report(notScheduled(err))
		return err
	}
	j.Report(e.scheduled())

	return nil
}

// write writes the Secret first: the CronJob's pods cannot start without it.
func (e *external) write(ctx context.Context, j *v1alpha1.CostJob) error {
	if err := e.applySecret(ctx); err != nil {
		return err
	}
	if err := e.applyCronJob(ctx); err != nil {
		return err
	}

	return e.showSchedule(ctx, j)
}

func (e *external) applySecret(ctx context.Context) error {
	s, owner := e.next.secret, client.FieldOwner(frame.FieldManager)
	switch e.next.writeSecret {
	case secretCreate:
		return errors.Wrapf(e.client.Create(ctx, s, owner), "cannot create Secret %q", client.ObjectKeyFromObject(s).String())
	case secretUpdate:
		return errors.Wrapf(e.client.Update(ctx, s, owner), "cannot update Secret %q", client.ObjectKeyFromObject(s).String())
	case secretFits:
	}

	return nil
}

// applyCronJob creates the CronJob, or writes it over. Kubernetes writes its
// status while we do, so a conflict is nothing to report: look again.
func (e *external) applyCronJob(ctx context.Context) error {
	if e.next.cronJob == nil {
		c := e.next.wanted.DeepCopy()
		meta.AddAnnotations(c, map[string]string{annotationApplied: applied(1, e.next.hash)})
		return errors.Wrapf(e.client.Create(ctx, c, client.FieldOwner(frame.FieldManager)),
			"cannot create CronJob %q", client.ObjectKeyFromObject(c).String())
	}

	c := e.next.cronJob.DeepCopy()
	err := objects.RetryOnConflict(func() error {
		if e.next.fits(c) {
			return nil
		}
		err := e.overwrite(ctx, c)
		if !kerrors.IsConflict(err) {
			return err
		}
		if unread := e.live.Get(ctx, client.ObjectKeyFromObject(c), c); unread != nil {
			return unread
		}

		return err
	})

	return errors.Wrapf(err, "cannot update CronJob %q", client.ObjectKeyFromObject(c).String())
}

// overwrite writes what is wanted over a CronJob, and with it the generation
// that will come of it. Where the API server sees no change in the spec, the
// generation stays, and the note is put right by a second write.
func (e *external) overwrite(ctx context.Context, current *batchv1.CronJob) error {
	current.Spec = *e.next.wanted.Spec.DeepCopy()
	current.Labels = e.next.wanted.Labels
	for _, generation := range []func() int64{
		func() int64 { return current.Generation + 1 },
		func() int64 { return current.Generation },
	} {
		meta.AddAnnotations(current, map[string]string{annotationApplied: applied(generation(), e.next.hash)})
		if err := e.client.Update(ctx, current, client.FieldOwner(frame.FieldManager)); err != nil {
			return err
		}
		if current.Annotations[annotationApplied] == applied(current.Generation, e.next.hash) {
			return nil
		}
	}

	return errors.New("the API server changes the CronJob with every write of the same")
}

// showSchedule notes on the CostJob which schedule it runs on, if that is not
// the one it asks for (BETTER-CJ-2).
func (e *external) showSchedule(ctx context.Context, j *v1alpha1.CostJob) error {
	if j.Annotations[v1alpha1.AnnotationEffectiveSchedule] == e.next.effective {
		return nil
	}
	noted := j.DeepCopy()
	if e.next.effective == "" {
		meta.RemoveAnnotations(noted, v1alpha1.AnnotationEffectiveSchedule)
	} else {
		meta.AddAnnotations(noted, map[string]string{v1alpha1.AnnotationEffectiveSchedule: e.next.effective})
	}
	if err := e.client.Patch(ctx, noted, client.MergeFrom(j), client.FieldOwner(frame.FieldManager)); err != nil {
		return errors.Wrap(err, "cannot note the schedule on the CostJob")
	}
	j.SetAnnotations(noted.GetAnnotations())
	j.SetResourceVersion(noted.GetResourceVersion())
	if e.next.effective != "" {
		e.record.Event(j, intervalNotRecognised(j, e.next.effective))
	}

	return nil
}

// foreignAccount says that the pods' default account is known to live in another
// namespace, so that no pod can be made.
func (e *external) foreignAccount(j *v1alpha1.CostJob) bool {
	return j.Annotations[v1alpha1.AnnotationServiceAccount] == "" && e.settings.Namespace != "" && e.settings.Namespace != j.Namespace
}

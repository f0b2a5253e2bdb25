// Package opencost is what the controllers do to the OpenCost that runs in the
// cluster: they restart it, because it reads its configuration at start-up
// only. What it measures is asked by the collectors, through clients/opencost.
package opencost

import (
	"context"
	"encoding/json"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	appsv1 "k8s.io/api/apps/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/provider-finops/provider-finops/internal/controller/frame"
)

const (
	// AnnotationRestartedAt on the pod template of OpenCost's Deployment makes
	// it roll out anew. Its value is the time in UTC, RFC 3339, whole seconds
	// (OPEN-PB-6).
	AnnotationRestartedAt = "finops.stakater.com/restartedAt"

	// AnnotationRestartPending on what configures OpenCost says that it was
	// changed and OpenCost has not been restarted since. It is written with the
	// change and removed after the restart, so that a restart that fails is not
	// forgotten (BETTER-PB-3).
	AnnotationRestartPending = "finops.stakater.com/restart-pending"
)

var restarts = promauto.With(metrics.Registry).NewCounterVec(prometheus.CounterOpts{
	Name: "finops_opencost_restarts_total",
	Help: "Restarts of OpenCost asked for, by result.",
}, []string{"result"})

// An Installation is the OpenCost that is configured.
type Installation struct {
	// Namespace of the Deployment, and of the ConfigMap with its prices.
	Namespace string

	// Deployment is its name.
	Deployment string

	// MinInterval is how long a restart keeps away from the one before
	// (BETTER-PB-4). Zero is no wish; see [Installation.Restart].
	MinInterval time.Duration
}

// leastInterval keeps two restarts apart even if nobody wishes for it. The first
// of many edits in a second restarts OpenCost at once, and one restart after
// them covers all others: it takes OpenCost longer than that to start. It also
// means that no two restarts carry the same value, of which the second would be
// none.
const leastInterval = time.Second

// retryInterval is when to look again at a Deployment that has just changed.
const retryInterval = 100 * time.Millisecond

// Restart makes the Deployment roll out anew, unless the last time is not long
// enough ago: then it does nothing and returns how long to wait. A Deployment
// that does not exist is an error: somebody expects OpenCost to run on what was
// written for it.
func (i Installation) Restart(ctx context.Context, c client.Client, live client.Reader, now time.Time) (wait time.Duration, err error) {
	wait, err = i.restart(ctx, c, live, now)
	switch {
	case err != nil:
		restarts.WithLabelValues("failure").Inc()
		return 0, errors.Wrapf(err, "cannot restart OpenCost, Deployment %q", i.Namespace+"/"+i.Deployment)
	case wait == 0:
		restarts.WithLabelValues("success").Inc()
	}

	return wait, nil
}

func (i Installation) restart(ctx context.Context, c client.Client, live client.Reader, now time.Time) (time.Duration, error) {
	d := &appsv1.Deployment{}
	if err := live.Get(ctx, client.ObjectKey{Namespace: i.Namespace, Name: i.Deployment}, d); err != nil {
		return 0, err
	}
	if wait := untilNext(d.Spec.Template.Annotations[AnnotationRestartedAt], now, i.MinInterval); wait > 0 {
		return wait, nil
	}

	// The version is a condition: a restart that was decided long ago, by a
	// controller that has been replaced since, must not come on top.
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": d.ResourceVersion},
		"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{
			"annotations": map[string]string{AnnotationRestartedAt: now.UTC().Format(time.RFC3339)},
		}}},
	})
	if err != nil {
		return 0, err
	}
	switch err := c.Patch(ctx, d, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(frame.FieldManager)); {
	case kerrors.IsConflict(err):
		return retryInterval, nil
	case err != nil:
		return 0, err
	}

	return 0, nil
}

// untilNext returns how long after now the next restart is due. The last one has
// left whole seconds behind, so it was up to a second later than its value says.
// A value that is none, or lies ahead, is nobody's restart to wait for.
func untilNext(last string, now time.Time, interval time.Duration) time.Duration {
	at, err := time.Parse(time.RFC3339, last)
	if err != nil || at.After(now) {
		return 0
	}

	return max(0, at.Add(time.Second+max(interval, leastInterval)).Sub(now))
}

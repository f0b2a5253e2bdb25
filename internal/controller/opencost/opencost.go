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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
}

// Restart makes the Deployment roll out anew. A Deployment that does not exist
// is an error: somebody expects OpenCost to run on what was written for it.
func (i Installation) Restart(ctx context.Context, c client.Client, now time.Time) error {
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{
		"annotations": map[string]string{AnnotationRestartedAt: now.UTC().Format(time.RFC3339)},
	}}}})
	if err != nil {
		return errors.Wrap(err, "cannot encode the restart of OpenCost")
	}

	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: i.Namespace, Name: i.Deployment}}
	if err := c.Patch(ctx, d, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(frame.FieldManager)); err != nil {
		restarts.WithLabelValues("failure").Inc()
		return errors.Wrapf(err, "cannot restart OpenCost, Deployment %q", i.Namespace+"/"+i.Deployment)
	}
	restarts.WithLabelValues("success").Inc()

	return nil
}

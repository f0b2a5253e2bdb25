package costjob

import (
	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/frame"
)

// Name of the controller.
const Name = "costjob-controller"

// Setup adds the controller of CostJobs to the manager.
func Setup(mgr ctrl.Manager, o frame.Options, s Settings) error {
	err := metrics.Registry.Register(collector{reader: mgr.GetClient()})
	var again prometheus.AlreadyRegisteredError // By another manager of this process; one tells enough.
	if err != nil && !errors.As(err, &again) {
		return errors.Wrap(err, "cannot register the metrics of CostJobs")
	}

	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		WithOptions(o.ForControllerRuntime()).
		For(&v1alpha1.CostJob{}, builder.WithPredicates(resource.DesiredStateChanged())).
		Owns(&batchv1.CronJob{}, builder.WithPredicates(resource.DesiredStateChanged())).
		Complete(newReconciler(mgr, o, s))
}

func newReconciler(mgr ctrl.Manager, o frame.Options, s Settings) reconcile.Reconciler {
	kind := frame.Kind{Name: Name, GVK: v1alpha1.CostJobGroupVersionKind}

	return frame.NewReconciler[*v1alpha1.CostJob](mgr, o, kind, frame.NewStatuses(mgr.GetClient()), &connector{
		client:   mgr.GetClient(),
		live:     mgr.GetAPIReader(),
		settings: s,
		record:   frame.Recorder(mgr, Name),
		clock:    o.Clock,
	})
}

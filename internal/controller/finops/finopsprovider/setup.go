package finopsprovider

import (
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/frame"
	"github.com/provider-finops/provider-finops/internal/controller/opencost"
)

// Name of the controller.
const Name = "finopsprovider-controller"

// Setup adds the controller of the FinOpsProvider to the manager. Bundled says
// that the multi-tenant operator runs OpenCost (MTO_ENABLED).
func Setup(mgr ctrl.Manager, o frame.Options, i opencost.Installation, bundled bool) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		WithOptions(o.ForControllerRuntime()).
		For(&v1alpha1.FinOpsProvider{}, builder.WithPredicates(resource.DesiredStateChanged())).
		Complete(newReconciler(mgr, o, i, bundled))
}

func newReconciler(mgr ctrl.Manager, o frame.Options, i opencost.Installation, bundled bool) reconcile.Reconciler {
	again := &frame.Again{}
	kind := frame.Kind{Name: Name, GVK: v1alpha1.FinOpsProviderGroupVersionKind, Again: again}

	return frame.NewReconciler[*v1alpha1.FinOpsProvider](mgr, o, kind, frame.NewStatuses(mgr.GetClient()), &connector{
		client:   mgr.GetClient(),
		live:     mgr.GetAPIReader(),
		mapper:   mgr.GetRESTMapper(),
		opencost: i,
		bundled:  bundled,
		clock:    o.Clock,
		again:    again,
		log:      o.Logger.WithValues("controller", Name),
	})
}

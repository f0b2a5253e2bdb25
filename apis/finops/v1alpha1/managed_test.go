package v1alpha1_test

import (
	"context"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// TestManagedReconciler runs crossplane-runtime's own reconciler over each kind
// on a real server, through a creation, a settled pass and a deletion: the
// method sets give it all it asks for, it marks Synced, and never Ready.
func TestManagedReconciler(t *testing.T) {
	mgr, _ := apitest.Manager(t)
	for _, obj := range []client.Object{
		&v1alpha1.FinOpsProvider{}, &v1alpha1.PriceBook{}, &v1alpha1.CostJob{}, &v1alpha1.Offering{}, &v1alpha1.Subscription{},
	} {
		if _, err := mgr.GetCache().GetInformer(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	apitest.Run(t, mgr)
	c := apitest.Client(t)
	ns := apitest.Namespace(t, c)

	cases := map[string]struct {
		manifest string
		obj      resource.Managed
		gvk      schema.GroupVersionKind
	}{
		"FinOpsProvider": {provider, &v1alpha1.FinOpsProvider{}, v1alpha1.FinOpsProviderGroupVersionKind},
		"PriceBook":      {priceBook, &v1alpha1.PriceBook{}, v1alpha1.PriceBookGroupVersionKind},
		"CostJob":        {costJob, &v1alpha1.CostJob{}, v1alpha1.CostJobGroupVersionKind},
		"Offering":       {offering, &v1alpha1.Offering{}, v1alpha1.OfferingGroupVersionKind},
		"Subscription":   {subscription, &v1alpha1.Subscription{}, v1alpha1.SubscriptionGroupVersionKind},
	}
	for kind, tc := range cases {
		t.Run(kind, func(t *testing.T) {
			exists := false
			r := managed.NewReconciler(mgr, resource.ManagedKind(tc.gvk),
				managed.WithCreationGracePeriod(0),
				managed.WithExternalConnector(managed.ExternalConnectorFn(func(context.Context, resource.Managed) (managed.ExternalClient, error) {
					return &managed.ExternalClientFns{
						ObserveFn: func(context.Context, resource.Managed) (managed.ExternalObservation, error) {
							return managed.ExternalObservation{ResourceExists: exists, ResourceUpToDate: true}, nil
						},
						CreateFn: func(context.Context, resource.Managed) (managed.ExternalCreation, error) {
							exists = true
							return managed.ExternalCreation{}, nil
						},
						DeleteFn: func(context.Context, resource.Managed) (managed.ExternalDelete, error) {
							exists = false
							return managed.ExternalDelete{}, nil
						},
						DisconnectFn: func(context.Context) error { return nil },
					}, nil
				})))

			u := object(t, ns, tc.manifest)
			if err := c.Create(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			key := client.ObjectKeyFromObject(u)
			req := reconcile.Request{NamespacedName: key}

			apitest.Eventually(t, "Synced", func(ctx context.Context) error {
				if _, err := r.Reconcile(ctx, req); err != nil {
					return err
				}
				if err := c.Get(ctx, key, tc.obj); err != nil {
					return err
				}
				return diff(xpv2.ReconcileSuccess(), tc.obj.GetCondition(xpv2.TypeSynced))
			})
			if !exists {
				t.Error("nothing was created")
			}
			if err := diff(xpv2.Condition{Type: xpv2.TypeReady, Status: "Unknown"}, tc.obj.GetCondition(xpv2.TypeReady)); err != nil {
				t.Errorf("the runtime wrote Ready: %v", err)
			}

			if err := c.Delete(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			apitest.Eventually(t, "deletion", func(ctx context.Context) error {
				if _, err := r.Reconcile(ctx, req); err != nil {
					return err
				}
				if err := c.Get(ctx, key, tc.obj); !kerrors.IsNotFound(err) {
					return textError("the object still exists")
				}
				return nil
			})
			if exists {
				t.Error("nothing was deleted")
			}
		})
	}
}

type textError string

func (e textError) Error() string { return string(e) }

// diff compares conditions but for generation and time.
func diff(want, got xpv2.Condition) error {
	if want.Equal(got) {
		return nil
	}

	return textError(cmp.Diff(want, got))
}

package finopsprovider

import (
	"context"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/finops/cloud"
)

// openCosts is the resource that the multi-tenant operator runs OpenCost from.
// Its version is discovered (OPEN-PROV-1).
var openCosts = schema.GroupVersionResource{Group: "dependencies.tenantoperator.stakater.com", Resource: "opencosts"}

// A notFoundError says that there is no OpenCost resource to configure, or that it
// cannot be told which.
type notFoundError struct{ message string }

func (e *notFoundError) Error() string { return e.message }

// options are the blocks of the spec.
func options(p *v1alpha1.FinOpsProvider) cloud.Options {
	o := cloud.Options{OnPremises: p.Spec.OnPremOptions != nil}
	if b := p.Spec.AWSOptions; b != nil {
		o.AWS = vendor(b.CloudOptions)
	}
	if b := p.Spec.GCPOptions; b != nil {
		o.GCP = vendor(b.CloudOptions)
	}
	if b := p.Spec.AzureOptions; b != nil {
		o.Azure = vendor(b.CloudOptions)
	}

	return o
}

func vendor(b v1alpha1.CloudOptions) *cloud.Vendor {
	return &cloud.Vendor{IntegrationSecret: b.CloudIntegrationSecret, PricingModelSource: b.PricingModelSource}
}

// resource finds the OpenCost resource of the installation: the only one of its
// namespace, or the one named like the Deployment.
func (e *external) resource(ctx context.Context) (*unstructured.Unstructured, error) {
	kind, err := e.mapper.KindFor(openCosts)
	if meta.IsNoMatchError(err) {
		return nil, &notFoundError{"the API server knows no resource " + openCosts.GroupResource().String()}
	}
	if err != nil {
		return nil, errors.Wrapf(err, "cannot find out about resource %q", openCosts.GroupResource().String())
	}

	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := e.live.List(ctx, list, client.InNamespace(e.opencost.Namespace)); err != nil {
		return nil, errors.Wrapf(err, "cannot list %s in namespace %q", openCosts.Resource, e.opencost.Namespace)
	}
	if len(list.Items) == 1 {
		return &list.Items[0], nil
	}
	for i := range list.Items {
		if list.Items[i].GetName() == e.opencost.Deployment {
			return &list.Items[i], nil
		}
	}
	if len(list.Items) == 0 {
		return nil, &notFoundError{"there is no OpenCost resource in namespace " + e.opencost.Namespace}
	}

	return nil, &notFoundError{"there are several OpenCost resources in namespace " + e.opencost.Namespace + " and none is named " + e.opencost.Deployment}
}

// wanted returns the resource as the settings want it. They only switch on.
func wanted(found *unstructured.Unstructured, s cloud.Settings) (*unstructured.Unstructured, error) {
	u := found.DeepCopy()
	fields := []struct {
		value any
		wants bool
		path  []string
	}{
		{s.IntegrationSecret, s.IntegrationSecret != "", pathSecret},
		{true, s.IntegrationSecret != "", pathCloudCost},
		{true, s.CustomPricing, pathCustomPricing},
	}
	for _, f := range fields {
		if !f.wants {
			continue
		}
		if err := unstructured.SetNestedField(u.Object, f.value, f.path...); err != nil {
			return nil, errors.Wrapf(err, "cannot configure OpenCost resource %q", u.GetName())
		}
	}

	return u, nil
}

// What the operator's controllers of OpenCost read.
var (
	pathSecret        = strings.Split("spec.opencost.cloudIntegrationSecret", ".")
	pathCloudCost     = strings.Split("spec.opencost.cloudCost.enabled", ".")
	pathCustomPricing = strings.Split("spec.opencost.customPricing.enabled", ".")
)

// leftovers says whether the resource still carries settings of a cloud that the
// spec does not name any more (OPEN-PROV-2).
func leftovers(found *unstructured.Unstructured, s cloud.Settings) bool {
	if s.IntegrationSecret != "" {
		return false
	}
	secret, _, _ := unstructured.NestedString(found.Object, pathSecret...)
	enabled, _, _ := unstructured.NestedBool(found.Object, pathCloudCost...)

	return secret != "" || enabled
}

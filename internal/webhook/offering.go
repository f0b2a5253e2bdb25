package webhook

import (
	"context"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/finops/offering"
	"github.com/provider-finops/provider-finops/internal/finops/offer"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

// offeringValidator refuses Offerings that require themselves, however
// indirectly, and the deletion of those that something depends on.
type offeringValidator struct {
	cache client.Reader
	live  client.Reader
}

// ValidateCreate refuses a cycle that the new Offering would close.
func (v *offeringValidator) ValidateCreate(ctx context.Context, o *v1alpha1.Offering) (admission.Warnings, error) {
	verdict, err := offer.Acyclic(offering.Seen(o), offering.Lookup(ctx, v.cache))
	return nil, answer(verdict, err)
}

// ValidateUpdate never refuses: that the spec does not change is a rule of the
// schema. The registration is part of the contract (OPEN-CFG-4).
func (v *offeringValidator) ValidateUpdate(context.Context, *v1alpha1.Offering, *v1alpha1.Offering) (admission.Warnings, error) {
	return nil, nil
}

// ValidateDelete refuses while anything depends on the Offering.
func (v *offeringValidator) ValidateDelete(ctx context.Context, o *v1alpha1.Offering) (admission.Warnings, error) {
	verdict, err := offering.Deletable(ctx, v.cache, v.live, ref.Key{Namespace: o.Namespace, Name: o.Name})
	return nil, answer(verdict, err)
}

// answer turns a verdict into what admission says. Not to know is no
// permission.
func answer(v offer.Verdict, err error) error {
	switch {
	case err != nil:
		return kerrors.NewInternalError(err)
	case !v.Passes():
		return refuse(string(v.Reason), v.Message)
	}
	return nil
}

package webhook

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/finops/subscription"
	"github.com/provider-finops/provider-finops/internal/finops/gate"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

// subscriptionValidator refuses Subscriptions that name themselves.
type subscriptionValidator struct{}

// ValidateCreate refuses a Subscription that is its own parent or target.
func (subscriptionValidator) ValidateCreate(_ context.Context, s *v1alpha1.Subscription) (admission.Warnings, error) {
	self := ref.Key{Namespace: s.Namespace, Name: s.Name}
	if p := s.Spec.Parent; p != nil {
		parent := ref.Key{Namespace: p.SubscriptionRef.Namespace, Name: p.SubscriptionRef.Name}
		if v := gate.SelfParent(self, &parent); !v.Passes() {
			return nil, refuse(string(v.Reason), v.Message)
		}
	}
	if l := s.Spec.Lifecycle; l != nil {
		if v := gate.SelfTarget(self, subscription.Target(l.TargetRef)); !v.Passes() {
			return nil, refuse(string(v.Reason), v.Message)
		}
	}
	return nil, nil
}

// ValidateUpdate is not registered: references are frozen by the schema, and a
// target that is edited to be the Subscription itself is held by its gate.
func (subscriptionValidator) ValidateUpdate(context.Context, *v1alpha1.Subscription, *v1alpha1.Subscription) (admission.Warnings, error) {
	return nil, nil
}

// ValidateDelete is not registered: a deletion starts the wind-down.
func (subscriptionValidator) ValidateDelete(context.Context, *v1alpha1.Subscription) (admission.Warnings, error) {
	return nil, nil
}

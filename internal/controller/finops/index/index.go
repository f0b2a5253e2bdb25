// Package index names the indexes of the controllers' cache. The controllers
// work from these alone: selectable fields of the API server are young, and a
// list there is not what a cache is for.
package index

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

const (
	// SubscriptionsByRoot finds a family by the uid of its root.
	SubscriptionsByRoot = "status.compatibilityRoot"

	// SubscriptionsByBinding finds the members of a family that are bound to an
	// Offering, by their [Binding].
	SubscriptionsByBinding = "binding"

	// SubscriptionsByProvision finds those of them that are active.
	SubscriptionsByProvision = "provision"

	// SubscriptionsByOffering finds who is bound to an Offering, by its
	// namespace/name.
	SubscriptionsByOffering = "spec.offeringRef"

	// SubscriptionsByParent finds children, by the parent's namespace/name.
	SubscriptionsByParent = "spec.parent"

	// OfferingsByRequired finds the Offerings that require another, by its
	// namespace/name.
	OfferingsByRequired = "spec.compatibility.requiredOfferings"
)

// Binding is the value of an Offering in a family: the uid of the root, and the
// Offering's namespace/name.
func Binding(root, offering string) string { return root + "/" + offering }

func binding(s *v1alpha1.Subscription) []string {
	if s.Status.CompatibilityRoot == "" {
		return nil
	}
	return []string{Binding(s.Status.CompatibilityRoot, s.Spec.OfferingRef.String())}
}

// AddSubscriptions indexes Subscriptions.
func AddSubscriptions(ctx context.Context, into client.FieldIndexer) error {
	for field, of := range map[string]func(*v1alpha1.Subscription) []string{
		SubscriptionsByRoot: func(s *v1alpha1.Subscription) []string {
			if s.Status.CompatibilityRoot == "" {
				return nil
			}
			return []string{s.Status.CompatibilityRoot}
		},
		SubscriptionsByBinding: binding,
		SubscriptionsByProvision: func(s *v1alpha1.Subscription) []string {
			if s.Status.ActivatedAt == nil || s.Status.DeactivatedAt != nil {
				return nil
			}
			return binding(s)
		},
		SubscriptionsByOffering: func(s *v1alpha1.Subscription) []string { return []string{s.Spec.OfferingRef.String()} },
		SubscriptionsByParent: func(s *v1alpha1.Subscription) []string {
			if s.Spec.Parent == nil {
				return nil
			}
			return []string{s.Spec.Parent.SubscriptionRef.String()}
		},
	} {
		values := func(o client.Object) []string {
			s, ok := o.(*v1alpha1.Subscription)
			if !ok {
				return nil
			}
			return of(s)
		}
		if err := into.IndexField(ctx, &v1alpha1.Subscription{}, field, values); err != nil {
			return errors.Wrapf(err, "cannot index Subscriptions by %q", field)
		}
	}
	return nil
}

// AddOfferings indexes Offerings.
func AddOfferings(ctx context.Context, into client.FieldIndexer) error {
	values := func(o client.Object) []string {
		offering, ok := o.(*v1alpha1.Offering)
		if !ok || offering.Spec.Compatibility == nil {
			return nil
		}
		var required []string
		for _, r := range offering.Spec.Compatibility.RequiredOfferings {
			required = append(required, r.String())
		}
		return required
	}
	return errors.Wrapf(into.IndexField(ctx, &v1alpha1.Offering{}, OfferingsByRequired, values),
		"cannot index Offerings by %q", OfferingsByRequired)
}

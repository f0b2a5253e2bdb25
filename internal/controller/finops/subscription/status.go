package subscription

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/controller/legacy"
	"github.com/provider-finops/provider-finops/internal/controller/mirror"
	"github.com/provider-finops/provider-finops/internal/finops/gate"
)

// messagePasses is said of a Subscription of which there is nothing else to
// say.
const messagePasses = "every gate passes"

// report says on the Subscription what was decided.
func report(s *v1alpha1.Subscription, d gate.Decision) {
	if d.Root != "" {
		s.Status.CompatibilityRoot = d.Root
	}
	if d.ActivatedAt != nil {
		s.Status.ActivatedAt = &metav1.Time{Time: *d.ActivatedAt}
	}
	if d.DeactivatedAt != nil {
		s.Status.DeactivatedAt = &metav1.Time{Time: *d.DeactivatedAt}
	}

	r := reason(d.Reason)
	switch d.Kind {
	case gate.Held:
		s.Report(v1alpha1.NotReady(r, legacy.Noted(d.Message, s))) // Active stays what it was, reason included (OPEN-SUB-17).
	case gate.Billed:
		message := d.Message
		if message == "" {
			message = messagePasses
		}
		s.Report(v1alpha1.Ready(r, legacy.Noted(message, s)), v1alpha1.Active(r, message))
	case gate.Ended:
		s.Report(ended(r), v1alpha1.Inactive(r, d.Message))
	case gate.Resting:
		// What was said at the end stands.
	case gate.WindingDown:
		s.Report(ended(r), v1alpha1.Inactive(r, d.Message), v1alpha1.DeletionHeld(v1alpha1.ReasonWaitingForCollectionJob, d.Waiting))
	}
}

// ended is Ready of every Subscription that has ended. Clients match on its
// reason, which says nothing; the message names the cause (OPEN-SUB-10).
func ended(cause string) metav1.Condition {
	return v1alpha1.NotReady(v1alpha1.ReasonValidationSucceeded, "deactivated: "+cause)
}

func reason(r gate.Reason) string {
	switch r {
	case gate.OfferingNotFound:
		return v1alpha1.ReasonOfferingNotFound
	case gate.OfferingNotReady:
		return v1alpha1.ReasonOfferingNotReady
	case gate.ParentSubscriptionNotFound:
		return v1alpha1.ReasonParentSubscriptionNotFound
	case gate.ParentSubscriptionNotReady:
		return v1alpha1.ReasonParentSubscriptionNotReady
	case gate.ParentSubscriptionDeactivated:
		return v1alpha1.ReasonParentSubscriptionDeactivated
	case gate.CircularDependencyDetected:
		return v1alpha1.ReasonCircularDependencyDetected
	case gate.CompatibilityRequirementNotMet:
		return v1alpha1.ReasonCompatibilityRequirementNotMet
	case gate.TargetNotFound:
		return v1alpha1.ReasonTargetNotFound
	case gate.TargetIsSelfReference:
		return v1alpha1.ReasonTargetIsSelfReference
	case gate.ActivationSucceeded:
		return v1alpha1.ReasonActivationSucceeded
	case gate.Orphaned:
		return v1alpha1.ReasonOrphaned
	case gate.ParentDeactivated:
		return v1alpha1.ReasonParentDeactivated
	case gate.MarkedForDeletion:
		return v1alpha1.ReasonMarkedForDeletion
	case gate.ValidationError:
		return v1alpha1.ReasonValidationError
	}
	return v1alpha1.ReasonValidationError
}

// version is the Subscription as the mirror stores it.
func (e *external) version(ctx context.Context, s *v1alpha1.Subscription, d gate.Decision, stored mirror.Recorded) (postgres.Subscription, error) {
	v := postgres.Subscription{
		Object: postgres.Object{
			Namespace: s.Namespace, Name: s.Name, UID: string(s.UID), Generation: s.Generation,
			Labels: s.Labels, Annotations: s.Annotations,
		},
		OfferingNamespace: s.Spec.OfferingRef.Namespace,
		OfferingName:      s.Spec.OfferingRef.Name,
		OfferingUID:       cmp.Or(d.OfferingUID, stored.OfferingUID),
		CompatibilityRoot: s.Status.CompatibilityRoot,
	}
	if s.Spec.Parent != nil {
		v.ParentNamespace, v.ParentName = s.Spec.Parent.SubscriptionRef.Namespace, s.Spec.Parent.SubscriptionRef.Name
		v.ParentUID = e.parentUID(ctx, s, stored)
	}
	if at := s.Status.ActivatedAt; at != nil {
		v.ActivatedAt = at.Time
	}
	if at := s.Status.DeactivatedAt; at != nil {
		v.DeactivatedAt = at.Time
	}

	var err error
	if v.Spec, err = json.Marshal(s.Spec); err != nil {
		return v, errors.Wrap(err, "cannot encode the spec of the Subscription")
	}
	ns := &metav1.PartialObjectMetadata{}
	ns.SetGroupVersionKind(namespaceKind)
	if err := e.cached.Get(ctx, client.ObjectKey{Name: s.Namespace}, ns); err != nil {
		return v, errors.Wrap(err, "cannot read the labels of the namespace")
	}
	v.NamespaceLabels = ns.Labels
	return v, nil
}

// parentUID is that of the parent the Subscription has joined a family under.
// Another one that takes the name later does not become its ancestor.
func (e *external) parentUID(ctx context.Context, s *v1alpha1.Subscription, stored mirror.Recorded) string {
	if stored.ParentUID != "" && (s.Status.CompatibilityRoot != "" || s.Status.ActivatedAt != nil) {
		return stored.ParentUID
	}
	p := &v1alpha1.Subscription{}
	if ok, err := get(ctx, e.cached, "parent", key(s.Spec.Parent.SubscriptionRef), p); err == nil && ok {
		return string(p.UID)
	}
	return stored.ParentUID
}

package webhook

import (
	"context"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/finops/subscription"
	"github.com/provider-finops/provider-finops/internal/finops/family"
	"github.com/provider-finops/provider-finops/internal/finops/gate"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

// subscriptions refuses Subscriptions that name themselves.
type subscriptions struct {
	cache              client.Reader
	detectParentCycles bool
}

func (v *subscriptions) handler() *handler {
	return &handler{resource: "subscriptions", checks: map[admissionv1.Operation]check{admissionv1.Create: v.create}}
}

// create refuses a Subscription that is its own parent or its own target. A
// target that is edited later to be the Subscription itself is held by its gate.
func (v *subscriptions) create(ctx context.Context, req admission.Request) (objection, error) {
	s := &v1alpha1.Subscription{}
	if err := decode(req.Object, req, s); err != nil {
		return objection{}, err
	}
	self := member(s)

	if s.Spec.Parent != nil {
		if verdict := gate.SelfParent(self.Key, &self.Parent); !verdict.Passes() {
			return objection{string(verdict.Reason), verdict.Message}, nil
		}
	}
	if l := s.Spec.Lifecycle; l != nil {
		if verdict := gate.SelfTarget(self.Key, subscription.Target(l.TargetRef)); !verdict.Passes() {
			return objection{string(verdict.Reason), verdict.Message}, nil
		}
	}
	if v.detectParentCycles {
		if loop := family.Loop(self, v.parentOf(ctx, self)); slices.Contains(loop, self.Key) {
			return objection{v1alpha1.ReasonCircularDependencyDetected, (&family.LoopError{Path: loop}).Error()}, nil
		}
	}
	return objection{}, nil
}

// parentOf finds parents by name, and the new one among them, which is nowhere
// yet.
func (v *subscriptions) parentOf(ctx context.Context, self family.Member) family.ParentOf {
	return func(child family.Member) (*family.Member, error) {
		if child.Parent == self.Key {
			return &self, nil
		}
		p := &v1alpha1.Subscription{}
		err := v.cache.Get(ctx, client.ObjectKey{Namespace: child.Parent.Namespace, Name: child.Parent.Name}, p)
		if err != nil {
			return nil, client.IgnoreNotFound(err)
		}
		m := member(p)
		return &m, nil
	}
}

// member is as much of a Subscription as a walk along its parents needs.
func member(s *v1alpha1.Subscription) family.Member {
	m := family.Member{Key: ref.Key{Namespace: s.Namespace, Name: s.Name}}
	if p := s.Spec.Parent; p != nil {
		m.Parent = ref.Key{Namespace: p.SubscriptionRef.Namespace, Name: p.SubscriptionRef.Name}
	}
	return m
}

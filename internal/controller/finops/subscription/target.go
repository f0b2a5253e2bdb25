package subscription

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/finops/gate"
)

// readerLabel marks the ClusterRoles that say which kinds may be targets.
const readerLabel = "finops.stakater.com/aggregate-to-target-reader"

// targets tells whether targets exist. Every read goes to the server: the cache
// holds no target, and to miss one ends a contract.
type targets struct {
	live    client.Reader
	mapper  meta.RESTMapper // Looks again before it says that a kind does not exist.
	watches *targetWatches
}

// read reads the target of a Subscription and has its kind watched from then
// on.
func (t targets) read(ctx context.Context, s *v1alpha1.Subscription, self gate.Subscription) gate.Read[gate.Existing] {
	target := *self.Target
	ready, err := t.get(ctx, s, self)
	switch {
	case err == nil:
		t.watches.found(s.UID, true)
		return gate.Found(gate.Existing{Unready: !ready})
	case isGone(err):
		t.watches.found(s.UID, false)
		return gate.Gone[gate.Existing]()
	case meta.IsNoMatchError(err), isUnserved(err):
		return gate.Failed[gate.Existing](&gate.UnknownKindError{Target: target})
	case kerrors.IsForbidden(err):
		// BETTER-SUB-7. The server's own words name the resource and the account.
		return gate.Failed[gate.Existing](errors.Wrapf(err,
			"cannot read target %s: get, list and watch have to be granted by a ClusterRole with the label %s: \"true\"", target, readerLabel))
	}
	return gate.Failed[gate.Existing](errors.Wrapf(err, "cannot read target %s", target))
}

// get reads only metadata, and the whole target if its readiness counts. It
// tells whether the target may be ready.
func (t targets) get(ctx context.Context, s *v1alpha1.Subscription, self gate.Subscription) (bool, error) {
	target := *self.Target
	gv, err := schema.ParseGroupVersion(target.APIVersion)
	if err != nil {
		return false, err
	}
	kind := gv.WithKind(target.Kind)
	mapping, err := t.mapper.RESTMapping(kind.GroupKind(), gv.Version)
	if err != nil {
		return false, err
	}
	if target.Namespace == "" && mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return false, errors.Errorf("targetRef has no namespace, which a %s needs", target.Kind)
	}

	of := client.ObjectKey{Namespace: target.Namespace, Name: target.Name}
	gated := self.TargetGate == gate.TargetReady && !self.Active()
	t.watches.hold(ctx, s.UID, hold{kind: kind, target: of, request: request(self.Key), gated: gated})
	if !gated {
		return true, t.live.Get(ctx, of, ofKind(kind))
	}
	whole := &unstructured.Unstructured{}
	whole.SetGroupVersionKind(kind)
	if err := t.live.Get(ctx, of, whole); err != nil {
		return false, err
	}
	return mayBeReady(whole), nil
}

// mayBeReady tells whether an object says of itself that it is ready or
// available, and never that it is not (BETTER-SUB-10).
func mayBeReady(o *unstructured.Unstructured) bool {
	conditions, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	if err != nil {
		return false
	}
	says := false
	for _, c := range conditions {
		condition, ok := c.(map[string]any)
		if !ok || condition["type"] != "Ready" && condition["type"] != "Available" {
			continue
		}
		if condition["status"] == string(metav1.ConditionFalse) {
			return false
		}
		says = true
	}
	return says
}

// isGone tells whether the server knows the kind and says that the object does
// not exist.
func isGone(err error) bool { return kerrors.IsNotFound(err) && !isUnserved(err) }

// isUnserved tells whether the server did not know what was asked for: the kind
// is not served any more. The status is 404 as well, but not from the kind's own
// storage, and it says nothing about the object (OPEN-SUB-6).
func isUnserved(err error) bool {
	return kerrors.IsNotFound(err) && kerrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

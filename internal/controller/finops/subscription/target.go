package subscription

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/internal/finops/gate"
)

// targets tells whether targets exist. Every read goes to the server: the cache
// holds no target, and to miss one ends a contract.
type targets struct {
	live   client.Reader
	mapper meta.RESTMapper // Looks again before it says that a kind does not exist.
}

func (t targets) read(ctx context.Context, target gate.Target) gate.Read[gate.Existing] {
	err := t.get(ctx, target)
	switch {
	case err == nil:
		return gate.Found(gate.Existing{})
	case isGone(err):
		return gate.Gone[gate.Existing]()
	case meta.IsNoMatchError(err), isUnserved(err):
		return gate.Failed[gate.Existing](&gate.UnknownKindError{Target: target})
	}
	return gate.Failed[gate.Existing](errors.Wrapf(err, "cannot read target %s", target))
}

// get reads only metadata: nothing else of a target counts.
func (t targets) get(ctx context.Context, target gate.Target) error {
	gv, err := schema.ParseGroupVersion(target.APIVersion)
	if err != nil {
		return err
	}
	mapping, err := t.mapper.RESTMapping(gv.WithKind(target.Kind).GroupKind(), gv.Version)
	if err != nil {
		return err
	}
	if target.Namespace == "" && mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return errors.Errorf("targetRef has no namespace, which a %s needs", target.Kind)
	}
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(gv.WithKind(target.Kind))
	return t.live.Get(ctx, client.ObjectKey{Namespace: target.Namespace, Name: target.Name}, o)
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

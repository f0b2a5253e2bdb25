package webhook

import (
	"context"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/finops/offering"
	"github.com/provider-finops/provider-finops/internal/finops/offer"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

// offerings refuses Offerings that require themselves, however indirectly, and
// the deletion of those that something depends on.
type offerings struct {
	cache client.Reader
	live  client.Reader
	guard offer.Guard
}

func (v *offerings) handler() *handler {
	return &handler{
		resource: "offerings",
		checks:   map[admissionv1.Operation]check{admissionv1.Create: v.create, admissionv1.Delete: v.delete},
	}
}

// create refuses a cycle that the new Offering would close. The cache is good
// enough: what it does not hold yet the controller finds.
func (v *offerings) create(ctx context.Context, req admission.Request) (objection, error) {
	o := &v1alpha1.Offering{}
	if err := decode(req.Object, req, o); err != nil {
		return objection{}, err
	}
	verdict, err := offer.Acyclic(offering.Seen(o), v.required(ctx))
	return objection{string(verdict.Reason), verdict.Message}, err
}

// required finds Offerings until time is up. An entry of an older release that
// names no namespace names nothing that could close a cycle.
func (v *offerings) required(ctx context.Context) offer.Lookup {
	find := offering.Lookup(ctx, v.cache)
	return func(k ref.Key) (*offer.Offering, error) {
		if k.Namespace == "" {
			return nil, ctx.Err()
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return find(k)
	}
}

// delete refuses while anything depends on the Offering. Only metadata is read
// of it, so whatever its spec holds it can be deleted.
func (v *offerings) delete(ctx context.Context, req admission.Request) (objection, error) {
	o := &metav1.PartialObjectMetadata{}
	if err := decode(req.OldObject, req, o); err != nil {
		return objection{}, err
	}
	if o.DeletionTimestamp != nil || v.doomed(ctx, o) {
		return objection{}, nil
	}
	verdict, err := offering.Deletable(ctx, v.cache, v.live, ref.Key{Namespace: o.Namespace, Name: o.Name}, v.guard)
	return objection{string(verdict.Reason), verdict.Message}, err
}

// doomed tells whether the namespace of an Offering is being deleted while the
// controller holds the Offering by its finalizer. Such a one is deleted in any
// case and then kept for as long as something depends on it. To refuse would
// help nobody, and the namespace would never go: the collection of its
// Offerings is deleted in one request, which ends at the first refusal, so that
// one Offering could be kept by another that is never reached.
func (v *offerings) doomed(ctx context.Context, o *metav1.PartialObjectMetadata) bool {
	if !slices.Contains(o.Finalizers, v1alpha1.OfferingFinalizer) {
		return false
	}
	ns := &corev1.Namespace{}
	err := v.live.Get(ctx, client.ObjectKey{Name: o.Namespace}, ns)
	return err == nil && ns.DeletionTimestamp != nil
}

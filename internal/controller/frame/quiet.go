package frame

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// quietManager hands the runtime a client that writes nothing superfluous.
type quietManager struct {
	ctrl.Manager

	statuses *Statuses
}

// GetClient returns the quiet client.
func (m quietManager) GetClient() client.Client {
	return quietClient{Client: m.Manager.GetClient(), statuses: m.statuses}
}

// quietClient is the runtime's client. The runtime updates the status at the
// end of every pass, changed or not, and the object itself for nothing but the
// annotations that record a creation, which we do not need: a creation of ours
// can be repeated.
type quietClient struct {
	client.Client

	statuses *Statuses
}

// Update takes the creation's annotations off the object again instead of
// sending them.
func (quietClient) Update(_ context.Context, obj client.Object, _ ...client.UpdateOption) error {
	meta.RemoveAnnotations(obj,
		meta.AnnotationKeyExternalCreatePending,
		meta.AnnotationKeyExternalCreateSucceeded,
		meta.AnnotationKeyExternalCreateFailed)
	return nil
}

// Status returns the writer that drops an update which changes nothing.
func (c quietClient) Status() client.SubResourceWriter {
	return quietStatus{SubResourceWriter: c.Client.Status(), statuses: c.statuses}
}

type quietStatus struct {
	client.SubResourceWriter

	statuses *Statuses
}

// Update stores the status if the server does not hold it already.
func (w quietStatus) Update(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	return w.statuses.Keep(ctx, obj, opts...)
}

// Package legacy reads references the way releases before v1alpha1's present
// definitions did: one without a namespace names an object in the namespace of
// the referrer (--legacy-reference-namespaces, OPEN-API-1). Such references are
// still stored where those releases ran, and can be corrected by nobody, since
// they are immutable.
//
// They are completed where objects come in, and nowhere else: from the cache,
// from the server, and from what a write returns. What is completed is marked
// ([v1alpha1.ObjectReference].Inferred), so that the object's Ready can say so.
//
// Nothing of it is written back. No write of ours carries a spec that the server
// would take: statuses are written through their subresource, finalizers as
// patches of what has changed.
package legacy

import (
	"context"
	"strconv"
	"strings"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// selectors are the fields that a server selects references by. It knows
// nothing of what is completed here.
var selectors = []string{"spec.offeringRef.namespace", "spec.parent.subscriptionRef.namespace"}

// Complete completes the references of an object, or of all objects of a list.
func Complete(o runtime.Object) {
	switch o := o.(type) {
	case *v1alpha1.Subscription:
		completeSubscription(o)
	case *v1alpha1.SubscriptionList:
		for i := range o.Items {
			completeSubscription(&o.Items[i])
		}
	case *v1alpha1.Offering:
		completeOffering(o)
	case *v1alpha1.OfferingList:
		for i := range o.Items {
			completeOffering(&o.Items[i])
		}
	}
}

func completeSubscription(s *v1alpha1.Subscription) {
	complete(&s.Spec.OfferingRef, s.Namespace)
	if s.Spec.Parent != nil {
		complete(&s.Spec.Parent.SubscriptionRef, s.Namespace)
	}
}

func completeOffering(o *v1alpha1.Offering) {
	if o.Spec.Compatibility == nil {
		return
	}
	for i := range o.Spec.Compatibility.RequiredOfferings {
		complete(&o.Spec.Compatibility.RequiredOfferings[i], o.Namespace)
	}
}

func complete(r *v1alpha1.ObjectReference, referrer string) {
	if r.Namespace == "" && r.Name != "" {
		r.Namespace, r.Inferred = referrer, true
	}
}

// Note says which references of an object were completed, empty if none was. It
// belongs on Ready.
func Note(o runtime.Object) string {
	var read []string
	add := func(field string, r v1alpha1.ObjectReference) {
		if r.Inferred {
			read = append(read, field+" as "+r.String())
		}
	}
	switch o := o.(type) {
	case *v1alpha1.Subscription:
		add("offeringRef", o.Spec.OfferingRef)
		if o.Spec.Parent != nil {
			add("parent", o.Spec.Parent.SubscriptionRef)
		}
	case *v1alpha1.Offering:
		if o.Spec.Compatibility == nil {
			break
		}
		for i, r := range o.Spec.Compatibility.RequiredOfferings {
			add("requiredOfferings["+strconv.Itoa(i)+"]", r)
		}
	}
	if len(read) == 0 {
		return ""
	}
	return "references without a namespace are read in the object's own: " + strings.Join(read, ", ")
}

// Noted returns a message with the note about the object behind it.
func Noted(message string, o runtime.Object) string {
	if note := Note(o); note != "" {
		return message + "; " + note
	}
	return message
}

// Transform completes what a cache takes in, after another transform.
func Transform(first toolscache.TransformFunc) toolscache.TransformFunc {
	return func(in any) (any, error) {
		out, err := first(in)
		if o, ok := out.(runtime.Object); ok && err == nil {
			Complete(o)
		}
		return out, err
	}
}

// Manager returns a manager whose clients complete what they read. Its cache has
// to be made with [Transform].
func Manager(mgr ctrl.Manager) ctrl.Manager {
	return manager{Manager: mgr, client: Client(mgr.GetClient()), live: reader{mgr.GetAPIReader()}}
}

type manager struct {
	ctrl.Manager

	client client.Client
	live   client.Reader
}

func (m manager) GetClient() client.Client    { return m.client }
func (m manager) GetAPIReader() client.Reader { return m.live }

// Client returns a client that completes what it reads, and what the server
// returns of a write.
func Client(c client.Client) client.Client { return completing{Client: c, reads: reader{c}} }

type completing struct {
	client.Client

	reads reader
}

func (c completing) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	return c.reads.Get(ctx, key, o, opts...)
}

func (c completing) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return c.reads.List(ctx, list, opts...)
}

func (c completing) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
	err := c.Client.Patch(ctx, o, patch, opts...)
	Complete(o)
	return err
}

func (c completing) Status() client.SubResourceWriter { return status{c.Client.Status()} }

type status struct{ client.SubResourceWriter }

func (w status) Update(ctx context.Context, o client.Object, opts ...client.SubResourceUpdateOption) error {
	err := w.SubResourceWriter.Update(ctx, o, opts...)
	Complete(o)
	return err
}

func (w status) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	err := w.SubResourceWriter.Patch(ctx, o, patch, opts...)
	Complete(o)
	return err
}

type reader struct{ client.Reader }

func (r reader) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := r.Reader.Get(ctx, key, o, opts...)
	Complete(o)
	return err
}

// List refuses to select by what is completed here, as a server does that does
// not select by it at all: who asks lists everybody then.
func (r reader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	asked := client.ListOptions{}
	asked.ApplyOptions(opts)
	if selects(asked.FieldSelector) {
		return kerrors.NewBadRequest("references without a namespace are not selected by it")
	}
	err := r.Reader.List(ctx, list, opts...)
	Complete(list)
	return err
}

func selects(s fields.Selector) bool {
	if s == nil {
		return false
	}
	for _, field := range selectors {
		if _, ok := s.RequiresExactMatch(field); ok {
			return true
		}
	}
	return false
}

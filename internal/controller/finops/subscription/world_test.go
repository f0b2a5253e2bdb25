package subscription

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/finops/index"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

// A world is what a server holds, or a cache that lags behind it. It is read
// like a client, with the indexes of the cache, and costs nothing.
type world struct {
	subs      map[ref.Key]*v1alpha1.Subscription
	offerings map[ref.Key]*v1alpha1.Offering
	version   int
	indexes   *byField
}

type byField struct{ subs, offerings map[string]client.IndexerFunc }

func newWorld(x *byField) *world {
	return &world{subs: map[ref.Key]*v1alpha1.Subscription{}, offerings: map[ref.Key]*v1alpha1.Offering{}, indexes: x}
}

// IndexField keeps the functions that the real cache would be given.
func (x *byField) IndexField(_ context.Context, o client.Object, field string, f client.IndexerFunc) error {
	switch o.(type) {
	case *v1alpha1.Subscription:
		x.subs[field] = f
	case *v1alpha1.Offering:
		x.offerings[field] = f
	}
	return nil
}

func newIndexes() (*byField, error) {
	x := &byField{subs: map[string]client.IndexerFunc{}, offerings: map[string]client.IndexerFunc{}}
	if err := index.AddSubscriptions(context.Background(), x); err != nil {
		return nil, err
	}
	return x, index.AddOfferings(context.Background(), x)
}

// Get reads one object.
func (w *world) Get(_ context.Context, k client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	at := ref.Key{Namespace: k.Namespace, Name: k.Name}
	switch o := into.(type) {
	case *v1alpha1.Subscription:
		if s, ok := w.subs[at]; ok {
			*o = *s
			return nil
		}
	case *v1alpha1.Offering:
		if f, ok := w.offerings[at]; ok {
			*o = *f
			return nil
		}
	}
	return kerrors.NewNotFound(schema.GroupResource{Resource: fmt.Sprintf("%T", into)}, k.Name)
}

// List reads what an index finds, or everything.
func (w *world) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
	options := &client.ListOptions{}
	options.ApplyOptions(opts)
	switch l := into.(type) {
	case *v1alpha1.SubscriptionList:
		l.ResourceVersion = strconv.Itoa(w.version)
		for _, k := range slices.SortedFunc(keys(w.subs), ref.Compare) {
			if chosen(options.FieldSelector, w.indexes.subs, w.subs[k]) {
				l.Items = append(l.Items, *w.subs[k])
			}
		}
	case *v1alpha1.OfferingList:
		for _, k := range slices.SortedFunc(keys(w.offerings), ref.Compare) {
			if chosen(options.FieldSelector, w.indexes.offerings, w.offerings[k]) {
				l.Items = append(l.Items, *w.offerings[k])
			}
		}
	}
	return nil
}

func keys[V any](m map[ref.Key]V) func(func(ref.Key) bool) {
	return func(yield func(ref.Key) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func chosen(by fields.Selector, x map[string]client.IndexerFunc, o client.Object) bool {
	if by == nil {
		return true
	}
	for _, r := range by.Requirements() {
		if !slices.Contains(x[r.Field](o), r.Value) {
			return false
		}
	}
	return true
}

package index

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What the cache's reader calls an index, and a value of it when the list names
// no namespace.
const (
	indexPrefix = "field:"
	valuePrefix = "__all_namespaces/"
)

// Cluster returns an indexer for lists that name no namespace, and ours do not:
// references cross namespaces. One that names a namespace finds nothing by
// these indexes.
//
// The cache's own indexer keeps every value twice, for both sorts of lists. Most
// values are those of one Subscription, so their sets are most of what an index
// weighs: of ten thousand Subscriptions' that half is a fifth of the heap.
func Cluster(c cache.Cache) client.FieldIndexer { return cluster{c} }

type cluster struct{ cache.Cache }

// IndexField adds an index to the informer of the object's kind.
func (c cluster) IndexField(ctx context.Context, of client.Object, field string, values client.IndexerFunc) error {
	informer, err := c.GetInformer(ctx, of, cache.BlockUntilSynced(false))
	if err != nil {
		return errors.Wrapf(err, "cannot watch %T", of)
	}

	return errors.Wrapf(informer.AddIndexers(toolscache.Indexers{indexPrefix + field: func(o any) ([]string, error) {
		object, ok := o.(client.Object)
		if !ok {
			return nil, errors.Errorf("cannot index a %T", o)
		}
		keys := values(object)
		for i := range keys {
			keys[i] = valuePrefix + keys[i]
		}
		return keys, nil
	}}), "cannot add index %q", field)
}

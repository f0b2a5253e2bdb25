package frame

import (
	"context"
	"reflect"
	"strconv"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"k8s.io/apimachinery/pkg/api/equality"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// rememberedStatuses bounds what Statuses remembers of its own writes. It only
// has to last until the cache has caught up.
const rememberedStatuses = 4096

// Statuses writes the status of objects, and only where it differs from what
// the server holds at the object's resourceVersion: a write that changes
// nothing costs the API server as much as one that does.
type Statuses struct {
	client client.Client
	recent *lru.Cache // uid → stored
}

// stored is a status as the server returned it.
type stored struct {
	resourceVersion string
	status          any
}

// NewStatuses returns the writer of one kind's statuses. The client reads from
// the cache.
func NewStatuses(c client.Client) *Statuses {
	return &Statuses{client: c, recent: lru.New(rememberedStatuses)}
}

// Keep stores the object's status now if it is not stored already. The object's
// resourceVersion is the precondition: a conflict means that the decision was
// made on an older object, and the caller has to look again.
func (s *Statuses) Keep(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	if s.isBehind(obj) {
		// What was decided may be what an older status said, and the server holds
		// another by now.
		return kerrors.NewConflict(schema.GroupResource{Resource: "status"}, obj.GetName(), errors.New("the cache has not seen the last write yet"))
	}
	if s.holds(ctx, obj) {
		return nil
	}
	if err := s.client.Status().Update(ctx, obj, append(opts, client.FieldOwner(FieldManager))...); err != nil {
		return err
	}
	s.recent.Add(obj.GetUID(), stored{resourceVersion: obj.GetResourceVersion(), status: statusOf(copyOf(obj))})
	return nil
}

// isBehind tells whether the object is older than our own last write to it.
func (s *Statuses) isBehind(obj client.Object) bool {
	last, ok := s.recent.Get(obj.GetUID())
	if !ok {
		return false
	}
	l, ok := last.(stored)
	if !ok {
		return false
	}
	wrote, err := strconv.ParseUint(l.resourceVersion, 10, 64)
	is, of := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	return err == nil && of == nil && is < wrote
}

// holds tells whether the server is known to hold the object's status already:
// from our own last write, or from the cache if it has the same version.
func (s *Statuses) holds(ctx context.Context, obj client.Object) bool {
	if last, ok := s.recent.Get(obj.GetUID()); ok {
		if l, ok := last.(stored); ok && l.resourceVersion == obj.GetResourceVersion() {
			return equality.Semantic.DeepEqual(l.status, statusOf(obj))
		}
	}
	cached, ok := reflect.New(reflect.TypeOf(obj).Elem()).Interface().(client.Object)
	if !ok {
		return false
	}
	key := types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	if err := s.client.Get(ctx, key, cached); err != nil {
		return false // Whatever is wrong, the write will tell.
	}
	return cached.GetUID() == obj.GetUID() &&
		cached.GetResourceVersion() == obj.GetResourceVersion() &&
		equality.Semantic.DeepEqual(statusOf(cached), statusOf(obj))
}

func copyOf(obj client.Object) client.Object {
	c, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return obj
	}
	return c
}

// statusOf returns the Status field that every kind of ours has.
func statusOf(obj client.Object) any {
	return reflect.ValueOf(obj).Elem().FieldByName("Status").Interface()
}

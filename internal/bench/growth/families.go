package growth

import (
	"context"
	"fmt"
	"math"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/bench"
)

const (
	tenant  = "tenant"
	suite   = "suite" // What the root is bound to, the node, and
	node    = "node"
	part    = "part" // everybody else, which requires the node's.
	theRoot = "root"
	theNode = "node"

	// others are the root and the node.
	others = 2

	// hands is how many requests the measurement makes at once.
	hands = 8

	// sample is how many settled members are looked at.
	sample = 100
)

// A life is what one family cost.
type life struct {
	members int
	look    looks   // At settled members, one at a time.
	memory  float64 // MiB, when all are active.

	cascade       time.Duration // From the end of the first to that of the last.
	ending        looks
	endingWritten int // Writes.
}

func offering(name string, requires ...string) *v1alpha1.Offering {
	o := &v1alpha1.Offering{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: name}}
	for _, r := range requires {
		o.Spec.Compatibility = &v1alpha1.Compatibility{RequiredOfferings: []v1alpha1.ObjectReference{{Namespace: tenant, Name: r}}}
	}
	return o
}

func subscription(name, parent, offering string) *v1alpha1.Subscription {
	s := &v1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: name},
		Spec:       v1alpha1.SubscriptionSpec{OfferingRef: v1alpha1.ObjectReference{Namespace: tenant, Name: offering}},
	}
	if parent != "" {
		s.Spec.Parent = &v1alpha1.SubscriptionParent{SubscriptionRef: v1alpha1.ObjectReference{Namespace: tenant, Name: parent}}
	}
	return s
}

func name(i int) string { return fmt.Sprintf("s-%05d", i) }

// wide has everybody directly below the root, deep each below the one before.
func wide(int) string { return theRoot }

func deep(i int) string {
	if i == 0 {
		return theRoot
	}
	return name(i - 1)
}

// live brings up a family below one root, looks at it, and ends the root.
func live(ctx context.Context, env *bench.Env, dir, binary string, n int, parent func(int) string) (l life, err error) {
	env.Logf("a family of %d", n)
	if dir, err = os.MkdirTemp(dir, "family-"); err != nil {
		return l, fmt.Errorf("cannot make a folder: %w", err)
	}
	w, err := newWorld(ctx, env, dir, binary)
	if err != nil {
		return l, err
	}
	defer func() {
		if stopErr := w.stop(ctx); err == nil {
			err = stopErr
		}
	}()
	l.members = n
	if err := w.populate(ctx, n, parent); err != nil {
		return l, err
	}
	if l.memory, err = w.peak(); err != nil {
		return l, err
	}
	if l.look, err = w.lookAtSome(ctx, n); err != nil {
		return l, err
	}
	return l, w.end(ctx, &l)
}

func (w *world) populate(ctx context.Context, n int, parent func(int) string) error {
	namespace := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": tenant}}
	if err := w.api.Add("namespaces", namespace); err != nil {
		return fmt.Errorf("cannot create the namespace: %w", err)
	}
	for _, o := range []client.Object{
		offering(suite), offering(node), offering(part, node), subscription(theRoot, "", suite), subscription(theNode, theRoot, node),
	} {
		if err := w.Create(ctx, o); err != nil {
			return fmt.Errorf("cannot create %s: %w", o.GetName(), err)
		}
	}
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(hands)
	for i := range n {
		group.Go(func() error { return w.Create(inner, subscription(name(i), parent(i), part)) })
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("cannot create a member: %w", err)
	}
	if err := w.wait(ctx, "everybody to be active", func(context.Context) bool { return w.having("activatedAt") == n+others }); err != nil {
		return err
	}
	return w.rest(ctx)
}

// having counts Subscriptions by a field of their status.
func (w *world) having(field string) int {
	return w.api.Count("subscriptions", func(o map[string]any) bool {
		status, _ := o["status"].(map[string]any)
		return status[field] != nil
	})
}

// lookAtSome edits members in a way that concerns nobody, one after another.
func (w *world) lookAtSome(ctx context.Context, n int) (looks, error) {
	before, err := w.looks(ctx)
	if err != nil {
		return looks{}, err
	}
	written := w.api.Writes("subscriptions")
	for i := range sample {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"seen":"%d"}}}`, i)
		err := w.Patch(ctx, subscription(name(i*max(n/sample, 1)%n), "", part), client.RawPatch(types.MergePatchType, patch))
		if err != nil {
			return looks{}, fmt.Errorf("cannot edit a member: %w", err)
		}
		looked := func(ctx context.Context) bool {
			now, err := w.looks(ctx)
			return err == nil && now.count > before.count+float64(i)
		}
		if err := w.wait(ctx, "a look at what was edited", looked); err != nil {
			return looks{}, err
		}
	}
	if more := w.api.Writes("subscriptions") - written - sample; more != 0 {
		return looks{}, fmt.Errorf("looking at settled members wrote %d times", more)
	}
	after, err := w.looks(ctx)
	return after.since(before), err
}

// end deletes the root, and waits until all have ended.
func (w *world) end(ctx context.Context, l *life) error {
	before, err := w.looks(ctx)
	if err != nil {
		return err
	}
	written := w.api.Writes("subscriptions")
	began := time.Now()
	if err := w.Delete(ctx, subscription(theRoot, "", suite)); err != nil {
		return fmt.Errorf("cannot delete the root: %w", err)
	}
	if err := w.wait(ctx, "everybody to end", func(context.Context) bool { return w.having("deactivatedAt") == l.members+others }); err != nil {
		return err
	}
	l.cascade = time.Since(began)
	if err := w.rest(ctx); err != nil {
		return err
	}
	after, err := w.looks(ctx)
	l.ending = after.since(before)
	l.endingWritten = w.api.Writes("subscriptions") - written - 1 // The deletion itself.
	return err
}

// mean is in milliseconds.
func (l looks) mean() float64 { return 1000 * l.seconds / l.count }

// most is the time in milliseconds that a share of the looks kept: the next of
// the bounds that the product counts by.
func (l looks) most(share float64) float64 {
	least := math.Inf(1)
	for bound, n := range l.within {
		if n >= share*l.count {
			least = min(least, bound)
		}
	}
	return 1000 * least
}

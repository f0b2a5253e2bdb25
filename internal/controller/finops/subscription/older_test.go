package subscription_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/finops/subscription"
	"github.com/provider-finops/provider-finops/internal/controller/legacy"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// older puts a family of an older release on the server: none of its references
// has a namespace. The part is below the root and requires the node.
func older(r *rig) (root, node, part *v1alpha1.Subscription) {
	r.t.Helper()
	restore := []func(){
		apitest.RelaxReferences(r.t, r, "subscriptions", "offeringRef"),
		apitest.RelaxReferences(r.t, r, "subscriptions", "parent", "subscriptionRef"),
		apitest.RelaxReferences(r.t, r, "offerings", "compatibility", "requiredOfferings", "[]"),
	}
	named := func(kind, name string, spec map[string]any) *unstructured.Unstructured {
		return apitest.Stored(r.t, r, map[string]any{"kind": kind, "metadata": map[string]any{"namespace": r.ns, "name": name}, "spec": spec})
	}
	of := func(name string) map[string]any { return map[string]any{"name": name} }
	pricing := map[string]any{"subscriptionFee": map[string]any{"priceMicros": int64(1), "period": "1h", "tickAlignment": "ActivatedAt"}}
	named("Offering", "vm", map[string]any{"pricing": pricing})
	named("Offering", "disk", map[string]any{"pricing": pricing, "compatibility": map[string]any{"requiredOfferings": []any{of("vm")}}})

	subscribe := func(name, parent, offering string) *v1alpha1.Subscription {
		spec := map[string]any{"offeringRef": of(offering)}
		if parent != "" {
			spec["parent"] = map[string]any{"subscriptionRef": of(parent)}
		}
		s := &v1alpha1.Subscription{}
		s.SetNamespace(r.ns)
		s.SetName(named("Subscription", name, spec).GetName())
		return s
	}
	root, node, part = subscribe("root", "", "vm"), subscribe("node", "root", "vm"), subscribe("part", "root", "disk")
	for _, f := range restore {
		f()
	}
	return root, node, part
}

// TestOlderReferences has references without a namespace resolve to nothing: who
// carries them is held and told so, and nothing of them is ever filled in.
func TestOlderReferences(t *testing.T) {
	r := start(t)
	root, _, part := older(r)
	for _, s := range []*v1alpha1.Subscription{root, part} {
		apitest.Eventually(t, "a held "+s.Name, func(ctx context.Context) error {
			if err := r.Get(ctx, client.ObjectKeyFromObject(s), s); err != nil {
				return err
			}
			if lookAt(s).Ready != "False/ValidationError" || !strings.Contains(message(s, v1alpha1.TypeReady), "has no namespace") {
				return fmt.Errorf("%v", s.Status.Conditions)
			}
			return nil
		})
	}
}

// TestLegacyReferences reads them as they were meant (--legacy-reference-namespaces):
// the family is sold, covers, ends and goes, and what is mirrored of it names
// namespaces. What is stored of the objects stays.
func TestLegacyReferences(t *testing.T) {
	mgr, writes := apitest.Manager(t, func(o *ctrl.Options) {
		o.Cache.DefaultTransform = legacy.Transform(cache.TransformStripManagedFields())
	})
	r := startOn(t, legacy.Manager(mgr), writes, subscription.Settings{})
	root, node, part := older(r)
	for _, s := range []*v1alpha1.Subscription{root, node, part} {
		r.becomes(s, billed)
	}
	want := fmt.Sprintf("every gate passes; references without a namespace are read in the object's own: offeringRef as %[1]s/disk, parent as %[1]s/root", r.ns)
	if got := message(part, v1alpha1.TypeReady); got != want {
		t.Errorf("want %q, got %q", want, got)
	}
	if part.Spec.OfferingRef.Namespace != "" || part.Spec.Parent.SubscriptionRef.Namespace != "" {
		t.Errorf("something was written back: %v", part.Spec)
	}
	apitest.Eventually(t, "the mirror of the part", func(ctx context.Context) error {
		var offering, parent string
		err := r.pool.QueryRow(ctx, `SELECT offering_namespace || '/' || offering_name, parent_namespace || '/' || parent_name
			FROM subscriptions WHERE uid = $1::text::uuid ORDER BY id DESC LIMIT 1`, string(part.UID)).Scan(&offering, &parent)
		if err != nil || offering != r.ns+"/disk" || parent != r.ns+"/root" {
			return fmt.Errorf("%q, %q, %w", offering, parent, err)
		}
		return nil
	})

	// An Offering that is still used stays, also if only such references use it.
	vm := &v1alpha1.Offering{}
	if err := r.Get(t.Context(), client.ObjectKey{Namespace: r.ns, Name: "vm"}, vm); err != nil {
		t.Fatal(err)
	}
	if err := r.Delete(t.Context(), vm); err != nil {
		t.Fatal(err)
	}
	r.resyncs(10)
	if err := r.Get(t.Context(), client.ObjectKeyFromObject(vm), vm); err != nil {
		t.Fatalf("it was let go: %v", err)
	}

	if err := r.Delete(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	r.becomes(part, billed) // The root is an active vm, too.
	if err := r.Delete(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	apitest.Eventually(t, "the end of the part", func(ctx context.Context) error {
		if err := r.Get(ctx, client.ObjectKeyFromObject(part), part); err != nil || part.Status.DeactivatedAt == nil {
			return errors.Join(err, fmt.Errorf("%v", part.Status.Conditions))
		}
		return nil
	})

	// Once nobody refers to it any more the Offering goes.
	for _, s := range []*v1alpha1.Subscription{root, node, part} {
		r.letGo(s)
	}
	disk := &v1alpha1.Offering{}
	disk.SetNamespace(r.ns)
	disk.SetName("disk")
	if err := r.Delete(t.Context(), disk); err != nil {
		t.Fatal(err)
	}
	apitest.Eventually(t, "the end of the Offering", func(ctx context.Context) error {
		if err := r.Get(ctx, client.ObjectKeyFromObject(vm), vm); !kerrors.IsNotFound(err) {
			return errors.Join(err, errors.New("it is still there"))
		}
		return nil
	})
}

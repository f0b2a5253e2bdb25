package subscription_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// settled waits for a few looks and wants none of them to have written
// anything, neither to the API server nor to the database.
func (r *rig) settled(s *v1alpha1.Subscription) {
	r.t.Helper()
	for last := ""; last == "" || last != s.ResourceVersion; { // The deadline of the test bounds this.
		last = s.ResourceVersion
		r.resyncs(5)
		if err := r.Get(r.t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
			r.t.Fatal(err)
		}
	}
	r.writes.Take()
	before := r.count.Count()
	r.resyncs(5)
	if w := r.written(s); len(w) > 0 {
		r.t.Errorf("%s is written although it is settled: %v", s.Name, w)
	}
	if n := r.count.Count() - before; n > 0 {
		r.t.Errorf("%s costs %d statements although it is settled", s.Name, n)
	}
}

func TestDeletion(t *testing.T) {
	r := start(t)
	r.offer("basic")
	keeper := r.subscribe("keeper", "", "basic") // Goes on being looked at while the others rest.
	s := r.subscribe("sub", "", "basic")
	waiting := r.subscribe("waiting", "", "missing")
	r.becomes(keeper, billed)
	r.becomes(s, billed)
	r.becomes(waiting, held("OfferingNotFound"))
	r.clock.SetTime(noon.Add(time.Hour))
	for _, d := range []*v1alpha1.Subscription{s, waiting} {
		if err := r.Delete(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}

	r.becomes(s, gone)
	if !s.Status.DeactivatedAt.Time.Equal(noon.Add(time.Hour)) {
		t.Errorf("deactivatedAt is %v, the clock said %v", s.Status.DeactivatedAt, noon.Add(time.Hour))
	}
	const blocked = "DeletionBlocked: waiting for a SubscriptionChargeCollection run to settle the charges"
	const none = "; no SubscriptionChargeCollection CostJob exists"
	if got := message(s, "Deleting"); got != blocked+none {
		t.Errorf("Deleting says %q", got)
	}

	// Who was never activated winds down in the same way (OPEN-SUB-11).
	never := gone
	never.Activated = false
	r.becomes(waiting, never)

	// The end is mirrored; the finalizer stays; nothing happens any more.
	apitest.Eventually(t, "the end in the mirror", func(ctx context.Context) error {
		if rows := r.rows(ctx, s); len(rows) != 2 || !rows[1].Ended {
			return fmt.Errorf("got %v", rows)
		}
		return nil
	})
	r.settled(s)
	if !slices.Contains(s.Finalizers, v1alpha1.SubscriptionFinalizer) {
		t.Fatalf("The finalizer is gone: %v", s.Finalizers)
	}
	want := map[string]int{"Activated": 1, "Deactivated": 1, "DeletionBlocked": 1, "NoChargeCollector": 1}
	if diff := cmp.Diff(want, r.events(s)); diff != "" {
		t.Errorf("Each once.\n-want +got:\n%s", diff)
	}

	// A collector appears: the message is told so. What a failed attempt has said is
	// taken back, although the runtime writes no status any more.
	s.SetConditions(xpv2.ReconcileError(errors.New("a bad day")))
	if err := r.Status().Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	job := &v1alpha1.CostJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.ns, Name: "charges"},
		Spec:       v1alpha1.CostJobSpec{Type: v1alpha1.CostJobTypeSubscriptionChargeCollection},
	}
	if err := r.Create(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Delete(context.Background(), job); err != nil {
			t.Error(err)
		}
	})
	r.says(s, "Deleting", blocked)
	r.becomes(s, gone)
	r.release(s)
	r.release(waiting)
}

// TestDeletedAfterAnEnd checks row 24 of the state table on the way.
func TestDeletedAfterAnEnd(t *testing.T) {
	r := start(t)
	r.offer("basic")
	parent := r.subscribe("parent", "", "basic")
	child := r.subscribe("child", "parent", "basic")
	r.becomes(child, billed)
	if err := r.Delete(t.Context(), parent); err != nil {
		t.Fatal(err)
	}
	r.becomes(child, ended("ParentDeactivated"))
	at := child.Status.DeactivatedAt.Time

	r.clock.SetTime(noon.Add(time.Hour))
	if err := r.Delete(t.Context(), child); err != nil {
		t.Fatal(err)
	}
	r.becomes(child, gone)
	if !child.Status.DeactivatedAt.Time.Equal(at) {
		t.Errorf("deactivatedAt moved from %v to %v", at, child.Status.DeactivatedAt)
	}
}

// TestForegroundDeletion has a second finalizer on the object, with which the
// runtime calls nothing but Observe: what there is to say is said there.
func TestForegroundDeletion(t *testing.T) {
	r := start(t)
	r.offer("basic")
	s := r.subscribe("sub", "", "basic")
	child := r.subscribe("child", "sub", "basic")
	r.becomes(s, billed)
	r.becomes(child, billed)
	if err := r.Delete(t.Context(), s, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
		t.Fatal(err)
	}
	r.becomes(s, gone)
	r.becomes(child, ended("ParentDeactivated"))
	if diff := cmp.Diff([]string{v1alpha1.SubscriptionFinalizer, metav1.FinalizerDeleteDependents}, s.Finalizers); diff != "" {
		t.Errorf("Both finalizers stay.\n-want +got:\n%s", diff)
	}
}

func TestPaused(t *testing.T) {
	r := start(t)
	r.offer("basic")
	parent := r.subscribe("parent", "", "basic")
	child := r.subscribe("child", "parent", "basic")
	r.becomes(child, billed)
	pause(t, r, child, "true")
	paused := billed
	paused.Synced = "False/ReconcilePaused"
	r.becomes(child, paused)

	if err := r.Delete(t.Context(), parent); err != nil {
		t.Fatal(err)
	}
	r.becomes(parent, gone)
	r.becomes(child, paused)
	pause(t, r, child, "false")
	r.becomes(child, ended("ParentDeactivated"))
}

func pause(t *testing.T, r *rig, s *v1alpha1.Subscription, value string) {
	t.Helper()
	before := s.DeepCopy()
	s.Annotations = map[string]string{"crossplane.io/paused": value}
	if err := r.Patch(t.Context(), s, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// TestDatabaseAway has no database: gates and endings go on, Synced says what
// is missing, and the mirror catches up.
func TestDatabaseAway(t *testing.T) {
	r := start(t)
	r.offer("basic")
	r.source.away(errAway)

	parent := r.subscribe("parent", "", "basic")
	child := r.subscribe("child", "parent", "basic")
	unsynced := billed
	unsynced.Synced = "False/ReconcileError"
	r.becomes(parent, unsynced)
	r.becomes(child, unsynced)
	if got := message(child, "Synced"); !strings.HasSuffix(got, errAway.Error()) {
		t.Errorf("Synced says %q", got)
	}
	if err := r.Delete(t.Context(), parent); err != nil {
		t.Fatal(err)
	}
	over := ended("ParentDeactivated")
	over.Synced = "False/ReconcileError"
	r.becomes(child, over)

	r.source.away(nil)
	r.becomes(child, ended("ParentDeactivated"))
	if rows := r.rows(t.Context(), child); len(rows) != 1 || !rows[0].Ended || !rows[0].Active {
		t.Errorf("The mirror has what was missed, got %v", rows)
	}
}

func TestTarget(t *testing.T) {
	r := start(t)
	r.offer("basic")
	s := r.subscribe("sub", "", "basic", target("v1", "ConfigMap", r.ns, "workload"))
	r.becomes(s, held("TargetNotFound"))
	workload := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.ns, Name: "workload"}}
	if err := r.Create(t.Context(), workload); err != nil {
		t.Fatal(err)
	}
	r.becomes(s, billed)
	if err := r.Delete(t.Context(), workload); err != nil {
		t.Fatal(err)
	}
	r.becomes(s, ended("TargetNotFound"))
	if got, want := message(s, "Active"), fmt.Sprintf("target ConfigMap %s/workload does not exist", r.ns); got != want {
		t.Errorf("Active says %q, want %q", got, want)
	}

	lost := r.subscribe("lost", "", "basic", target("v1", "ConfigMap", "", "workload"))
	l := held("ValidationError")
	l.Synced = "False/ReconcileError"
	r.becomes(lost, l)
	if got, want := message(lost, "Ready"), "cannot read target ConfigMap workload: targetRef has no namespace, which a ConfigMap needs"; got != want {
		t.Errorf("Ready says %q, want %q", got, want)
	}
	cluster := r.subscribe("cluster", "", "basic", target("v1", "Namespace", "", r.ns))
	r.becomes(cluster, billed)
}

// TestTargetKind takes the whole kind of a target away (OPEN-SUB-6). While the
// definition goes, the server removes the objects first, and that ends a
// Subscription. The one here was activated on an object that outlives what the
// controller is told: its kind stops being served.
func TestTargetKind(t *testing.T) {
	r := start(t)
	r.offer("basic")
	group := r.ns + ".example.org"
	s := r.subscribe("sub", "", "basic", target(group+"/v1", "Machine", r.ns, "vm"))
	r.becomes(s, held("TargetNotFound"))
	if got, want := message(s, "Ready"), fmt.Sprintf("target Machine %s/vm does not exist: the cluster has no kind Machine in %s/v1", r.ns, group); got != want {
		t.Errorf("Ready says %q, want %q", got, want)
	}

	crd := machines(group)
	if err := r.Create(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	vm := &unstructured.Unstructured{}
	vm.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Machine"})
	vm.SetNamespace(r.ns)
	vm.SetName("vm")
	apitest.Eventually(t, "a machine", func(ctx context.Context) error { return r.Create(ctx, vm.DeepCopy()) })
	r.becomes(s, billed)

	// Another version is served from now on, and the old one is not.
	serve := func(first, second bool) {
		t.Helper()
		before := crd.DeepCopy()
		crd.Spec.Versions[0].Served, crd.Spec.Versions[1].Served = first, second
		if err := r.Patch(t.Context(), crd, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	serve(false, true)
	unread := billed
	unread.Ready, unread.Synced = "False/ValidationError", "False/ReconcileError"
	r.becomes(s, unread)

	serve(true, true)
	r.becomes(s, billed)
	if err := r.Delete(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	apitest.Eventually(t, "the end of the definition", func(ctx context.Context) error {
		if err := r.Get(ctx, client.ObjectKeyFromObject(crd), &apiextensionsv1.CustomResourceDefinition{}); !kerrors.IsNotFound(err) {
			return errors.Join(errors.New("it is still there"), err)
		}
		return nil
	})
}

// machines is a kind with two versions of which the first is served.
func machines(group string) *apiextensionsv1.CustomResourceDefinition {
	yes := true
	anything := &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &yes}}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "machines." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "machines", Singular: "machine", Kind: "Machine", ListKind: "MachineList"},
			Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
				{Name: "v1", Served: true, Storage: true, Schema: anything},
				{Name: "v2", Served: false, Storage: false, Schema: anything},
			},
		},
	}
}

// TestReplacedOffering holds BETTER-OFF-5: an Offering that takes the name of
// another does not change what was sold.
func TestReplacedOffering(t *testing.T) {
	r := start(t)
	sold := r.offer("basic")
	s := r.subscribe("sub", "", "basic")
	r.becomes(s, billed)
	uid := string(sold.UID)

	// Its new requirement would end the Subscription, which is its own root.
	r.offer("more")
	r.replace(sold, r.requiring("more"))
	r.says(s, "Ready", "offering was replaced; recorded terms apply")
	r.becomes(s, billed)
	r.settled(s)
	if got := r.events(s)["OfferingReplaced"]; got != 1 {
		t.Errorf("OfferingReplaced is announced %d times", got)
	}
	if rows := r.rows(t.Context(), s); *rows[len(rows)-1].OfferingUID != uid {
		t.Errorf("The recorded Offering is %q, the one that was sold is %q", *rows[len(rows)-1].OfferingUID, uid)
	}

	// Recreated as it was it is the same to everybody: that repairs it.
	r.replace(sold)
	r.becomes(s, billed)
	apitest.Eventually(t, "the repair", func(ctx context.Context) error {
		if err := r.Get(ctx, client.ObjectKeyFromObject(s), s); err != nil {
			return err
		}
		rows := r.rows(ctx, s)
		if got := message(s, "Ready"); got != "every gate passes" || *rows[len(rows)-1].OfferingUID == uid {
			return fmt.Errorf("Ready says %q, recorded is %q", got, *rows[len(rows)-1].OfferingUID)
		}
		return nil
	})
}

// TestReplacedBeforeTheSale has a Subscription wait while another Offering takes
// the name of the one that was recorded with it, and the database is away until
// it is active: it was sold the other one, and that is what is recorded.
func TestReplacedBeforeTheSale(t *testing.T) {
	r := start(t)
	old := r.offer("basic")
	r.offer("family")
	s := r.subscribe("sub", "parent", "basic")
	r.becomes(s, held("ParentSubscriptionNotFound"))
	apitest.Eventually(t, "the first record", func(ctx context.Context) error {
		if rows := r.rows(ctx, s); len(rows) == 0 || rows[0].OfferingUID == nil {
			return fmt.Errorf("recorded are %d versions", len(rows))
		}
		return nil
	})

	r.source.away(errAway)
	sold := r.replace(old, func(spec *v1alpha1.OfferingSpec) {
		spec.Lifecycle = &v1alpha1.OfferingLifecycle{OnParentDeactivate: v1alpha1.ParentDeactivateActionOrphan}
	})
	r.subscribe("parent", "", "family")
	unrecorded := billed
	unrecorded.Synced = "False/ReconcileError"
	r.becomes(s, unrecorded)

	r.source.away(nil)
	r.becomes(s, billed)
	apitest.Eventually(t, "the record of the sale", func(ctx context.Context) error {
		rows := r.rows(ctx, s)
		if last := rows[len(rows)-1]; !last.Active || *last.OfferingUID != string(sold.UID) {
			return fmt.Errorf("recorded is Offering %q, active %t; sold was %q", *last.OfferingUID, last.Active, sold.UID)
		}
		return nil
	})
	if err := r.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
		t.Fatal(err)
	}
	if got := message(s, "Ready"); got != "every gate passes" {
		t.Errorf("Ready says %q", got)
	}
}

// replace has another Offering take the name of one.
func (r *rig) replace(old *v1alpha1.Offering, with ...func(*v1alpha1.OfferingSpec)) *v1alpha1.Offering {
	r.t.Helper()
	o := &v1alpha1.Offering{}
	if err := r.Get(r.t.Context(), client.ObjectKeyFromObject(old), o); err != nil {
		r.t.Fatal(err)
	}
	before := o.DeepCopy()
	o.Finalizers = nil // Past the guard: somebody forces it.
	if err := r.Patch(r.t.Context(), o, client.MergeFrom(before)); err != nil {
		r.t.Fatal(err)
	}
	if err := r.Delete(r.t.Context(), o); err != nil {
		r.t.Fatal(err)
	}
	force(r, o)
	return r.offer(old.Name, with...)
}

// force takes the finalizer off a deleted Offering until it is gone: the
// controller may have put it back before the deletion.
func force(r *rig, o *v1alpha1.Offering) {
	r.t.Helper()
	apitest.Eventually(r.t, "the end of "+o.Name, func(ctx context.Context) error {
		now := &v1alpha1.Offering{}
		err := r.Get(ctx, client.ObjectKeyFromObject(o), now)
		if kerrors.IsNotFound(err) || err == nil && now.UID != o.UID {
			return nil
		}
		if err != nil {
			return err
		}
		before := now.DeepCopy()
		now.Finalizers = nil
		if err := client.IgnoreNotFound(r.Patch(ctx, now, client.MergeFrom(before))); err != nil {
			return err
		}
		return fmt.Errorf("it is still there")
	})
}

package legacy_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/legacy"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

var errNotYet = errors.New("a reference without a namespace is still let in")

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(apitest.Main(m))
}

func TestComplete(t *testing.T) {
	given := v1alpha1.ObjectReference{Namespace: "elsewhere", Name: "basic"}
	without := v1alpha1.ObjectReference{Name: "basic"}
	read := v1alpha1.ObjectReference{Namespace: "tenant", Name: "basic", Inferred: true}
	meta := metav1.ObjectMeta{Namespace: "tenant", Name: "s"}

	cases := map[string]struct {
		reason string
		in     client.Object
		want   client.Object
		note   string
	}{
		"Subscription": {
			reason: "Both of its references are completed, and both are told.",
			in: &v1alpha1.Subscription{ObjectMeta: meta, Spec: v1alpha1.SubscriptionSpec{
				OfferingRef: without, Parent: &v1alpha1.SubscriptionParent{SubscriptionRef: without},
			}},
			want: &v1alpha1.Subscription{ObjectMeta: meta, Spec: v1alpha1.SubscriptionSpec{
				OfferingRef: read, Parent: &v1alpha1.SubscriptionParent{SubscriptionRef: read},
			}},
			note: "references without a namespace are read in the object's own: offeringRef as tenant/basic, parent as tenant/basic",
		},
		"Given": {
			reason: "What says where it is stays.",
			in:     &v1alpha1.Subscription{ObjectMeta: meta, Spec: v1alpha1.SubscriptionSpec{OfferingRef: given}},
			want:   &v1alpha1.Subscription{ObjectMeta: meta, Spec: v1alpha1.SubscriptionSpec{OfferingRef: given}},
		},
		"Target": {
			reason: "A target without a namespace is one of a cluster-scoped kind, then as now.",
			in: &v1alpha1.Subscription{ObjectMeta: meta, Spec: v1alpha1.SubscriptionSpec{
				OfferingRef: given, Lifecycle: &v1alpha1.SubscriptionLifecycle{TargetRef: &v1alpha1.TargetReference{APIVersion: "v1", Kind: "Node", Name: "n"}},
			}},
			want: &v1alpha1.Subscription{ObjectMeta: meta, Spec: v1alpha1.SubscriptionSpec{
				OfferingRef: given, Lifecycle: &v1alpha1.SubscriptionLifecycle{TargetRef: &v1alpha1.TargetReference{APIVersion: "v1", Kind: "Node", Name: "n"}},
			}},
		},
		"Offering": {
			reason: "What an Offering requires is completed by its own namespace, entry by entry.",
			in: &v1alpha1.Offering{ObjectMeta: meta, Spec: v1alpha1.OfferingSpec{
				Compatibility: &v1alpha1.Compatibility{RequiredOfferings: []v1alpha1.ObjectReference{given, without}},
			}},
			want: &v1alpha1.Offering{ObjectMeta: meta, Spec: v1alpha1.OfferingSpec{
				Compatibility: &v1alpha1.Compatibility{RequiredOfferings: []v1alpha1.ObjectReference{given, read}},
			}},
			note: "references without a namespace are read in the object's own: requiredOfferings[1] as tenant/basic",
		},
		"Others": {reason: "Of another kind nothing is touched.", in: &v1alpha1.PriceBook{ObjectMeta: meta}, want: &v1alpha1.PriceBook{ObjectMeta: meta}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			legacy.Complete(c.in)
			if diff := cmp.Diff(c.want, c.in); diff != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, diff)
			}
			if diff := cmp.Diff(c.note, legacy.Note(c.in)); diff != "" {
				t.Errorf("%s: note: -want +got:\n%s", c.reason, diff)
			}
		})
	}
}

// TestWritesNothingBack has objects of an older release on a server with the
// present definitions. They are read as completed, from every side, and their
// finalizer and status can be written; what is stored of their spec stays.
func TestWritesNothingBack(t *testing.T) {
	server := apitest.Client(t)
	ns := apitest.Namespace(t, server)
	restore := apitest.RelaxReferences(t, server, "subscriptions", "offeringRef")
	u := apitest.Stored(t, server, map[string]any{
		"kind": "Subscription", "metadata": map[string]any{"namespace": ns, "name": "old"},
		"spec": map[string]any{"offeringRef": map[string]any{"name": "basic"}},
	})
	restore()

	asked := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "new"}, Spec: v1alpha1.SubscriptionSpec{OfferingRef: v1alpha1.ObjectReference{Name: "basic"}}}
	apitest.Eventually(t, "the present definition", func(ctx context.Context) error {
		if err := server.Create(ctx, asked.DeepCopy(), client.DryRunAll); !kerrors.IsInvalid(err) {
			return errNotYet
		}
		return nil
	})

	c := legacy.Client(server)
	want := v1alpha1.ObjectReference{Namespace: ns, Name: "basic", Inferred: true}
	see := func(side string, s *v1alpha1.Subscription) {
		t.Helper()
		if diff := cmp.Diff(want, s.Spec.OfferingRef); diff != "" {
			t.Errorf("%s: -want +got:\n%s", side, diff)
		}
	}

	s := &v1alpha1.Subscription{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(u), s); err != nil {
		t.Fatal(err)
	}
	see("got", s)
	list := &v1alpha1.SubscriptionList{}
	if err := c.List(t.Context(), list, client.InNamespace(ns)); err != nil || len(list.Items) != 1 {
		t.Fatalf("want one, got %d, %v", len(list.Items), err)
	}
	see("listed", &list.Items[0])
	if err := c.List(t.Context(), list, client.MatchingFields{"spec.offeringRef.namespace": ns}); !kerrors.IsBadRequest(err) {
		t.Errorf("the server would miss those that are completed here, so it must not be asked to select; got %v", err)
	}

	before := s.DeepCopy()
	s.Finalizers = []string{v1alpha1.SubscriptionFinalizer}
	if err := c.Patch(t.Context(), s, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		t.Fatalf("its finalizer cannot be written: %v", err)
	}
	see("patched", s)
	s.Report(v1alpha1.NotReady("OfferingNotFound", "x"))
	if err := c.Status().Update(t.Context(), s); err != nil {
		t.Fatalf("its status cannot be written: %v", err)
	}
	see("status updated", s)
	if err := c.Status().Patch(t.Context(), s, client.RawPatch(types.MergePatchType, []byte(`{"status":{"ready":"False"}}`))); err != nil {
		t.Fatal(err)
	}
	see("status patched", s)

	if err := server.Get(t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(u.Object["spec"])
	if diff := cmp.Diff(`{"offeringRef":{"name":"basic"}}`, string(text)); diff != "" || err != nil {
		t.Errorf("what is stored: -want +got:\n%s%v", diff, err)
	}
	if len(u.GetFinalizers()) != 1 || u.Object["status"] == nil {
		t.Errorf("nothing was written at all: %v", u.Object)
	}
	if err := server.Patch(t.Context(), u, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatal(err)
	}
	if err := server.Delete(t.Context(), u); err != nil {
		t.Fatal(err)
	}
}

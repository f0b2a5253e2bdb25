package subscription_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

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

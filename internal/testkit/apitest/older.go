package apitest

import (
	"context"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// RelaxReferences lets references without a namespace in, as the definitions of older
// releases did, until the returned function is called. At is the way to the
// reference, below the spec.
func RelaxReferences(t testing.TB, c client.Client, kind string, at ...string) (restore func()) {
	t.Helper()
	ctx := t.Context()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	key := client.ObjectKey{Name: kind + ".finops.stakater.com"}
	if err := c.Get(ctx, key, crd); err != nil {
		t.Fatal(err)
	}
	present := crd.Spec.DeepCopy()
	reference := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	var change func(s apiextensionsv1.JSONSchemaProps, at []string) apiextensionsv1.JSONSchemaProps
	change = func(s apiextensionsv1.JSONSchemaProps, at []string) apiextensionsv1.JSONSchemaProps {
		if len(at) == 0 {
			s.Required = []string{"name"}
			return s
		}
		if at[0] == "[]" {
			*s.Items.Schema = change(*s.Items.Schema, at[1:])
			return s
		}
		s.Properties[at[0]] = change(s.Properties[at[0]], at[1:])
		return s
	}
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"] = change(reference, at)
	if err := c.Update(ctx, crd); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := c.Get(ctx, key, crd); err != nil {
			t.Fatal(err)
		}
		crd.Spec = *present
		if err := c.Update(ctx, crd); err != nil {
			t.Fatal(err)
		}
	}
}

// Stored returns an object without what the present definition wants, created as
// soon as the server lets it in.
func Stored(t testing.TB, c client.Client, o map[string]any) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: o}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(u.GetKind()))
	Eventually(t, "an object of an older release", func(ctx context.Context) error { return c.Create(ctx, u.DeepCopy()) })
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
		t.Fatal(err)
	}
	return u
}

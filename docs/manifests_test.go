package docs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// TestManifests sends every manifest of the documentation to a real API
// server, strictly: a field that it does not know is an error.
func TestManifests(t *testing.T) {
	c := apitest.Client(t)
	sent := 0
	for _, page := range pages(t) {
		for _, block := range blocks(t, page, "yaml") {
			decoder := kyaml.NewYAMLOrJSONDecoder(bytes.NewBufferString(block), 4096)
			for {
				o := &unstructured.Unstructured{}
				err := decoder.Decode(o)
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Errorf("%s: %v\n%s", page, err, block)
					break
				}
				sent++
				if err := accept(t, c, o); err != nil {
					t.Errorf("%s: %v\n%s", page, err, block)
				}
			}
		}
	}
	if sent < 5 {
		t.Errorf("only %d manifests", sent)
	}
}

func accept(t *testing.T, c client.Client, o *unstructured.Unstructured) error {
	t.Helper()
	if name := o.GetNamespace(); name != "" {
		ns := &unstructured.Unstructured{}
		ns.SetAPIVersion("v1")
		ns.SetKind("Namespace")
		ns.SetName(name)
		if err := c.Create(t.Context(), ns); err != nil && !kerrors.IsAlreadyExists(err) {
			return fmt.Errorf("cannot make namespace %q: %w", name, err)
		}
	}
	return c.Create(t.Context(), o, client.DryRunAll, client.FieldValidation("Strict"))
}

package v1alpha1_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

func TestMain(m *testing.M) { os.Exit(apitest.Main(m)) }

// The smallest object of each kind.
const (
	provider = `
apiVersion: finops.stakater.com/v1alpha1
kind: FinOpsProvider
metadata: {name: default}
spec:
  onpremoptions: {}
`
	priceBook = `
apiVersion: finops.stakater.com/v1alpha1
kind: PriceBook
metadata: {name: tariff-a}
spec:
  currency: EUR
  valuationMode: currency
`
	costJob = `
apiVersion: finops.stakater.com/v1alpha1
kind: CostJob
metadata: {name: charges-hourly}
`
	offering = `
apiVersion: finops.stakater.com/v1alpha1
kind: Offering
metadata: {name: small-db-2026}
spec:
  pricing: {}
`
	subscription = `
apiVersion: finops.stakater.com/v1alpha1
kind: Subscription
metadata: {name: team-blue-db}
spec:
  offeringRef: {name: small-db-2026, namespace: catalogue}
`
)

// A change sets the field at a dotted path, or removes it if there is no value.
type change struct {
	path  string
	value any
}

// absent as a value removes the field.
var absent any

// object returns a manifest with changes, in a namespace if its kind has them.
func object(t *testing.T, namespace, manifest string, changes ...change) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &u.Object); err != nil {
		t.Fatalf("cannot read manifest: %v", err)
	}
	if u.GetKind() != "FinOpsProvider" {
		u.SetNamespace(namespace)
	}
	apply(t, u, changes...)

	return u
}

func apply(t *testing.T, u *unstructured.Unstructured, changes ...change) {
	t.Helper()
	for _, c := range changes {
		path := strings.Split(c.path, ".")
		if c.value == absent {
			unstructured.RemoveNestedField(u.Object, path...)
			continue
		}
		if err := unstructured.SetNestedField(u.Object, c.value, path...); err != nil {
			t.Fatalf("cannot set %q: %v", c.path, err)
		}
	}
}

// A refusal is what the server says against one field. The zero refusal means
// that the object is accepted.
type refusal struct {
	field   string
	message string
}

// refusals returns what the server said against an object, field by field.
func refusals(t *testing.T, err error) []refusal {
	t.Helper()
	if err == nil {
		return nil
	}
	status, ok := err.(kerrors.APIStatus)
	if !ok || !kerrors.IsInvalid(err) || status.Status().Details == nil {
		t.Fatalf("want the object to be called invalid, got: %v", err)
	}
	var all []refusal
	for _, c := range status.Status().Details.Causes {
		all = append(all, refusal{field: c.Field, message: c.Message})
	}

	return all
}

// assertRefused fails unless the server refused the field with a message that
// ends in the given one.
func assertRefused(t *testing.T, reason string, err error, want refusal) {
	t.Helper()
	if want == (refusal{}) {
		if err != nil {
			t.Errorf("\n%s\nthe server refused the object: %v", reason, err)
		}
		return
	}
	got := refusals(t, err)
	for _, r := range got {
		if r.field == want.field && strings.HasSuffix(r.message, want.message) {
			return
		}
	}
	t.Errorf("\n%s\nrefusals: -want, +got:\n%s", reason, cmp.Diff([]refusal{want}, got, cmp.AllowUnexported(refusal{})))
}

func dryRun(t *testing.T, c client.Client, u *unstructured.Unstructured) error {
	t.Helper()
	return c.Create(context.Background(), u, client.DryRunAll)
}

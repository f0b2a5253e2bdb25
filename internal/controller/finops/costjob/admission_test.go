package costjob

import (
	"context"
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// Admission that changes every CronJob of a namespace as it is written: a field
// nobody else sets, and an empty label. Policies of that kind are common.
const mutating = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: NAMESPACE}
spec:
  reinvocationPolicy: Never
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}
    resourceRules:
      - {apiGroups: [batch], apiVersions: [v1], resources: [cronjobs], operations: [CREATE, UPDATE]}
  mutations:
    - patchType: ApplyConfiguration
      applyConfiguration:
        expression: >-
          Object{
            metadata: Object.metadata{labels: {"example.org/mutated": ""}},
            spec: Object.spec{jobTemplate: Object.spec.jobTemplate{spec: Object.spec.jobTemplate.spec{
              template: Object.spec.jobTemplate.spec.template{spec: Object.spec.jobTemplate.spec.template.spec{priorityClassName: "low"}}}}}
          }
`

const mutatingBinding = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: NAMESPACE}
spec: {policyName: NAMESPACE}
`

// TestMutatingAdmission shows that a CronJob which the API server stores other
// than it was sent settles all the same, and that hand edits still do not last.
func TestMutatingAdmission(t *testing.T) {
	b := newBench(t)
	for _, manifest := range []string{mutating, mutatingBinding} {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(strings.ReplaceAll(manifest, "NAMESPACE", b.ns)), &u.Object); err != nil {
			t.Fatal(err)
		}
		if err := b.c.Create(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	apitest.Eventually(t, "the policy", func(ctx context.Context) error {
		probe := &batchv1.CronJob{}
		if err := yaml.Unmarshal([]byte(golden(t, "allocation")), probe); err != nil {
			return err
		}
		probe.Namespace = b.ns
		if err := b.c.Create(ctx, probe, client.DryRunAll); err != nil {
			return err
		}
		if _, ok := probe.Labels["example.org/mutated"]; !ok {
			return fmt.Errorf("not in force yet")
		}
		return nil
	})

	r := b.make(settings())
	j := b.create(t, &v1alpha1.CostJob{})
	apitest.Settle(t, r, j, b.writes, b.synced(j, metav1.ConditionTrue, ""))
	if got := b.cronJob(t.Context(), t, j).Spec.JobTemplate.Spec.Template.Spec.PriorityClassName; got != "low" {
		t.Fatalf("the policy did nothing: %q", got)
	}
	apitest.AssertQuiet(t, b.make(settings()), j, b.writes)

	c := b.cronJob(t.Context(), t, j)
	c.Spec.Schedule = "1 2 3 * *"
	if err := b.c.Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	apitest.Settle(t, r, j, b.writes, func(ctx context.Context) error {
		if got := b.cronJob(ctx, t, j).Spec.Schedule; got != "0 0 * * *" {
			return fmt.Errorf("schedule is still %q", got)
		}
		return nil
	})
	apitest.AssertQuiet(t, r, j, b.writes)
}

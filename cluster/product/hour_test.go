package product

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newCostJob(namespace, name, of string) costJob {
	var j costJob
	j.Metadata.Namespace, j.Metadata.Name, j.Spec.Type = namespace, name, of
	return j
}

func TestInOrder(t *testing.T) {
	const charges = "SubscriptionChargeCollection"
	jobs := []costJob{
		newCostJob("b", "x", charges), newCostJob("c", "x", allocationType),
		newCostJob("a", "y", charges), newCostJob("a", "z", allocationType),
	}
	var got []string
	for _, job := range inOrder(jobs) {
		got = append(got, job.String())
	}
	want := []string{"a/z", "c/x", "a/y", "b/x"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("What is charged has to be measured first, and there is one order.\n-want, +got:\n%s", diff)
	}
}

package product

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInOrder(t *testing.T) {
	var list struct{ Items []costJob }
	if err := json.Unmarshal([]byte(`{"items": [
		{"metadata": {"namespace": "b", "name": "x"}, "spec": {"type": "SubscriptionChargeCollection"}},
		{"metadata": {"namespace": "c", "name": "x"}, "spec": {"type": "ResourceCostCollection"}},
		{"metadata": {"namespace": "a", "name": "y"}, "spec": {"type": "SubscriptionChargeCollection"}},
		{"metadata": {"namespace": "a", "name": "z"}, "spec": {"type": "ResourceCostCollection"}}
	]}`), &list); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, job := range inOrder(list.Items) {
		got = append(got, job.String())
	}
	want := []string{"a/z", "c/x", "a/y", "b/x"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("What is charged has to be measured first, and there is one order.\n-want, +got:\n%s", diff)
	}
}

package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSort says what of what is found after a story is removed, and in which order.
func TestSort(t *testing.T) {
	const text = `[
		{"kind": "Namespace", "metadata": {"uid": "1", "name": "acme", "managedFields": [{"manager": "kubectl-kuttl"}]}},
		{"kind": "Namespace", "metadata": {"uid": "2", "name": "somebodys", "managedFields": [{"manager": "kubectl-create"}]}},
		{"kind": "Namespace", "metadata": {"uid": "old", "name": "catalogue", "managedFields": [{"manager": "kubectl-kuttl"}]}},
		{"kind": "Namespace", "metadata": {"uid": "own", "name": "of-the-story", "managedFields": [{"manager": "kubectl-create"}]}},
		{"kind": "ClusterRole", "apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"uid": "4", "name": "targets", "managedFields": [{"manager": "kubectl-kuttl"}]}},
		{"kind": "Subscription", "metadata": {"uid": "5", "namespace": "acme", "name": "web", "managedFields": [{"manager": "kubectl-create"}]}},
		{"kind": "Subscription", "metadata": {"uid": "6", "namespace": "somebodys", "name": "web", "managedFields": [{"manager": "kubectl-create"}]}},
		{"kind": "Subscription", "metadata": {"uid": "7", "namespace": "of-the-story", "name": "web", "managedFields": [{"manager": "kubectl-kuttl"}]}},
		{"kind": "Offering", "metadata": {"uid": "8", "namespace": "acme", "name": "web", "managedFields": [{"manager": "kubectl-kuttl"}]}},
		{"kind": "PriceBook", "metadata": {"uid": "9", "namespace": "catalogue", "name": "tariff", "managedFields": [{"manager": "kubectl-kuttl"}, {"manager": "controller"}]}},
		{"kind": "PriceBook", "metadata": {"uid": "10", "namespace": "catalogue", "name": "theirs", "managedFields": [{"manager": "argocd"}]}}]`
	var found []object
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		t.Fatal(err)
	}
	contracts, others := traces{before: map[string]bool{"old": true, "own": true}}.sort(found, "of-the-story")
	for what, tc := range map[string]struct {
		reason string
		got    []object
		want   []string
	}{
		"Subscriptions": {"Contracts go first, wherever the story has made them but in its own namespace.", contracts, []string{"Subscription web --namespace=acme"}},
		"Others": {
			"Then what does not go with a namespace, then namespaces. What was there, and what others have made, stays.", others,
			[]string{"PriceBook tariff --namespace=catalogue", "Namespace acme", "ClusterRole.v1.rbac.authorization.k8s.io targets"},
		},
	} {
		var got []string
		for _, o := range tc.got {
			got = append(got, strings.Join(o.arguments(), " "))
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s\n-want, +got:\n%s", what, tc.reason, diff)
		}
	}
}

package subscription

import (
	"context"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

// TestEvidenceOfAnotherTime lists a family from a store that was restored from an
// earlier copy: what is missing in it may only be missing in the copy. As soon as
// the server is as new as what was seen before, its list counts.
func TestEvidenceOfAnotherTime(t *testing.T) {
	version := ""
	lists := 0
	server := store(t, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, o ...client.ListOption) error {
		lists++
		err := c.List(ctx, l, o...)
		l.SetResourceVersion(version)
		return err
	}}, sub("root", "", "basic", isActive))
	e := newEvidence(server)
	seen := func(version string) *v1alpha1.Subscription {
		s := sub("vm", "root", "vm", isActive)
		s.ResourceVersion = version
		return s
	}
	for _, v := range []string{"9", "20", "8"} { // Events of several objects may cross.
		e.saw(seen(v))
	}

	for _, step := range []struct {
		version string
		lists   int
		counts  bool
	}{
		{version: "19", lists: 1, counts: false},
		{version: "19", lists: 2, counts: false}, // Nothing of it is kept.
		{version: "20", lists: 3, counts: true},
		{version: "19", lists: 3, counts: true}, // The list at hand serves.
	} {
		version = step.version
		_, err := e.kin(t.Context(), "uid-root", []ref.Key{{Namespace: "ns", Name: "vm"}}, nil)
		if counts := err == nil; counts != step.counts || lists != step.lists {
			t.Errorf("A list of version %s: want evidence %t after %d lists, got %d lists, %v", step.version, step.counts, step.lists, lists, err)
		}
	}

	// A provider is lost: the list has to be newer than that.
	e.note(seen("25"), true)
	version = "24"
	if _, err := e.kin(t.Context(), "uid-root", []ref.Key{{Namespace: "ns", Name: "vm"}}, nil); err == nil {
		t.Error("A list from before the loss was taken for evidence of it")
	}
	version = "25"
	if _, err := e.kin(t.Context(), "uid-root", []ref.Key{{Namespace: "ns", Name: "vm"}}, nil); err != nil {
		t.Errorf("A list as new as the loss: %v", err)
	}
}

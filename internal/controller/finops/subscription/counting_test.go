package subscription_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// watched waits until the server counts so many watches of the kind that was
// made for this test.
func (r *rig) watched(want int) {
	r.t.Helper()
	server, err := kubernetes.NewForConfig(apitest.Config(r.t))
	if err != nil {
		r.t.Fatal(err)
	}
	apitest.Eventually(r.t, fmt.Sprintf("%d watches of the kind", want), func(ctx context.Context) error {
		text, err := server.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
		if err != nil {
			return err
		}
		got := 0
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "apiserver_longrunning_requests{") || !strings.Contains(line, `group="counted.example.org"`) || !strings.Contains(line, `verb="WATCH"`) {
				continue
			}
			n, err := strconv.Atoi(strings.TrimSpace(line[strings.LastIndexByte(line, ' ')+1:]))
			if err != nil {
				return err
			}
			got += n
		}
		if got != want {
			return fmt.Errorf("the server counts %d", got)
		}
		return nil
	})
}

// TestTargetWatchIsCounted has three Subscriptions share the watch of their
// targets' kind. It lasts until the last of them needs it no longer, whatever
// the reason, and comes back for the next.
func TestTargetWatchIsCounted(t *testing.T) {
	r := start(t)
	r.offer("basic")
	apiVersion := kindOfTheirs(t, r, "counted.example.org")
	for _, name := range []string{"a", "b", "c"} {
		r.object(apiVersion, "Database", name)
	}
	r.watched(0)

	on := func(name, of string) *v1alpha1.Subscription {
		t.Helper()
		s := r.subscribe(name, "", "basic", target(apiVersion, "Database", r.ns, of))
		r.becomes(s, billed)
		return s
	}
	removed, edited, over := on("removed", "a"), on("edited", "b"), on("over", "c")
	r.watched(1)

	if err := r.Delete(t.Context(), removed); err != nil {
		t.Fatal(err)
	}
	r.becomes(removed, gone)
	r.release(removed)
	r.resyncs(10)
	r.watched(1)

	before := edited.DeepCopy()
	edited.Spec.Lifecycle.TargetRef = &v1alpha1.TargetReference{APIVersion: "v1", Kind: "Namespace", Name: r.ns}
	if err := r.Patch(t.Context(), edited, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	r.resyncs(10)
	r.watched(1)

	c := &unstructured.Unstructured{}
	c.SetAPIVersion(apiVersion)
	c.SetKind("Database")
	c.SetNamespace(r.ns)
	c.SetName("c")
	if err := r.Delete(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	r.becomes(over, ended("TargetNotFound"))
	r.watched(0)

	on("later", "a")
	r.watched(1)
}

package subscription

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/provider-finops/provider-finops/internal/finops/tick"
)

// TestLives tells who was activated, and who has ended; nothing before the first
// list is complete.
func TestLives(t *testing.T) {
	informer := &filledInformer{Store: toolscache.NewStore(toolscache.MetaNamespaceKeyFunc)}
	ended := sub("ended", "", "o", isActive)
	ended.Status.DeactivatedAt = &noon
	for _, o := range []any{sub("waiting", "", "o"), sub("active", "", "o", isActive), ended} {
		if err := informer.Add(o); err != nil {
			t.Fatal(err)
		}
	}
	tell := lives(informer)
	if known, ok := tell(t.Context()); ok {
		t.Errorf("Nothing is known yet, got %v", known)
	}
	informer.synced = true
	want := map[string]tick.Life{"uid-active": {ActivatedAt: earlier.Time}, "uid-ended": {ActivatedAt: earlier.Time, DeactivatedAt: noon.Time}}
	if known, ok := tell(t.Context()); !ok || cmp.Diff(want, known) != "" {
		t.Errorf("-want, +got:\n%s", cmp.Diff(want, known))
	}
}

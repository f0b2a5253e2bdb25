package gate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestUnserved says of a wind-down what becomes of it, and reads that again.
func TestUnserved(t *testing.T) {
	since := time.Date(2026, time.March, 2, 12, 30, 0, 0, time.UTC)
	in := active(deleted)
	in.NoCollector = true
	in.Unserved = &Unserved{Since: since, From: since.Add(time.Hour), Held: "could not look; without one since yesterday, as it were"}

	said := Decide(in).Waiting
	want := "DeletionBlocked: waiting for a SubscriptionChargeCollection run to settle the charges; without one since 2026-03-02T12:30:00Z, " +
		"the controller settles them itself from 2026-03-02T13:30:00Z on (could not look; without one since yesterday, as it were); " +
		"no SubscriptionChargeCollection CostJob exists"
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("what is waited for: -want, +got:\n%s", diff)
	}
	if got, ok := UnservedSince(said); !ok || !got.Equal(since) {
		t.Errorf("UnservedSince(%q) = %s, %t", said, got, ok)
	}
	in.Unserved = nil
	for _, other := range []string{"", Decide(in).Waiting, "; without one since yesterday, the controller settles them itself"} {
		if got, ok := UnservedSince(other); ok {
			t.Errorf("UnservedSince(%q) = %s, but nothing of the kind is said", other, got)
		}
	}
}

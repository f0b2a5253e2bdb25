package subscription_test

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestHeldOfferingIsSold deletes an Offering that somebody is bound to, as it can be
// where no webhook refuses that. It stays, and is sold like before, until its owner
// sells it to nobody; who is active goes on.
func TestHeldOfferingIsSold(t *testing.T) {
	r := start(t)
	basic := r.offer("basic")
	before := r.subscribe("before", "", "basic")
	r.becomes(before, billed)
	if err := r.Delete(t.Context(), basic); err != nil {
		t.Fatal(err)
	}
	meanwhile := r.subscribe("meanwhile", "", "basic")
	r.becomes(meanwhile, billed)
	r.letGo(before)
	r.resyncs(10)
	if err := r.Get(t.Context(), client.ObjectKeyFromObject(basic), basic); err != nil || basic.DeletionTimestamp == nil {
		t.Fatalf("Who came later holds it as well: %v", err)
	}

	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"finops.stakater.com/allowed-namespaces":""}}}`))
	if err := r.Patch(t.Context(), basic, patch); err != nil {
		t.Fatal(err)
	}
	r.becomes(r.subscribe("after", "", "basic"), held("OfferingNotReady"))
	r.becomes(meanwhile, billed)
}

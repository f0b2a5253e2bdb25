package postgres_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// TestNewestSubscriptions stores two versions of one and one of another: a charge
// names the last, and whoever has none is left out.
func TestNewestSubscriptions(t *testing.T) {
	db := pgtest.Database(t)
	_, versions := plantVersions(t, db.Pool, first, second)
	later, err := postgres.StoreSubscriptions(t.Context(), db.Pool, billed, midday, postgres.Subscription{
		Object:            postgres.Object{Namespace: "red", Name: "subscription-0", UID: first, Generation: 2, Spec: []byte(`{"usageSources": []}`)},
		OfferingNamespace: "red", OfferingName: "offering",
	})
	if err != nil {
		t.Fatal(err)
	}
	if later[0].ID == versions[first] {
		t.Fatal("there is no second version, so this test shows nothing")
	}
	var got []postgres.RecordedSubscription
	err = postgres.NewestSubscriptions(t.Context(), db.Pool, billed, []string{second, first, "33333333-3333-3333-3333-333333333333"},
		func(newest postgres.RecordedSubscription) { got = append(got, newest) })
	if err != nil {
		t.Fatal(err)
	}
	none := json.RawMessage("[]")
	want := []postgres.RecordedSubscription{
		{UID: first, ID: later[0].ID, UsageSources: none}, {UID: second, ID: versions[second], UsageSources: none},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("NewestSubscriptions(...): -want, +got:\n%s", diff)
	}
}

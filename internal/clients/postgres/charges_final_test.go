package postgres_test

import (
	"math/big"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// TestFinalChargesStay computes hours again and finds nothing in them: what is
// open goes, what is final stays, and nobody tries to delete it, which its table
// would refuse. A cluster that was restored from another's backup has the same
// uids; its rows are not looked at.
func TestFinalChargesStay(t *testing.T) {
	db := pgtest.Database(t)
	if _, err := postgres.EnsureMonths(t.Context(), db.Pool, midday, midday); err != nil {
		t.Fatal(err)
	}
	offering, versions := plantVersions(t, db.Pool, first)
	charge := func(hour int, final bool) postgres.Charge {
		return postgres.Charge{
			SubscriptionUID: first, WindowStart: midday.Add(time.Duration(hour) * time.Hour), Source: "subscription", AmountMicros: 7,
			QuantityCoefficient: big.NewInt(1), Currency: "EUR", Finalized: final, OfferingVersionID: offering, SubscriptionVersionID: versions[first],
		}
	}
	hours := postgres.Hours{First: midday, End: midday.Add(2 * time.Hour)}
	windows := []postgres.ChargedWindow{{SubscriptionUID: first, First: midday}}
	batch(t, db.Pool, hours, []postgres.Charge{charge(0, true), charge(1, false)}, windows)
	before := dump(t, db.Pool)
	elsewhere(t, db.Pool)

	_, deleted := batch(t, db.Pool, hours, nil, windows)
	want := []string{before[0], before[1]} // The open one is that of the other cluster.
	if diff := cmp.Diff(want, dump(t, db.Pool)); diff != "" || deleted != 1 {
		t.Errorf("%d rows were deleted, want 1: -want, +got:\n%s", deleted, diff)
	}
}

// elsewhere gives another cluster a copy of the open row.
func elsewhere(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	const cluster = "elsewhere"
	object := func(uid string) postgres.Object {
		return postgres.Object{Namespace: "red", Name: "copy", UID: uid, Generation: 1, Spec: []byte(`{}`)}
	}
	sold, err := postgres.StoreOfferings(t.Context(), pool, cluster, midday, postgres.Offering{Object: object(second)})
	if err != nil {
		t.Fatal(err)
	}
	bound, err := postgres.StoreSubscriptions(t.Context(), pool, cluster, midday, postgres.Subscription{Object: object(first), OfferingNamespace: "red", OfferingName: "copy"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = pool.Exec(t.Context(), `INSERT INTO subscription_charges (cluster_id, subscription_uid, window_start, window_end, charge_source, amount_micros,
		       quantity, currency, finalized, offering_version_id, subscription_version_id, created_at, updated_at)
		SELECT $1, subscription_uid, window_start, window_end, charge_source, amount_micros, quantity, currency, finalized, $2, $3, created_at, updated_at
		  FROM subscription_charges
		 WHERE NOT finalized`, cluster, sold[0].ID, bound[0].ID)
	if err != nil {
		t.Fatal(err)
	}
}

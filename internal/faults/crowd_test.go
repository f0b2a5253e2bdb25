package faults

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/collection"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
	"github.com/provider-finops/provider-finops/internal/testkit/invariants"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// crowd is how many Subscriptions are looked at all the time.
var crowd = flag.Int("crowd", 150, "Subscriptions in a crowd")

// TestNewcomerInACrowd has the controllers look at a settled crowd as often as
// they may, and subscribes one more. It does not wait until everybody has been
// looked at, nobody else is written for it (provider-kubernetes#32), and all of them
// are mirrored on the few connections of a pool (provider-sql#195).
func TestNewcomerInACrowd(t *testing.T) {
	server, db := apitest.Own(t), pgtest.Database(t)
	pool, err := postgres.Open(t.Context(), postgres.Config{DSN: db.DSN})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	c := &cluster{
		Client: server.Client(t), t: t, server: server, db: pgtest.DB{Pool: pool, DSN: db.DSN}, clock: clocktesting.NewFakePassiveClock(time.Time{}),
	}
	c.ns = apitest.Namespace(t, c.Client)
	c.at("2026-04-01T09:10:00Z")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := c.control(ctx)

	if err := c.Create(t.Context(), offer(c.ns, "suite")); err != nil {
		t.Fatal(err)
	}
	var hands errgroup.Group
	hands.SetLimit(8)
	for n := range *crowd {
		hands.Go(func() error { return c.Create(t.Context(), sub(c.ns, fmt.Sprintf("member-%d", n), "", "suite")) })
	}
	if err := hands.Wait(); err != nil {
		t.Fatal(err)
	}
	settled := map[string]string{}
	apitest.Eventually(t, "a settled crowd", func(ctx context.Context) (err error) {
		settled, err = c.settled(ctx, *crowd)
		return err
	})

	if err := c.Create(t.Context(), sub(c.ns, "newcomer", "", "suite")); err != nil {
		t.Fatal(err)
	}
	apitest.Eventually(t, "the newcomer's activation", func(ctx context.Context) error {
		all, err := c.settled(ctx, *crowd+1)
		delete(all, "newcomer")
		if diff := cmp.Diff(settled, all); err == nil && diff != "" {
			t.Errorf("versions of the others: -before, +after the newcomer:\n%s", diff)
		}
		return err
	})
	// That it is synced is said along with its activation, a moment before it is stored.
	apitest.Eventually(t, "the mirror of everybody", func(ctx context.Context) error {
		var mirrored int
		if err := db.Pool.QueryRow(ctx, "SELECT count(DISTINCT uid) FROM subscriptions WHERE activated_at IS NOT NULL").Scan(&mirrored); err != nil {
			return err
		}
		if mirrored != *crowd+1 {
			return fmt.Errorf("%d Subscriptions are mirrored as active, want %d", mirrored, *crowd+1)
		}
		return nil
	})
	if s := pool.Stat(); s.NewConnsCount() > 10 || s.TotalConns() > 4 {
		t.Errorf("%d connections were made, and there are %d, for %d Subscriptions", s.NewConnsCount(), s.TotalConns(), *crowd+1)
	}
	invariants.Check(t, invariants.World{API: c.Client, DB: db.Pool, Cluster: "default", Aggregation: collection.DefaultAggregation, Rest: 50, Sessions: 4})
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// settled are the versions of so many Subscriptions, all of them active and with
// everything done that there is to do.
func (c *cluster) settled(ctx context.Context, want int) (map[string]string, error) {
	var all v1alpha1.SubscriptionList
	if err := c.List(ctx, &all, client.InNamespace(c.ns)); err != nil {
		return nil, err
	}
	versions := map[string]string{}
	for i := range all.Items {
		s := &all.Items[i]
		if s.Status.ActivatedAt == nil || s.GetCondition(v1alpha1.TypeSynced).Status != "True" {
			return nil, fmt.Errorf("%s has not settled: %+v", s.Name, s.Status)
		}
		versions[s.Name] = s.ResourceVersion
	}
	if len(versions) != want {
		return nil, fmt.Errorf("there are %d", len(versions))
	}
	return versions, nil
}

package faults

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/finops/offering"
	"github.com/provider-finops/provider-finops/internal/controller/finops/subscription"
	"github.com/provider-finops/provider-finops/internal/controller/frame"
	"github.com/provider-finops/provider-finops/internal/controller/mirror"
	"github.com/provider-finops/provider-finops/internal/controller/timeline"
	"github.com/provider-finops/provider-finops/internal/finops/collection"
	"github.com/provider-finops/provider-finops/internal/jobs/charge"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
	"github.com/provider-finops/provider-finops/internal/testkit/invariants"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// cluster is an API server of one's own, a database, and a clock that is set.
type cluster struct {
	client.Client

	t      *testing.T
	server *apitest.Server
	db     pgtest.DB
	ns     string
	clock  *clocktesting.FakePassiveClock
}

// pool is always there.
type pool struct{ open *pgxpool.Pool }

func (p pool) Pool() (*pgxpool.Pool, error) { return p.open, nil }

// control runs the controllers, and returns what ends when they do.
func (c *cluster) control(ctx context.Context) <-chan error {
	c.t.Helper()
	mgr := c.server.Manager(c.t)
	m := mirror.New(pool{c.db.Pool}, "default", c.clock)
	o := frame.Options{Logger: logging.NewNopLogger(), Clock: c.clock, Poll: 200 * time.Millisecond, MaxConcurrentReconciles: 8, Limiter: ratelimiter.NewGlobal(1000)}
	err := errors.Join(mgr.Add(m), offering.Setup(mgr, o, m, offering.Settings{}), subscription.Setup(mgr, o, m, subscription.Settings{}), timeline.Setup(mgr, 20*time.Millisecond)) //nolint:contextcheck // Indexes are made before anything runs.
	if err != nil {
		c.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	return done
}

// charges runs the charge collector for an hour.
func (c *cluster) charges(at string) error {
	c.t.Helper()
	s, err := charge.FromEnvironment(func(name string) string {
		return map[string]string{"POSTGRES_CONNECTION_STRING": c.db.DSN, "SCHEDULED_TIMESTAMP": at}[name]
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return charge.Run(c.t.Context(), s, charge.Dependencies{Client: c.Client, Clock: c.clock, Log: logr.Discard()})
}

// at sets the clock.
func (c *cluster) at(text string) {
	c.t.Helper()
	now, err := time.Parse(time.RFC3339, text)
	if err != nil {
		c.t.Fatal(err)
	}
	c.clock.SetTime(now)
}

// become waits until each Subscription stands as it is to. One that is not there
// is gone.
func (c *cluster) become(what string, want map[string]string) {
	c.t.Helper()
	apitest.Eventually(c.t, what, func(ctx context.Context) error {
		got := map[string]string{}
		for name := range want {
			s := &v1alpha1.Subscription{}
			switch err := c.Get(ctx, client.ObjectKey{Namespace: c.ns, Name: name}, s); {
			case client.IgnoreNotFound(err) != nil:
				return err
			case err != nil:
				got[name] = "gone"
			default:
				got[name] = standsFrom(s)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("-want, +got:\n%s", diff)
		}
		return nil
	})
}

// standsFrom is from when to when one is billed.
func standsFrom(s *v1alpha1.Subscription) string {
	text := ""
	if at := s.Status.ActivatedAt; at != nil {
		text = at.UTC().Format("15:04") + "-"
	}
	if at := s.Status.DeactivatedAt; at != nil {
		text += at.UTC().Format("15:04")
	}
	return text
}

// hour writes what others write in the course of an hour: more than an API server
// does when it starts.
func (c *cluster) hour() {
	c.t.Helper()
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.ns, Name: "others"}}
	if err := c.Create(c.t.Context(), m); err != nil {
		c.t.Fatal(err)
	}
	for n := range 1000 {
		m.Data = map[string]string{"n": strconv.Itoa(n)}
		if err := c.Update(c.t.Context(), m); err != nil {
			c.t.Fatal(err)
		}
	}
}

// TestRestored restores an API server from a copy of an hour ago, under running
// controllers (F8). Versions go back, and so do lives: of those who have begun or
// ended since, the database knows, and what it knows stands. Nobody ends who has
// not, and nothing is charged twice.
func TestRestored(t *testing.T) {
	server := apitest.Own(t)
	c := &cluster{Client: server.Client(t), t: t, server: server, db: pgtest.Database(t), clock: clocktesting.NewFakePassiveClock(time.Time{})}
	c.ns = apitest.Namespace(t, c.Client)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	c.at("2026-04-01T09:10:00Z")
	ended := c.control(ctx)
	fee := func(o *v1alpha1.Offering) *v1alpha1.Offering {
		o.Spec.Pricing.SubscriptionFee = &v1alpha1.SubscriptionFee{TickAlignment: v1alpha1.TickAlignmentHourBoundary, Period: "1", PriceMicros: 40000000}
		return o
	}
	create := func(objects ...client.Object) {
		t.Helper()
		for _, o := range objects {
			if err := c.Create(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
	}
	create(fee(offer(c.ns, "suite")), fee(offer(c.ns, "node")), fee(offer(c.ns, "part", "node")),
		sub(c.ns, "root", "", "suite"), sub(c.ns, "node", "root", "node"), sub(c.ns, "part", "root", "part"), sub(c.ns, "leaver", "root", "suite"),
		sub(c.ns, "waiting", "root", "nothing-yet"))
	c.become("the activations", map[string]string{"root": "09:10-", "node": "09:10-", "part": "09:10-", "leaver": "09:10-", "waiting": ""})
	c.at("2026-04-01T10:05:00Z")
	if err := c.charges("2026-04-01T10:00:00Z"); err != nil {
		t.Fatal(err)
	}

	restore := server.Snapshot()
	c.at("2026-04-01T10:30:00Z")
	create(fee(offer(c.ns, "nothing-yet")), sub(c.ns, "late", "root", "suite"))
	if err := errors.Join(c.Delete(t.Context(), sub(c.ns, "leaver", "", "")), c.Delete(t.Context(), sub(c.ns, "node", "", ""))); err != nil {
		t.Fatal(err)
	}
	c.become("what has happened since", map[string]string{
		"root": "09:10-", "node": "09:10-10:30", "part": "09:10-10:30", "leaver": "09:10-10:30", "waiting": "10:30-", "late": "10:30-",
	})
	c.at("2026-04-01T12:05:00Z")
	apitest.Eventually(t, "a run that lets them go", func(context.Context) error { return c.charges("2026-04-01T12:00:00Z") }) //nolint:contextcheck // A cluster runs under its test's context. By then their ends have been mirrored.
	c.become("the departures", map[string]string{"leaver": "gone", "node": "gone", "part": "09:10-10:30"})
	w := invariants.World{API: c.Client, DB: c.db.Pool, Cluster: "default", Aggregation: collection.DefaultAggregation, Sessions: 4}
	invariants.Check(t, w)
	w.Before = invariants.Remember(t, w)

	c.hour()
	restore()
	select { // Whoever starts them again has them read everything anew.
	case err := <-ended:
		if !errors.Is(err, timeline.ErrWentBack) {
			t.Fatalf("the controllers ended: %v", err)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("the controllers go on as if nothing had happened")
	}
	c.at("2026-04-01T13:05:00Z")
	// Nobody but the database knows yet of what is lost, and that is said.
	if err := c.charges("2026-04-01T13:00:00Z"); err == nil {
		t.Error("a run on lives that the database knows otherwise says that it succeeded")
	}
	ended = c.control(ctx)
	c.become("what has been true before", map[string]string{
		"root": "09:10-", "node": "09:10-10:30", "part": "09:10-10:30", "leaver": "09:10-10:30", "waiting": "10:30-", "late": "gone",
	})
	if err := c.charges("2026-04-01T13:00:00Z"); err != nil {
		t.Errorf("a run after that: %v", err)
	}
	w.Rest = *rest
	found, err := w.Violations(t)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || !strings.HasPrefix(found[0], "I7:") {
		t.Errorf("whoever was created since is gone, and nobody can know whether it has ended. Want that alone, got %q", found)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

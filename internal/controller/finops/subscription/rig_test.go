package subscription_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"github.com/go-logr/logr"
	"github.com/jackc/pgx/v5/pgxpool"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/controller/finops/offering"
	"github.com/provider-finops/provider-finops/internal/controller/finops/subscription"
	"github.com/provider-finops/provider-finops/internal/controller/frame"
	"github.com/provider-finops/provider-finops/internal/controller/mirror"
	"github.com/provider-finops/provider-finops/internal/finops/collection"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
	"github.com/provider-finops/provider-finops/internal/testkit/invariants"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(apitest.Main(m))
}

var noon = time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)

// source is a database that can be taken away.
type source struct {
	mu   sync.Mutex
	pool *pgxpool.Pool
	err  error
}

func (s *source) Pool() (*pgxpool.Pool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pool, s.err
}

func (s *source) away(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

var errAway = errors.New("the database is away")

// rig is an API server with the controllers of Offerings and Subscriptions and
// a database.
type rig struct {
	client.Client

	t      *testing.T
	ns     string
	pool   *pgxpool.Pool
	count  *pgtest.Steps
	source *source
	mirror *mirror.Mirror
	clock  *clocktesting.FakePassiveClock
	writes *apitest.Writes
}

func start(t *testing.T) *rig { t.Helper(); return startWith(t, subscription.Settings{}) }

// startWith is start with some of the choices made.
func startWith(t *testing.T, settings subscription.Settings) *rig {
	t.Helper()
	mgr, writes := apitest.Manager(t)
	return startOn(t, mgr, writes, settings)
}

func startOn(t *testing.T, mgr ctrl.Manager, writes *apitest.Writes, settings subscription.Settings) *rig {
	t.Helper()
	return startBeside(t, mgr, writes, settings, pgtest.Database(t).DSN)
}

// startBeside is startOn with a database.
func startBeside(t *testing.T, mgr ctrl.Manager, writes *apitest.Writes, settings subscription.Settings, dsn string) *rig {
	t.Helper()
	count := &pgtest.Steps{}
	pool, err := postgres.NewPool(t.Context(), postgres.Config{DSN: dsn, Tracer: count})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	r := &rig{
		t: t, pool: pool, count: count, source: &source{pool: pool}, writes: writes, clock: clocktesting.NewFakePassiveClock(noon),
	}
	m := mirror.New(r.source, "default", r.clock)
	r.mirror = m
	if err := mgr.Add(m); err != nil { // It notices when the database is back.
		t.Fatal(err)
	}
	o := frame.Options{
		Logger: logging.NewNopLogger(), Clock: r.clock, Poll: 200 * time.Millisecond, MaxConcurrentReconciles: 4, Limiter: ratelimiter.NewGlobal(1000),
	}
	if err := offering.Setup(mgr, o, m, offering.Settings{}); err != nil {
		t.Fatal(err)
	}
	if err := subscription.Setup(mgr, o, m, settings); err != nil {
		t.Fatal(err)
	}
	r.Client = apitest.Client(t)
	r.ns = apitest.Namespace(t, r.Client)
	t.Cleanup(r.clear)
	apitest.Run(t, mgr)
	return r
}

// clear removes what a test leaves behind, after its manager has stopped: the
// next test's would find it.
func (r *rig) clear() {
	ctx := context.Background()
	subscriptions, offerings := &v1alpha1.SubscriptionList{}, &v1alpha1.OfferingList{}
	for _, list := range []client.ObjectList{subscriptions, offerings} {
		if err := r.List(ctx, list, client.InNamespace(r.ns)); err != nil {
			r.t.Error(err)
		}
	}
	left := make([]client.Object, 0, len(subscriptions.Items)+len(offerings.Items))
	for i := range subscriptions.Items {
		left = append(left, &subscriptions.Items[i])
	}
	for i := range offerings.Items {
		left = append(left, &offerings.Items[i])
	}
	for _, o := range left {
		if err := r.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); client.IgnoreNotFound(err) != nil {
			r.t.Error(err)
		}
		if err := r.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
			r.t.Error(err)
		}
	}
}

// holds checks everything that has to hold after a fault.
func (r *rig) holds(dsn string) {
	r.t.Helper()
	pool, err := postgres.NewPool(r.t.Context(), postgres.Config{DSN: dsn, Application: "pgtest"})
	if err != nil {
		r.t.Fatal(err)
	}
	defer pool.Close()
	invariants.Check(r.t, invariants.World{
		API: r.Client, DB: pool, Cluster: "default", Aggregation: collection.DefaultAggregation, Rest: 50, Sessions: int(pool.Config().MaxConns),
	})
}

// letGo deletes a Subscription and lets it go, as the charge collector does.
func (r *rig) letGo(s *v1alpha1.Subscription) {
	r.t.Helper()
	ctx := r.t.Context()
	if err := r.Patch(ctx, s, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); client.IgnoreNotFound(err) != nil {
		r.t.Fatal(err)
	}
	if err := r.Delete(ctx, s); client.IgnoreNotFound(err) != nil {
		r.t.Fatal(err)
	}
}

// written are the writes to a Subscription since they were last asked for.
func (r *rig) written(s *v1alpha1.Subscription) []string {
	path := "/namespaces/" + s.Namespace + "/subscriptions/" + s.Name
	return slices.DeleteFunc(r.writes.Take(), func(w string) bool { return !strings.Contains(w+"/", path+"/") })
}

func (r *rig) ref(name string) v1alpha1.ObjectReference {
	return v1alpha1.ObjectReference{Namespace: r.ns, Name: name}
}

// offer creates an Offering and waits until it can be sold.
func (r *rig) offer(name string, with ...func(*v1alpha1.OfferingSpec)) *v1alpha1.Offering {
	r.t.Helper()
	o := &v1alpha1.Offering{ObjectMeta: metav1.ObjectMeta{Namespace: r.ns, Name: name}}
	for _, f := range with {
		f(&o.Spec)
	}
	if err := r.Create(r.t.Context(), o); err != nil {
		r.t.Fatal(err)
	}
	apitest.Eventually(r.t, "a ready Offering "+name, func(ctx context.Context) error {
		if err := r.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		if o.Status.Ready != metav1.ConditionTrue {
			return fmt.Errorf("it is %q", o.Status.Ready)
		}
		return nil
	})
	return o
}

func (r *rig) requiring(names ...string) func(*v1alpha1.OfferingSpec) {
	return func(s *v1alpha1.OfferingSpec) {
		s.Compatibility = &v1alpha1.Compatibility{}
		for _, n := range names {
			s.Compatibility.RequiredOfferings = append(s.Compatibility.RequiredOfferings, r.ref(n))
		}
	}
}

// subscribe creates a Subscription. An empty parent is none.
func (r *rig) subscribe(name, parent, offering string, with ...func(*v1alpha1.Subscription)) *v1alpha1.Subscription {
	r.t.Helper()
	s := &v1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.ns, Name: name},
		Spec:       v1alpha1.SubscriptionSpec{OfferingRef: r.ref(offering)},
	}
	if parent != "" {
		s.Spec.Parent = &v1alpha1.SubscriptionParent{SubscriptionRef: r.ref(parent)}
	}
	for _, f := range with {
		f(s)
	}
	if err := r.Create(r.t.Context(), s); err != nil {
		r.t.Fatal(err)
	}
	return s
}

func orphan(s *v1alpha1.Subscription) {
	s.Spec.Lifecycle = &v1alpha1.SubscriptionLifecycle{OnParentDeactivate: v1alpha1.ParentDeactivateActionOrphan}
}

func target(apiVersion, kind, ns, name string) func(*v1alpha1.Subscription) {
	return func(s *v1alpha1.Subscription) {
		s.Spec.Lifecycle = &v1alpha1.SubscriptionLifecycle{
			TargetRef: &v1alpha1.TargetReference{APIVersion: apiVersion, Kind: kind, Namespace: ns, Name: name},
		}
	}
}

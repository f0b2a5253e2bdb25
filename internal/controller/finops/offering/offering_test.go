package offering_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5/pgxpool"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/controller/finops/index"
	"github.com/provider-finops/provider-finops/internal/controller/finops/offering"
	"github.com/provider-finops/provider-finops/internal/controller/frame"
	"github.com/provider-finops/provider-finops/internal/controller/mirror"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(apitest.Main(m))
}

var noon = time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)

// source is the database of a test.
type source struct{ pool *pgxpool.Pool }

func (s source) Pool() (*pgxpool.Pool, error) { return s.pool, nil }

// rig is an API server with the controller of Offerings and a database.
type rig struct {
	client.Client

	t      *testing.T
	ns     string
	pool   *pgxpool.Pool
	count  *pgtest.Steps
	writes *apitest.Writes
}

func start(t *testing.T) *rig {
	t.Helper()
	mgr, writes := apitest.Manager(t)
	if err := index.AddSubscriptions(t.Context(), index.Cluster(mgr.GetCache())); err != nil {
		t.Fatal(err)
	}
	count := &pgtest.Steps{}
	pool, err := postgres.NewPool(t.Context(), postgres.Config{DSN: pgtest.Database(t).DSN, Tracer: count})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	clk := clocktesting.NewFakePassiveClock(noon)
	o := frame.Options{
		Logger: logging.NewNopLogger(), Clock: clk, Poll: 200 * time.Millisecond, MaxConcurrentReconciles: 4, Limiter: ratelimiter.NewGlobal(1000),
	}
	if err := offering.Setup(mgr, o, mirror.New(source{pool}, "default", clk), offering.Settings{}); err != nil {
		t.Fatal(err)
	}
	apitest.Run(t, mgr)

	c := apitest.Client(t)
	return &rig{Client: c, t: t, ns: apitest.Namespace(t, c), pool: pool, count: count, writes: writes}
}

func (r *rig) create(name string, spec v1alpha1.OfferingSpec) *v1alpha1.Offering {
	r.t.Helper()
	o := &v1alpha1.Offering{ObjectMeta: metav1.ObjectMeta{Namespace: r.ns, Name: name}, Spec: spec}
	if err := r.Create(r.t.Context(), o); err != nil {
		r.t.Fatal(err)
	}
	return o
}

// activeBook is a PriceBook that holds the slot. It leaves it when the test
// ends: a cluster has only one.
func (r *rig) activeBook(cpu string) *v1alpha1.PriceBook {
	r.t.Helper()
	b := &v1alpha1.PriceBook{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.ns, Name: "tariff"},
		Spec:       v1alpha1.PriceBookSpec{Currency: "EUR", ValuationMode: "currency", Rates: &v1alpha1.PriceRates{CPUHour: cpu}},
	}
	if err := r.Create(r.t.Context(), b); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if err := r.Delete(context.Background(), b); err != nil {
			r.t.Error(err)
		}
	})
	b.Status.Active = true
	if err := r.Status().Update(r.t.Context(), b); err != nil {
		r.t.Fatal(err)
	}
	return b
}

// condition is the part of a condition that a user reads.
type condition struct{ Status, Reason, Message string }

func conditions(o *v1alpha1.Offering) map[string]condition {
	got := map[string]condition{}
	for _, c := range o.Status.Conditions {
		got[c.Type] = condition{string(c.Status), c.Reason, c.Message}
	}
	return got
}

// becomes waits until the conditions named in want are as wanted.
func (r *rig) becomes(o *v1alpha1.Offering, want map[string]condition) {
	r.t.Helper()
	apitest.Eventually(r.t, "the wanted conditions of "+o.Name, func(ctx context.Context) error {
		if err := r.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		got := conditions(o)
		for t := range got {
			if _, ok := want[t]; !ok {
				delete(got, t)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("-want +got:\n%s", diff)
		}
		return nil
	})
}

const (
	isReady  = "the Offering can be subscribed to"
	noPrices = "resolved without a pricebook"
)

var ready = map[string]condition{
	"Ready":           {"True", "ValidationSucceeded", isReady},
	"PricingResolved": {"True", "PricingResolved", noPrices},
	"Synced":          {"True", "ReconcileSuccess", ""},
}

func both(reason, message string) map[string]condition {
	return map[string]condition{"Ready": {"False", reason, message}, "PricingResolved": {"False", reason, message}}
}

func requires(r *rig, names ...string) v1alpha1.OfferingSpec {
	c := &v1alpha1.Compatibility{}
	for _, n := range names {
		c.RequiredOfferings = append(c.RequiredOfferings, v1alpha1.ObjectReference{Namespace: r.ns, Name: n})
	}
	return v1alpha1.OfferingSpec{Compatibility: c}
}

type row struct {
	UID     string
	Hash    string
	Deleted bool
	Priced  bool
}

func (r *rig) rows(ctx context.Context, o *v1alpha1.Offering) []row {
	r.t.Helper()
	rows, err := r.pool.Query(ctx, `SELECT uid::text, content_hash, deleted_at IS NOT NULL, resolved_pricing IS NOT NULL
		FROM offerings WHERE uid = $1::text::uuid ORDER BY id`, string(o.UID))
	if err != nil {
		r.t.Fatal(err)
	}
	defer rows.Close()
	var all []row
	for rows.Next() {
		var one row
		if err := rows.Scan(&one.UID, &one.Hash, &one.Deleted, &one.Priced); err != nil {
			r.t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}

// TestFeeOnly follows an Offering from its creation: it costs three writes and
// one row, and nothing any more once it is settled.
func TestFeeOnly(t *testing.T) {
	r := start(t)
	two := int32(2)
	o := r.create("small-db", v1alpha1.OfferingSpec{Pricing: v1alpha1.Pricing{SubscriptionFee: &v1alpha1.SubscriptionFee{
		TickAlignment: v1alpha1.TickAlignmentMonthBoundary, Period: "01", PriceMicros: 19000000, MinPeriods: &two,
	}}})
	r.becomes(o, ready)

	want := &v1alpha1.ResolvedPricing{
		ResolvedAt: metav1.NewTime(noon),
		Meters:     []v1alpha1.ResolvedMeter{},
		SubscriptionFee: &v1alpha1.SubscriptionFee{
			TickAlignment: v1alpha1.TickAlignmentMonthBoundary, Period: "1mo", PriceMicros: 19000000, MinPeriods: &two,
		},
	}
	if diff := cmp.Diff(want, o.Status.ResolvedPricing, cmpopts.EquateApproxTime(0)); diff != "" {
		t.Errorf("The fee is published with its unit.\n-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{v1alpha1.OfferingFinalizer}, o.Finalizers); diff != "" {
		t.Errorf("Exactly the documented finalizer.\n-want +got:\n%s", diff)
	}
	if o.Status.Ready != metav1.ConditionTrue || len(o.Annotations) > 0 {
		t.Errorf("status.ready is %q, annotations are %v", o.Status.Ready, o.Annotations)
	}
	if rows := r.rows(t.Context(), o); len(rows) != 1 || !rows[0].Priced {
		t.Errorf("There is one version, with its price, got %v", rows)
	}

	path := "/apis/finops.stakater.com/v1alpha1/namespaces/" + r.ns + "/offerings/small-db"
	if diff := cmp.Diff([]string{"PATCH " + path, "PUT " + path + "/status", "PUT " + path + "/status"}, r.writes.Take()); diff != "" {
		t.Errorf("Finalizer, decision, Synced.\n-want +got:\n%s", diff)
	}

	// Several resyncs later.
	before := r.count.Count()
	passes := apitest.ByController(t, apitest.Reconciles)[offering.Name]
	apitest.Eventually(t, "five more reconciles", func(context.Context) error {
		if n := apitest.ByController(t, apitest.Reconciles)[offering.Name] - passes; n < 5 {
			return fmt.Errorf("%v so far", n)
		}
		return nil
	})
	if w := r.writes.Take(); len(w) > 0 {
		t.Errorf("A settled Offering is written: %v", w)
	}
	if n := r.count.Count() - before; n > 0 {
		t.Errorf("A settled Offering costs %d statements", n)
	}
}

func TestMetered(t *testing.T) {
	r := start(t)
	more := int64(1250)
	o := r.create("metered", v1alpha1.OfferingSpec{Pricing: v1alpha1.Pricing{ResourcePricing: []v1alpha1.Meter{
		{Name: v1alpha1.MeterCPUHour, Margins: &v1alpha1.Margins{FactorMilli: &more}},
	}}})
	r.becomes(o, both("NoActivePricebook", fmt.Sprintf("offering %s/metered: no active pricebook to resolve metered pricing", r.ns)))
	apitest.Eventually(t, "a version without a price", func(ctx context.Context) error {
		if rows := r.rows(ctx, o); len(rows) != 1 || rows[0].Priced {
			return fmt.Errorf("got %v", rows)
		}
		return nil
	})

	// The event of the book is enough (BETTER-OFF-1).
	book := r.activeBook("0.025")
	origin := fmt.Sprintf("resolved from pricebook %s/tariff generation 1", r.ns)
	r.becomes(o, map[string]condition{
		"Ready":           {"True", "ValidationSucceeded", isReady},
		"PricingResolved": {"True", "PricingResolved", origin},
	})
	want := []v1alpha1.ResolvedMeter{{Name: v1alpha1.MeterCPUHour, UnitPriceMicros: 31250}}
	if diff := cmp.Diff(want, o.Status.ResolvedPricing.Meters); diff != "" {
		t.Errorf("The rate with its margin is published.\n-want +got:\n%s", diff)
	}

	// A price is published once; that the book has moved on is only said.
	book.Spec.Rates.CPUHour = "0.03"
	if err := r.Update(t.Context(), book); err != nil {
		t.Fatal(err)
	}
	r.becomes(o, map[string]condition{"PricingResolved": {"True", "PricingResolved", origin + " (charges now use newer rates)"}})
	if diff := cmp.Diff(want, o.Status.ResolvedPricing.Meters); diff != "" {
		t.Errorf("A published price moved.\n-want +got:\n%s", diff)
	}
	apitest.Eventually(t, "a second version", func(ctx context.Context) error {
		if rows := r.rows(ctx, o); len(rows) != 2 || !rows[1].Priced {
			return fmt.Errorf("got %v", rows)
		}
		return nil
	})
}

func TestRequirements(t *testing.T) {
	r := start(t)
	disk := r.create("disk", requires(r, "vm"))
	r.becomes(disk, both("RequiredOfferingNotFound", fmt.Sprintf("required offering %s/vm does not exist", r.ns)))

	// Whatever order a set is applied in, it becomes ready.
	vm := r.create("vm", requires(r, "host"))
	r.becomes(disk, both("RequiredOfferingNotReady", fmt.Sprintf("required offering %s/vm is not ready", r.ns)))
	host := r.create("host", v1alpha1.OfferingSpec{})
	for _, o := range []*v1alpha1.Offering{host, vm, disk} {
		r.becomes(o, ready)
	}

	// A cycle is the cause on each of its members.
	a, b := r.create("a", requires(r, "b")), r.create("b", requires(r, "a"))
	r.becomes(a, both("CircularDependencyDetected", fmt.Sprintf("circular dependency: %[1]s/a -> %[1]s/b -> %[1]s/a", r.ns)))
	r.becomes(b, both("CircularDependencyDetected", fmt.Sprintf("circular dependency: %[1]s/b -> %[1]s/a -> %[1]s/b", r.ns)))
}

func TestDeletion(t *testing.T) {
	r := start(t)
	vm := r.create("vm", v1alpha1.OfferingSpec{})
	disk := r.create("disk", requires(r, "vm"))
	r.becomes(vm, ready)
	r.becomes(disk, ready)
	sub := &v1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.ns, Name: "sub"},
		Spec:       v1alpha1.SubscriptionSpec{OfferingRef: v1alpha1.ObjectReference{Namespace: r.ns, Name: "vm"}},
	}
	if err := r.Create(t.Context(), sub); err != nil {
		t.Fatal(err)
	}

	// Both kinds of dependents hold it, Subscriptions first.
	if err := r.Delete(t.Context(), vm); err != nil {
		t.Fatal(err)
	}
	bySubscription := fmt.Sprintf("offering %[1]s/vm is still referenced by subscriptions %[1]s/sub", r.ns)
	r.becomes(vm, map[string]condition{
		"Deleting": {"False", "DependentSubscriptionsExist", bySubscription},
		"Synced":   {"False", "ReconcileError", "delete failed: " + bySubscription},
	})
	if err := r.Delete(t.Context(), sub); err != nil {
		t.Fatal(err)
	}
	r.becomes(vm, map[string]condition{
		"Deleting": {"False", "DependentOfferingsExist", fmt.Sprintf("offering %[1]s/vm is still required by dependent resources %[1]s/disk", r.ns)},
	})

	// One that is itself being deleted holds nobody.
	if err := r.Delete(t.Context(), disk); err != nil {
		t.Fatal(err)
	}
	for _, o := range []*v1alpha1.Offering{disk, vm} {
		apitest.Eventually(t, "the end of "+o.Name, func(ctx context.Context) error {
			err := r.Get(ctx, client.ObjectKeyFromObject(o), &v1alpha1.Offering{})
			if !kerrors.IsNotFound(err) {
				return errors.Join(errors.New("it is still there"), err)
			}
			return nil
		})
		if rows := r.rows(t.Context(), o); len(rows) == 0 || !rows[len(rows)-1].Deleted {
			t.Errorf("The newest row of %s says that it is gone, got %v", o.Name, rows)
		}
	}
}

// TestForeignFinalizer checks that what a deleted Offering has to say is said
// although the runtime calls nothing but Observe while somebody else's
// finalizer is there.
func TestForeignFinalizer(t *testing.T) {
	r := start(t)
	o := r.create("vm", v1alpha1.OfferingSpec{})
	r.becomes(o, ready)
	o.Finalizers = append(o.Finalizers, "example.org/held")
	if err := r.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if err := r.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	r.becomes(o, map[string]condition{"Deleting": {"True", "DeletionAllowed", "nothing depends on the Offering any more"}})
	if !strings.Contains(strings.Join(o.Finalizers, " "), v1alpha1.OfferingFinalizer) {
		t.Errorf("Our finalizer went before the other: %v", o.Finalizers)
	}
	if meta.IsStatusConditionFalse(o.Status.Conditions, v1alpha1.TypeReady) {
		t.Errorf("The runtime's mark of a deletion stands on Ready: %v", conditions(o))
	}
}

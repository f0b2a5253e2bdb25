package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	openCostClient "github.com/provider-finops/provider-finops/internal/clients/opencost"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/controller/finops/costjob"
	"github.com/provider-finops/provider-finops/internal/controller/frame"
	"github.com/provider-finops/provider-finops/internal/controller/opencost"
	"github.com/provider-finops/provider-finops/internal/jobs/allocation"
	"github.com/provider-finops/provider-finops/internal/jobs/charge"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// A shop is everything that a price passes: all controllers on an API server, a
// database, an OpenCost in which one pod uses two cores all the time, and one
// clock for all of them.
type shop struct {
	*testing.T

	api      client.Client
	ns       string
	db       pgtest.DB
	openCost *httptest.Server
	clock    *clocktesting.FakePassiveClock
}

func openShop(t *testing.T, opens time.Time) *shop {
	t.Helper()
	s := &shop{T: t, api: apitest.Client(t), db: pgtest.Database(t), clock: clocktesting.NewFakePassiveClock(opens)}
	s.clear()
	t.Cleanup(s.clear)
	s.ns = apitest.Namespace(t, s.api)
	s.openCost = httptest.NewServer(http.HandlerFunc(twoCores))
	t.Cleanup(s.openCost.Close)

	mgr, _ := apitest.Manager(t)
	o := frame.Options{Logger: logging.NewNopLogger(), Clock: s.clock, Poll: time.Hour, MaxConcurrentReconciles: 4, Limiter: ratelimiter.NewGlobal(1000)}
	err := Setup(mgr, o, Settings{
		OpenCost: opencost.Installation{Namespace: s.ns, Deployment: "opencost"},
		CostJob:  costjob.Settings{Image: "provider-finops:v1", PostgresDSN: "postgres://db", OpenCostURL: s.openCost.URL, ClusterID: "default"},
	})
	if err != nil {
		t.Fatal(err)
	}
	apitest.Run(t, mgr)
	s.create(deployment(s.ns))

	return s
}

// clear removes what other tests have left on the server: there is one election,
// and a charge run looks at all Subscriptions.
func (s *shop) clear() {
	s.Helper()
	ctx := context.Background() // Also when the test is over.
	for _, kind := range []client.ObjectList{&v1alpha1.SubscriptionList{}, &v1alpha1.OfferingList{}, &v1alpha1.PriceBookList{}} {
		if err := s.api.List(ctx, kind); err != nil {
			s.Fatal(err)
		}
		err := meta.EachListItem(kind, func(o runtime.Object) error {
			obj, ok := o.(client.Object)
			if !ok {
				return fmt.Errorf("cannot delete %T", o)
			}
			free := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
			return errors.Join(s.api.Patch(ctx, obj, free), client.IgnoreNotFound(s.api.Delete(ctx, obj)))
		})
		if err != nil {
			s.Fatal(err)
		}
	}
}

func twoCores(w http.ResponseWriter, r *http.Request) {
	from, to, _ := strings.Cut(r.URL.Query().Get("window"), ",")
	_, _ = fmt.Fprintf(w, `{"code":200,"status":"success","data":[{"app/web-1/app":{"name":"app/web-1/app",`+
		`"properties":{"controller":"web","controllerKind":"deployment"},"window":{"start":%[1]q,"end":%[2]q},"start":%[1]q,"end":%[2]q,`+
		`"minutes":60,"cpuCoreUsageAverage":2,"ramByteUsageAverage":1}}]}`, from, to)
}

func (s *shop) create(obj client.Object) {
	s.Helper()
	if err := s.api.Create(s.Context(), obj); err != nil {
		s.Fatal(err)
	}
}

// sell creates an Offering: usage of CPU, for 5000 micros more than the book.
func (s *shop) sell(name string) *v1alpha1.Offering {
	s.Helper()
	o := &v1alpha1.Offering{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: name},
		Spec: v1alpha1.OfferingSpec{Pricing: v1alpha1.Pricing{ResourcePricing: []v1alpha1.Meter{{
			Name: v1alpha1.MeterCPUHour, Margins: &v1alpha1.Margins{AbsoluteMicros: new(int64(5000))},
		}}}},
	}
	s.create(o)

	return o
}

// publishes waits until an Offering publishes this unit price, with these words.
func (s *shop) publishes(o *v1alpha1.Offering, micros int64, message string) {
	s.Helper()
	apitest.Eventually(s.T, "the price of "+o.Name, func(ctx context.Context) error {
		if err := s.api.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		c := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.TypePricingResolved)
		if o.Status.ResolvedPricing == nil || c == nil {
			return fmt.Errorf("there is none yet: %+v", c)
		}
		if got := o.Status.ResolvedPricing.Meters[0].UnitPriceMicros; got != micros {
			s.Fatalf("%s: want a published price of %d, got %d", o.Name, micros, got)
		}
		if c.Message != message {
			return fmt.Errorf("want %q, got %q", message, c.Message)
		}
		return nil
	})
}

// collect runs both collectors for an hour, as their schedules do.
func (s *shop) collect(at time.Time) {
	s.Helper()
	s.clock.SetTime(at.Add(5 * time.Second))
	getenv := func(name string) string {
		return map[string]string{
			"POSTGRES_CONNECTION_STRING": s.db.DSN, "OPENCOST_CONNECTION_STRING": s.openCost.URL,
			"COSTJOB_NAMESPACE": s.ns, "COSTJOB_NAME": "hourly", "SCHEDULED_TIMESTAMP": at.Format(time.RFC3339), "HOURS_LOOKBACK": "1",
		}[name]
	}
	measuring, err := allocation.FromEnvironment(getenv)
	if err != nil {
		s.Fatal(err)
	}
	source, err := openCostClient.New(measuring.OpenCostURL, openCostClient.Options{Timeout: measuring.Timeouts.HTTPClient})
	if err != nil {
		s.Fatal(err)
	}
	job := &allocation.Job{
		Settings: measuring, Clock: s.clock, Log: testr.New(s.T), Source: source, Kube: s.api,
		Connect: func(ctx context.Context) (*pgxpool.Pool, error) {
			return postgres.Open(ctx, postgres.Config{DSN: s.db.DSN, Application: "pgtest"})
		},
	}
	if err := job.Run(s.Context()); err != nil {
		s.Fatalf("measuring at %s: %v", at, err)
	}

	charging, err := charge.FromEnvironment(getenv)
	if err != nil {
		s.Fatal(err)
	}
	if err := charge.Run(s.Context(), charging, charge.Dependencies{Client: s.api, Clock: s.clock, Log: testr.New(s.T)}); err != nil {
		s.Fatalf("charging at %s: %v", at, err)
	}
}

// charges are what is owed, hour by hour; a ~ marks what is not final.
func (s *shop) charges() []string {
	s.Helper()
	rows, err := s.db.Pool.Query(s.Context(), `
		SELECT to_char(window_start AT TIME ZONE 'UTC', 'HH24:MI') || ' ' || amount_micros || CASE WHEN finalized THEN '' ELSE ' ~' END
		  FROM subscription_charges
		 ORDER BY window_start`)
	if err != nil {
		s.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		s.Fatal(err)
	}

	return lines
}

// TestRepricing follows an edit of a rate through everything that a price passes
// (part 20.9): the hours that are not final are charged by the new rate, those
// that are stay as they are, and so does what an Offering has published; it says
// that it is no longer what is charged (BETTER-OFF-3).
func TestRepricing(t *testing.T) {
	eight := time.Date(2026, 4, 1, 8, 0, 0, 0, time.UTC)
	s := openShop(t, eight)
	book := &v1alpha1.PriceBook{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "tariff"},
		Spec: v1alpha1.PriceBookSpec{
			Currency: "EUR", ValuationMode: v1alpha1.ValuationModeCurrency, Rates: &v1alpha1.PriceRates{CPUHour: "0.030"},
		},
	}
	s.create(book)
	s.create(&v1alpha1.CostJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "hourly"},
		Spec:       v1alpha1.CostJobSpec{Type: v1alpha1.CostJobTypeResourceCostCollection, Interval: metav1.Duration{Duration: time.Hour}},
	})
	resolved := "resolved from pricebook " + s.ns + "/tariff generation "
	sold := s.sell("sold-before")
	s.publishes(sold, 35000, resolved+"1")
	bound := &v1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "blue"},
		Spec: v1alpha1.SubscriptionSpec{
			OfferingRef:  v1alpha1.ObjectReference{Namespace: s.ns, Name: sold.Name},
			UsageSources: []v1alpha1.UsageSource{{Namespace: "app", ResourceType: "Deployment", Name: "web"}},
		},
	}
	s.create(bound)
	apitest.Eventually(t, "the activation", func(ctx context.Context) error {
		if err := s.api.Get(ctx, client.ObjectKeyFromObject(bound), bound); err != nil {
			return err
		}
		if bound.Status.ActivatedAt == nil {
			return fmt.Errorf("not yet")
		}
		return nil
	})

	s.collect(eight.Add(time.Hour))
	// Two core hours at 35000 micros; the hour that has just begun is open.
	if diff := cmp.Diff([]string{"08:00 70000", "09:00 70000 ~"}, s.charges()); diff != "" {
		t.Errorf("before the edit: -want, +got:\n%s", diff)
	}

	edit := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"rates":{"cpuHour":"0.040"}}}`))
	if err := s.api.Patch(t.Context(), book, edit); err != nil {
		t.Fatal(err)
	}
	s.publishes(sold, 35000, resolved+"1 (charges now use newer rates)")
	s.publishes(s.sell("sold-after"), 45000, resolved+"2")

	s.collect(eight.Add(2 * time.Hour))
	if diff := cmp.Diff([]string{"08:00 70000", "09:00 90000", "10:00 90000 ~"}, s.charges()); diff != "" {
		t.Errorf("after the edit: -want, +got:\n%s", diff)
	}
	s.collect(eight.Add(2 * time.Hour)) // Once more: history stands.
	s.collect(eight.Add(3 * time.Hour))
	if diff := cmp.Diff([]string{"08:00 70000", "09:00 90000", "10:00 90000", "11:00 90000 ~"}, s.charges()); diff != "" {
		t.Errorf("an hour later: -want, +got:\n%s", diff)
	}

	// The old rate again: what is published is what is charged.
	edit = client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"rates":{"cpuHour":"0.03"}}}`))
	if err := s.api.Patch(t.Context(), book, edit); err != nil {
		t.Fatal(err)
	}
	s.publishes(sold, 35000, resolved+"1")
}

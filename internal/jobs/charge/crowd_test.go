package charge_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/collection"
	"github.com/provider-finops/provider-finops/internal/jobs/charge"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// A crowd is an API server with any number of Subscriptions, made up page by
// page when they are listed, for tests that are about numbers.
type crowd struct {
	size      int
	make      func(n int) v1alpha1.Subscription
	offerings []v1alpha1.Offering
	applied   atomic.Int64
}

func (c *crowd) client() client.Client {
	base := fake.NewClientBuilder().WithScheme(apitest.Scheme()).Build()
	return interceptor.NewClient(base, interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			switch l := list.(type) {
			case *v1alpha1.SubscriptionList:
				options := (&client.ListOptions{}).ApplyOptions(opts)
				from, _ := strconv.Atoi(options.Continue)
				to := min(from+int(options.Limit), c.size)
				for n := from; n < to; n++ {
					l.Items = append(l.Items, c.make(n))
				}
				if to < c.size {
					l.Continue = strconv.Itoa(to)
				}
			case *v1alpha1.OfferingList:
				l.Items = slices.Clone(c.offerings)
			}
			return nil
		},
		SubResourceApply: func(context.Context, client.Client, string, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
			c.applied.Add(1)
			return nil
		},
	})
}

func (c *crowd) offering(name string, spec v1alpha1.OfferingSpec) {
	c.offerings = append(c.offerings, v1alpha1.Offering{
		ObjectMeta: metav1.ObjectMeta{Namespace: "catalogue", Name: name, UID: types.UID(uuid.NewString())}, Spec: spec,
	})
}

// member is the n-th Subscription of a crowd. Its uid depends on n alone.
func member(n int, offering string, activated time.Time, sources ...v1alpha1.UsageSource) v1alpha1.Subscription {
	return v1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "crowd", Name: fmt.Sprintf("member-%d", n), UID: types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", n)),
			ResourceVersion: "1", Generation: 1, Finalizers: []string{v1alpha1.SubscriptionFinalizer},
		},
		Spec: v1alpha1.SubscriptionSpec{
			OfferingRef:  v1alpha1.ObjectReference{Namespace: "catalogue", Name: offering},
			UsageSources: sources,
		},
		Status: v1alpha1.SubscriptionStatus{ActivatedAt: new(metav1.NewTime(activated))},
	}
}

func crowdSettings(dsn string) charge.Settings {
	return charge.Settings{
		Database:                   postgres.Config{DSN: dsn},
		ClusterID:                  "crowd",
		Aggregation:                aggregation,
		Limits:                     collection.Limits{LookbackHours: 2, BackfillHours: 72, ConfirmAfter: 3 * time.Hour},
		MaxAmount:                  1_000_000_000_000_000,
		DatabaseInitTimeout:        2 * time.Minute,
		KubernetesOperationTimeout: 2 * time.Minute,
		StatusUpdateTimeout:        2 * time.Minute,
	}
}

// TestStatementsDoNotGrow counts the statements of a first run over a day and of
// the hourly one after it, with 10 Subscriptions and with 1000 (design R7, P5).
func TestStatementsDoNotGrow(t *testing.T) {
	counts := map[int][2]int{}
	for _, size := range []int{10, 1000} {
		db := pgtest.Database(t)
		c := &crowd{size: size, make: func(n int) v1alpha1.Subscription {
			return member(n, "both", at("2026-03-05T00:10:00Z"), v1alpha1.UsageSource{Namespace: fmt.Sprintf("ns-%d", n)})
		}}
		c.offering("both", withMeters(fee(v1alpha1.TickAlignmentHourBoundary, "1", 1000), v1alpha1.MeterCPUHour, v1alpha1.MeterRAMGbHour))
		plantCrowd(t, db, size, at("2026-03-05T00:00:00Z"), 25)

		settings := crowdSettings(db.DSN)
		counter := &pgtest.Steps{}
		settings.Database.Tracer = counter
		s := &stage{T: t}
		var got [2]int
		for i, hourText := range []string{"2026-03-06T00:00:00Z", "2026-03-06T01:00:00Z"} {
			settings.Hint.Scheduled = hourText
			before := counter.Count()
			s.must(s.runOn(c.client(), settings, at(hourText)))
			got[i] = counter.Count() - before
		}
		counts[size] = got

		var rows int
		s.must(db.Pool.QueryRow(t.Context(), "SELECT count(*) FROM subscription_charges").Scan(&rows))
		if want := size * (26 + 2*25); rows != want {
			t.Errorf("A fee for 26 hours and two meters for the 25 that were measured, %d times: want %d rows, got %d", size, want, rows)
		}
		if c.applied.Load() != int64(2*size) {
			t.Errorf("Statuses of %d Subscriptions in two runs: got %d writes", size, c.applied.Load())
		}
	}
	t.Logf("statements of the first and the hourly run: %v", counts)
	if diff := cmp.Diff(counts[10], counts[1000]); diff != "" {
		t.Errorf("The number of statements does not depend on that of Subscriptions: -10, +1000:\n%s", diff)
	}
	const allowed = 30 + 5*2 // The hour that has closed and the one in progress.
	if hourly := counts[1000][1]; hourly > allowed {
		t.Errorf("An hourly run takes at most %d statements, got %d", allowed, hourly)
	}
}

// plantCrowd measures one pod in the namespace of each member, hour by hour.
func plantCrowd(t testing.TB, db pgtest.DB, size int, first time.Time, hours int) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatalf("cannot plant a crowd: %v", err)
		}
	}
	last := first.Add(time.Duration(hours-1) * time.Hour)
	_, err := postgres.EnsureMonths(t.Context(), db.Pool, first, last.Add(2*time.Hour))
	must(err)
	_, err = db.Pool.Exec(t.Context(), `
		INSERT INTO pricebooks (cluster_id, namespace, name, uid, generation, currency, content_hash, cpu_hour_micros, ram_gb_hour_micros)
		VALUES ('crowd', 'finops', 'tariff', gen_random_uuid(), 1, 'EUR', 'planted', 20000, 4000)`)
	must(err)
	_, err = db.Pool.Exec(t.Context(), `
		INSERT INTO provider_allocations (cluster_id, aggregation, hour, namespace, name, pod, controller, controller_kind, alloc_start,
		       alloc_end, collected_at, is_finalized, cpu_core_usage_avg, ram_bytes_usage_avg, pricebook_id, currency)
		SELECT 'crowd', $1, h, 'ns-' || n, 'ns-' || n || '/api/main', 'api', 'api', 'deployment', h, h + interval '1 hour', h, true,
		       (n % 800) / 100.0 + 0.00123, 3221225472 + n, (SELECT id FROM pricebooks), 'EUR'
		  FROM generate_series($2::timestamptz, $3::timestamptz, interval '1 hour') AS h,
		       generate_series(0, $4::int - 1) AS n`, aggregation, first, last, size)
	must(err)
	_, err = db.Pool.Exec(t.Context(), "ANALYZE provider_allocations")
	must(err)
}

package charge_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
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
	"github.com/provider-finops/provider-finops/internal/testkit/reference"
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
		DatabaseInitTimeout:        30 * time.Second,
		KubernetesOperationTimeout: 30 * time.Second,
		StatusUpdateTimeout:        30 * time.Second,
	}
}

// statements counts what a run sends to the database.
type statements struct{ n atomic.Int64 }

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	s.n.Add(1)
	return ctx
}

func (*statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (s *statements) TraceCopyFromStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceCopyFromStartData) context.Context {
	s.n.Add(1)
	return ctx
}

func (*statements) TraceCopyFromEnd(context.Context, *pgx.Conn, pgx.TraceCopyFromEndData) {}

// TestStatementsDoNotGrow counts the statements of a first run over a day and of
// the hourly one after it, with 10 Subscriptions and with 1000 (design R7, P5).
func TestStatementsDoNotGrow(t *testing.T) {
	counts := map[int][2]int64{}
	for _, size := range []int{10, 1000} {
		db := pgtest.Database(t)
		c := &crowd{size: size, make: func(n int) v1alpha1.Subscription {
			return member(n, "both", at("2026-03-05T00:10:00Z"), v1alpha1.UsageSource{Namespace: fmt.Sprintf("ns-%d", n)})
		}}
		c.offering("both", withMeters(fee(v1alpha1.TickAlignmentHourBoundary, "1", 1000), v1alpha1.MeterCPUHour, v1alpha1.MeterRAMGbHour))
		plantCrowd(t, db, size, at("2026-03-05T00:00:00Z"), 25)

		settings := crowdSettings(db.DSN)
		counter := &statements{}
		settings.Database.Tracer = counter
		s := &stage{T: t}
		var got [2]int64
		for i, hourText := range []string{"2026-03-06T00:00:00Z", "2026-03-06T01:00:00Z"} {
			settings.Hint.Scheduled = hourText
			before := counter.n.Load()
			s.must(s.runOn(c.client(), settings, at(hourText)))
			got[i] = counter.n.Load() - before
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

// TestAgreesWithReference charges random Subscriptions on random rows through
// the database, in runs at random hours, and compares every row, to the micro,
// with the reference calculator.
func TestAgreesWithReference(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	db := pgtest.Database(t)
	s := &stage{T: t, db: db, cluster: "crowd"}
	begin := at("2026-02-28T20:00:00Z")
	const hours, size = 12, 300

	books := []*reference.Book{reference.RandomBook(r), reference.RandomBook(r), reference.RandomBook(r)}
	ids := map[*reference.Book]int64{}
	for _, b := range books {
		ids[b] = s.referenceBook(b)
	}
	measured := map[time.Time][]reference.Allocation{}
	for h := range hours {
		window := begin.Add(time.Duration(h) * time.Hour)
		measured[window] = reference.RandomRows(r, window, books, 60)
		s.referenceRows(window, measured[window], ids)
	}

	members := make([]reference.Subscription, size)
	c := &crowd{size: size}
	for n := range members {
		members[n] = reference.RandomSubscription(r, begin, 8)
		c.offering(fmt.Sprintf("offering-%d", n), specOf(members[n]))
	}
	c.make = func(n int) v1alpha1.Subscription {
		sub := member(n, fmt.Sprintf("offering-%d", n), members[n].Activated)
		if !members[n].Deactivated.IsZero() {
			sub.Status.DeactivatedAt = new(metav1.NewTime(members[n].Deactivated))
		}
		for _, src := range members[n].Sources {
			sub.Spec.UsageSources = append(sub.Spec.UsageSources, v1alpha1.UsageSource{ResourceType: src.Kind, Name: src.Name, Namespace: src.Namespace})
		}
		return sub
	}

	settings := crowdSettings(db.DSN)
	for h := 3; h <= hours; h += 1 + r.IntN(4) {
		settings.Hint.Scheduled = begin.Add(time.Duration(h) * time.Hour).Format(time.RFC3339)
		s.must(s.runOn(c.client(), settings, at(settings.Hint.Scheduled)))
	}
	last := begin.Add(hours * time.Hour)
	settings.Hint.Scheduled = last.Format(time.RFC3339)
	s.must(s.runOn(c.client(), settings, last))

	var want []string
	for n, sub := range members {
		for window := sub.Activated.Truncate(time.Hour); window.Before(last); window = window.Add(time.Hour) {
			if end := endOf(sub); !end.IsZero() && !window.Before(end) {
				break
			}
			for source, amount := range sub.Hour(window, measured[window]) {
				want = append(want, fmt.Sprintf("%d %s %s %s", n, window.Format("02 15"), source, amount))
			}
		}
	}
	got := s.lines(`
		SELECT concat_ws(' ', right(subscription_uid::text, 12)::bigint, to_char(window_start AT TIME ZONE 'UTC', 'DD HH24'), charge_source, amount_micros)
		  FROM subscription_charges WHERE finalized`)
	slices.Sort(want)
	slices.Sort(got)
	if len(want) < 2000 {
		t.Errorf("Only %d rows: the random world is too empty to say anything", len(want))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Rows: -reference, +got:\n%s", diff)
	}
}

// endOf is the instant after which nothing is charged; zero if there is none.
func endOf(sub reference.Subscription) time.Time {
	if sub.Deactivated.IsZero() || sub.Fee == nil {
		return sub.Deactivated
	}
	return sub.Fee.Snap(sub.Activated, sub.Deactivated)
}

func specOf(sub reference.Subscription) v1alpha1.OfferingSpec {
	var spec v1alpha1.OfferingSpec
	if f := sub.Fee; f != nil {
		spec = fee(v1alpha1.TickAlignment(f.Alignment), f.Period, f.Price)
	}
	for _, m := range sub.Meters {
		meter := v1alpha1.Meter{Name: v1alpha1.MeterName(m.Name)}
		if m.Absolute != nil || m.Factor != nil {
			meter.Margins = &v1alpha1.Margins{AbsoluteMicros: m.Absolute, FactorMilli: m.Factor}
		}
		spec.Pricing.ResourcePricing = append(spec.Pricing.ResourcePricing, meter)
	}
	return spec
}

func (s *stage) referenceBook(b *reference.Book) int64 {
	s.Helper()
	rate := func(meter string) *int64 {
		if micros, ok := b.Rates[meter]; ok {
			return &micros
		}
		return nil
	}
	var id int64
	s.must(s.db.Pool.QueryRow(s.Context(), `
		INSERT INTO pricebooks (cluster_id, namespace, name, uid, generation, currency, content_hash, cpu_hour_micros,
		       gpu_hour_micros, ram_gb_hour_micros, pv_gb_hour_micros, network_gib_micros)
		VALUES ($1, 'finops', 'tariff', $2, 1, 'EUR', $3, $4, $5, $6, $7, $8) RETURNING id`,
		s.cluster, uuid.NewString(), uuid.NewString(), rate("cpuHour"), rate("gpuHour"), rate("ramGbHour"), rate("pvGbHour"), rate("networkGb"),
	).Scan(&id))
	return id
}

func (s *stage) referenceRows(window time.Time, rows []reference.Allocation, ids map[*reference.Book]int64) {
	s.Helper()
	_, err := postgres.EnsureMonths(s.Context(), s.db.Pool, window, window)
	s.must(err)
	for i, r := range rows {
		var book *int64
		var currency *string
		if r.Book != nil {
			id, code := ids[r.Book], "EUR"
			book, currency = &id, &code
		}
		s.exec(`
			INSERT INTO provider_allocations (cluster_id, aggregation, hour, namespace, name, pod, controller, controller_kind,
			       alloc_start, alloc_end, collected_at, is_finalized, cpu_core_usage_avg, ram_bytes_usage_avg, gpu_usage_avg,
			       pv_byte_hours, network_transfer_bytes, network_receive_bytes, pricebook_id, currency)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $3, true, $11::text::numeric, $12::text::numeric,
			       $13::text::numeric, $14::text::numeric, $15::text::numeric, $16::text::numeric, $17, $18)`,
			s.cluster, aggregation, window, r.Namespace, fmt.Sprintf("row-%d", i), r.Pod, r.Controller, r.Kind, r.Start, r.End,
			r.CPU, r.RAM, r.GPU, r.PVByteHours, r.Sent, r.Received, book, currency)
	}
}

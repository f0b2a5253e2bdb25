package charge_test

import (
	"time"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
)

// fee is an Offering of a fee alone.
func fee(alignment v1alpha1.TickAlignment, period string, price int64) v1alpha1.OfferingSpec {
	return v1alpha1.OfferingSpec{Pricing: v1alpha1.Pricing{
		SubscriptionFee: &v1alpha1.SubscriptionFee{TickAlignment: alignment, Period: period, PriceMicros: price},
	}}
}

// withMeters adds meters at the rates of the book.
func withMeters(spec v1alpha1.OfferingSpec, names ...v1alpha1.MeterName) v1alpha1.OfferingSpec {
	for _, n := range names {
		spec.Pricing.ResourcePricing = append(spec.Pricing.ResourcePricing, v1alpha1.Meter{Name: n})
	}
	return spec
}

func (s *stage) offering(name string, spec v1alpha1.OfferingSpec) *v1alpha1.Offering {
	s.Helper()
	o := &v1alpha1.Offering{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}, Spec: spec}
	s.must(s.api.Create(s.Context(), o))
	return o
}

// subscription creates one that the controller has activated.
func (s *stage) subscription(name, offering, activated string, sources ...v1alpha1.UsageSource) *v1alpha1.Subscription {
	s.Helper()
	sub := &v1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name, Finalizers: []string{v1alpha1.SubscriptionFinalizer}},
		Spec: v1alpha1.SubscriptionSpec{
			OfferingRef:  v1alpha1.ObjectReference{Namespace: s.namespace, Name: offering},
			UsageSources: sources,
		},
	}
	s.must(s.api.Create(s.Context(), sub))
	if activated != "" {
		sub.Status.ActivatedAt = new(metav1.NewTime(at(activated)))
		sub.Report(v1alpha1.Ready(v1alpha1.ReasonActivationSucceeded, ""), v1alpha1.Active(v1alpha1.ReasonActivationSucceeded, ""))
		s.must(s.api.Status().Update(s.Context(), sub))
	}
	return sub
}

// end ends a Subscription as the controller does, without deleting it.
func (s *stage) end(name, deactivated string) {
	s.Helper()
	sub := s.get(name)
	sub.Status.DeactivatedAt = new(metav1.NewTime(at(deactivated)))
	sub.Report(v1alpha1.Inactive(v1alpha1.ReasonMarkedForDeletion, ""))
	s.must(s.api.Status().Update(s.Context(), sub, client.FieldOwner("finops-controller")))
}

// remove deletes a Subscription and ends it.
func (s *stage) remove(name, deactivated string) {
	s.Helper()
	s.must(s.api.Delete(s.Context(), s.get(name)))
	s.end(name, deactivated)
}

func (s *stage) get(name string) *v1alpha1.Subscription {
	s.Helper()
	sub := &v1alpha1.Subscription{}
	s.must(s.api.Get(s.Context(), types.NamespacedName{Namespace: s.namespace, Name: name}, sub))
	return sub
}

// gone reports whether a Subscription has been released.
func (s *stage) gone(name string) bool {
	s.Helper()
	err := s.api.Get(s.Context(), types.NamespacedName{Namespace: s.namespace, Name: name}, &v1alpha1.Subscription{})
	s.must(client.IgnoreNotFound(err))
	return err != nil
}

// collector creates the CostJob of a collector.
func (s *stage) collector(name string, kind v1alpha1.CostJobType) {
	s.Helper()
	s.must(s.api.Create(s.Context(), &v1alpha1.CostJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
		Spec:       v1alpha1.CostJobSpec{Type: kind, Interval: metav1.Duration{Duration: time.Hour}},
	}))
}

// activeBook creates the price book that the fee takes its currency from, EUR.
func (s *stage) activeBook() {
	s.Helper()
	b := &v1alpha1.PriceBook{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "tariff"},
		Spec:       v1alpha1.PriceBookSpec{Currency: "EUR", ValuationMode: v1alpha1.ValuationModeCurrency},
	}
	s.must(s.api.Create(s.Context(), b))
	b.Status.Active = true
	s.must(s.api.Status().Update(s.Context(), b))
}

// tariff stores the rates that rows are measured under.
func (s *stage) tariff(currency string, cpuMicros int64) int64 {
	s.Helper()
	var id int64
	s.must(s.db.Pool.QueryRow(s.Context(), `
		INSERT INTO pricebooks (cluster_id, namespace, name, uid, generation, currency, content_hash, cpu_hour_micros)
		VALUES ($1, 'finops', 'tariff', $2, 1, $3, $4, $5) RETURNING id`,
		s.cluster, uuid.NewString(), currency, uuid.NewString(), cpuMicros).Scan(&id))
	return id
}

// measure stores a row of an hour of the namespace "app": so many cores on
// average over the whole hour.
func (s *stage) measure(hourText, pod, cores string, book int64, final bool) {
	s.Helper()
	h := at(hourText)
	_, err := postgres.EnsureMonths(s.Context(), s.db.Pool, h, h)
	s.must(err)
	s.exec(`
		INSERT INTO provider_allocations AS a (cluster_id, aggregation, hour, namespace, name, pod, controller, controller_kind,
		       alloc_start, alloc_end, collected_at, is_finalized, cpu_core_usage_avg, pricebook_id, currency)
		SELECT $1, $2, $3, 'app', $4, $4, 'api', 'deployment', $3, $3::timestamptz + interval '1 hour', $3, $5, $6::text::numeric, id, currency
		  FROM pricebooks WHERE id = $7
		ON CONFLICT (cluster_id, aggregation, hour, namespace, name) DO UPDATE
		   SET is_finalized = excluded.is_finalized, cpu_core_usage_avg = excluded.cpu_core_usage_avg`,
		s.cluster, aggregation, h, pod, final, cores, book)
	state := "open"
	if final {
		state = "final"
	}
	s.exec(`
		INSERT INTO allocation_hours (cluster_id, aggregation, hour, state, row_count, updated_at) VALUES ($1, $2, $3, $4, 1, $3)
		ON CONFLICT (cluster_id, aggregation, hour) DO UPDATE SET state = excluded.state`,
		s.cluster, aggregation, h, state)
}

func (s *stage) exec(sql string, args ...any) {
	s.Helper()
	_, err := s.db.Pool.Exec(s.Context(), sql, args...)
	s.must(err)
}

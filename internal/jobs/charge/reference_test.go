package charge_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
	"github.com/provider-finops/provider-finops/internal/testkit/reference"
)

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
	verified(t, db, "crowd")
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

package badinput

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/jackc/pgx/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/jobs/charge"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// charged charges a Subscription with some usage sources for an hour in which
// one core was used under each of the names, and returns what of it was charged.
func charged(names []string, sources ...v1alpha1.UsageSource) door {
	return func(t *testing.T, w *world, _ string) string {
		t.Helper()
		db, cluster := w.db, w.cluster()
		plant(t, db, cluster, names)
		activated := metav1.NewTime(pinned)
		sub := &v1alpha1.Subscription{
			ObjectMeta: metav1.ObjectMeta{Namespace: "crowd", Name: "member", UID: "00000000-0000-4000-8000-000000000001", ResourceVersion: "1", Finalizers: []string{v1alpha1.SubscriptionFinalizer}},
			Spec:       v1alpha1.SubscriptionSpec{OfferingRef: v1alpha1.ObjectReference{Namespace: "crowd", Name: "metered"}, UsageSources: sources},
			Status:     v1alpha1.SubscriptionStatus{ActivatedAt: &activated},
		}
		sold := &v1alpha1.Offering{
			ObjectMeta: metav1.ObjectMeta{Namespace: "crowd", Name: "metered", UID: "00000000-0000-4000-8000-000000000002"},
			Spec:       v1alpha1.OfferingSpec{Pricing: v1alpha1.Pricing{ResourcePricing: []v1alpha1.Meter{{Name: v1alpha1.MeterCPUHour}}}},
		}
		kube := fake.NewClientBuilder().WithScheme(apitest.Scheme()).WithStatusSubresource(sub).WithObjects(sub, sold).Build()

		settings, err := charge.FromEnvironment(func(name string) string {
			return map[string]string{"POSTGRES_CONNECTION_STRING": db.DSN, "CLUSTER_ID": cluster, "SCHEDULED_TIMESTAMP": pinned.Add(time.Hour).Format(time.RFC3339)}[name]
		})
		if err != nil {
			t.Fatal(err)
		}
		err = charge.Run(t.Context(), settings, charge.Dependencies{
			Client: kube, Clock: clocktesting.NewFakePassiveClock(pinned.Add(time.Hour + time.Minute)), Log: logr.Discard(),
		})
		if err != nil {
			return err.Error()
		}
		found, err := db.Pool.Query(t.Context(), "SELECT trim_scale(quantity)::text || ' hours of CPU' FROM subscription_charges WHERE cluster_id = $1 AND window_start = $2 AND charge_source = 'cpuHour'", cluster, pinned)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(found, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		if len(lines) == 0 {
			return "nothing charged"
		}
		return strings.Join(lines, ", ")
	}
}

// plant stores an hour in which a Deployment of each name used one core.
func plant(t *testing.T, db pgtest.DB, cluster string, names []string) {
	t.Helper()
	if _, err := postgres.EnsureMonths(t.Context(), db.Pool, pinned, pinned); err != nil {
		t.Fatal(err)
	}
	_, err := db.Pool.Exec(t.Context(), `INSERT INTO pricebooks (cluster_id, namespace, name, uid, generation, currency, content_hash, cpu_hour_micros)
		VALUES ($1, 'finops', 'tariff', gen_random_uuid(), 1, 'EUR', 'planted', 1000000)`, cluster)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		_, err := db.Pool.Exec(t.Context(), `INSERT INTO provider_allocations (cluster_id, aggregation, hour, namespace, name, pod, controller, controller_kind,
			       alloc_start, alloc_end, collected_at, is_finalized, cpu_core_usage_avg, pricebook_id, currency)
			SELECT cluster_id, 'namespace,pod,container', $1::timestamptz, 'apps', $2, $2, $3, 'deployment', $1::timestamptz, $1::timestamptz + interval '1 hour', $1::timestamptz, true, 1, id, 'EUR'
			  FROM pricebooks WHERE cluster_id = $4`, pinned, fmt.Sprintf("apps/pod-%d/main", i), name, cluster)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// sources are n that name nothing, and one.
func sources(n int, one string) []v1alpha1.UsageSource {
	all := make([]v1alpha1.UsageSource, n+1)
	for i := range all {
		all[i].Name = fmt.Sprintf("nothing-%d", i)
	}
	all[n].Name = one
	return all
}

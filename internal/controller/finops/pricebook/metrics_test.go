package pricebook

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// TestMetrics reads the active one off two books.
func TestMetrics(t *testing.T) {
	book := func(name string, active bool) *v1alpha1.PriceBook {
		return &v1alpha1.PriceBook{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
			Spec:       v1alpha1.PriceBookSpec{Currency: "EUR"},
			Status:     v1alpha1.PriceBookStatus{Active: active},
		}
	}
	want := `
# HELP finops_pricebook_active 1 for the price book that is the active one.
# TYPE finops_pricebook_active gauge
finops_pricebook_active{currency="EUR",name="b",namespace="ns"} 1
`
	c := collector{reader: fake.NewClientBuilder().WithScheme(apitest.Scheme()).WithObjects(book("a", false), book("b", true)).Build()}
	if err := testutil.CollectAndCompare(c, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

// TestCounters counts a switch, a restart that succeeds and one that fails.
func TestCounters(t *testing.T) {
	b := newBench(t)
	r := b.byHand(t)
	before := counters(t)
	book := b.book(t, b.a, "tariff-a", nil)
	failed := winner
	failed.Synced, failed.Priced, failed.ActiveMessage = "False", false, messageRestartDue
	apitest.Eventually(t, "the failure", func(ctx context.Context) error {
		if _, err := r.Reconcile(ctx, requestFor(book)); err != nil {
			return err
		}
		return b.stands(book, failed)(ctx)
	})
	afterFailure := counters(t)
	if afterFailure["failure"] == before["failure"] || afterFailure["success"] != before["success"] {
		t.Errorf("want a restart that failed to be counted: %v, then %v", before, afterFailure)
	}

	b.deployment(t)
	apitest.Settle(t, r, book, b.writes, b.stands(book, winner))
	after := counters(t)
	want := map[string]float64{"switches": 1, "success": 1, "failure": afterFailure["failure"] - before["failure"]}
	got := map[string]float64{}
	for name := range want {
		got[name] = after[name] - before[name]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// counters reads what the endpoint of the metrics would tell.
func counters(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			switch f.GetName() {
			case "finops_pricebook_switches_total":
				values["switches"] += m.GetCounter().GetValue()
			case "finops_opencost_restarts_total":
				values[m.GetLabel()[0].GetValue()] += m.GetCounter().GetValue()
			}
		}
	}

	return values
}

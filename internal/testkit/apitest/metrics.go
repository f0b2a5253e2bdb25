package apitest

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Reconciles is the metric that counts how often controllers have looked at
// anything.
const Reconciles = "controller_runtime_reconcile_total"

// ByController sums a metric of controller-runtime by controller.
func ByController(t testing.TB, metric string) map[string]float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatalf("cannot gather metrics: %v", err)
	}
	values := map[string]float64{}
	for _, f := range families {
		if f.GetName() != metric {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "controller" {
					values[l.GetValue()] += m.GetCounter().GetValue() + m.GetGauge().GetValue()
				}
			}
		}
	}

	return values
}

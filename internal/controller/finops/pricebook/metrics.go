package pricebook

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

var (
	active = promauto.With(metrics.Registry).NewGaugeVec(prometheus.GaugeOpts{
		Name: "finops_pricebook_active",
		Help: "1 for the price book that is the active one.",
	}, []string{"namespace", "name", "currency"})

	switches = promauto.With(metrics.Registry).NewCounter(prometheus.CounterOpts{
		Name: "finops_pricebook_switches_total",
		Help: "How often another price book became the active one.",
	})
)

// observeActive shows which book the election comes to.
func observeActive(winner *v1alpha1.PriceBook) {
	active.Reset()
	if winner != nil {
		active.WithLabelValues(winner.Namespace, winner.Name, winner.Spec.Currency).Set(1)
	}
}

package pricebook

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

var (
	activeBook = prometheus.NewDesc("finops_pricebook_active",
		"1 for the price book that is the active one.", []string{"namespace", "name", "currency"}, nil)

	switches = promauto.With(metrics.Registry).NewCounter(prometheus.CounterOpts{
		Name: "finops_pricebook_switches_total",
		Help: "How often another price book became the active one.",
	})
)

// collector reads the active book off the books when it is asked for it, so
// that the metric is never older than the cache and ends with its object.
type collector struct{ reader client.Reader }

// Describe names the metric.
func (collector) Describe(out chan<- *prometheus.Desc) { out <- activeBook }

// Collect gives its value.
func (c collector) Collect(out chan<- prometheus.Metric) {
	books := &v1alpha1.PriceBookList{}
	if err := c.reader.List(context.Background(), books); err != nil {
		return // The cache is not filled yet; there is nothing to tell.
	}
	for i := range books.Items {
		if b := &books.Items[i]; b.Status.Active {
			out <- prometheus.MustNewConstMetric(activeBook, prometheus.GaugeValue, 1, b.Namespace, b.Name, b.Spec.Currency)
		}
	}
}

package costjob

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

var (
	lastSuccess = prometheus.NewDesc("finops_costjob_last_success_timestamp_seconds",
		"When the last run of a CostJob that succeeded started.", []string{"namespace", "name", "type"}, nil)

	failures = prometheus.NewDesc("finops_costjob_consecutive_failures",
		"How many of the last runs of a CostJob failed in a row, as far as its history goes.", []string{"namespace", "name", "type"}, nil)
)

// collector reads the metrics off the CostJobs when it is asked for them, so
// that they are never older than the cache and vanish with their objects.
type collector struct{ reader client.Reader }

// Describe names the metrics.
func (collector) Describe(out chan<- *prometheus.Desc) {
	out <- lastSuccess
	out <- failures
}

// Collect gives their values.
func (c collector) Collect(out chan<- prometheus.Metric) {
	jobs := &v1alpha1.CostJobList{}
	if err := c.reader.List(context.Background(), jobs); err != nil {
		return // The cache is not filled yet; there is nothing to tell.
	}
	for i := range jobs.Items {
		j := &jobs.Items[i]
		labels := []string{j.Namespace, j.Name, string(j.Spec.Type)}
		if t := j.Status.LastSuccessfulExecutionTime; t != nil {
			out <- prometheus.MustNewConstMetric(lastSuccess, prometheus.GaugeValue, float64(t.Unix()), labels...)
		}
		out <- prometheus.MustNewConstMetric(failures, prometheus.GaugeValue, float64(failedInARow(j)), labels...)
	}
}

// failedInARow counts from the newest record to the last success.
func failedInARow(j *v1alpha1.CostJob) int {
	n := 0
	for _, r := range j.Status.ExecutionHistory {
		if r.Status == v1alpha1.ExecutionStatusSuccess {
			break
		}
		n++
	}

	return n
}

// Package mirrored counts what the controllers could not bring into the
// database, over all kinds that have a mirror there.
package mirrored

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Errors counts, by kind, the versions that could not be stored or closed. Each
// is tried again.
var Errors = promauto.With(metrics.Registry).NewCounterVec(prometheus.CounterOpts{
	Name: "finops_mirror_errors_total",
	Help: "How often a version of an object could not be brought into the database.",
}, []string{"kind"})

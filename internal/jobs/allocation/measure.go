package allocation

import (
	"context"
	"iter"
	"time"

	"github.com/provider-finops/provider-finops/internal/clients/opencost"
	"github.com/provider-finops/provider-finops/internal/finops/collection"
	"github.com/provider-finops/provider-finops/internal/finops/hour"
)

// measurements streams what OpenCost measured in an hour, as it is stored, and
// counts what had to be corrected.
func (r *run) measurements(ctx context.Context, h time.Time, counted *collection.Corrections) iter.Seq2[collection.Measurement, error] {
	query := opencost.Query{
		Start:      h,
		End:        h.Add(hour.Length),
		Aggregate:  r.scope.Aggregation,
		Step:       step,
		Resolution: r.Settings.Resolution,
	}

	return func(yield func(collection.Measurement, error) bool) {
		for a, err := range r.Source.Allocations(ctx, query) {
			if err != nil {
				yield(collection.Measurement{}, &fetchError{err})
				return
			}
			m, corrections := collection.Measure(sample(a), h)
			counted.Add(corrections)
			if !yield(m, nil) {
				return
			}
		}
	}
}

func sample(a opencost.Allocation) collection.Sample {
	return collection.Sample{
		Workload: collection.Workload{
			Name: a.Name, Namespace: a.Namespace, Pod: a.Pod, Container: a.Container,
			Controller: a.Controller, ControllerKind: a.ControllerKind,
		},
		Start: a.Start, End: a.End, Minutes: a.Minutes,
		CPUCores: a.CPUCores, RAMBytes: a.RAMBytes, GPUs: a.GPUs, GPUUsage: a.GPUUsage,
		PVByteHours: a.PVByteHours, SentBytes: a.SentBytes, RecvBytes: a.RecvBytes,
	}
}

package charge

import (
	"context"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/jobs/inputs"
)

// usage opens the stream of a batch. Without anybody metered in it there is
// nothing to ask the database for.
func (d *desk) usage(ctx context.Context, p pass) *inputs.UsageStream {
	for _, s := range d.metered {
		if s.served() && p.windows(s).Count() > 0 {
			return inputs.OpenUsage(ctx, d.reader, postgres.UsageQuery{
				ClusterID: d.ClusterID, Aggregation: d.Aggregation, First: p.hours.First, End: p.hours.End, Count: d.counted,
			}, d.countUsage)
		}
	}
	return inputs.NoUsage()
}

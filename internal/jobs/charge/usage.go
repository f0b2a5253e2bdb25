package charge

import (
	"context"
	"iter"
	"time"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/charge"
)

// A usageStream hands out what arrives in the order of Subscription and hour to
// somebody who asks in the same order.
type usageStream struct {
	next func() (postgres.Usage, error, bool)
	stop func()

	ahead postgres.Usage // The first that nobody has asked for.
	ended bool
	err   error
}

// usage opens the stream of a batch. Without anybody metered in it there is
// nothing to ask the database for.
func (d *desk) usage(ctx context.Context, p pass) *usageStream {
	for _, s := range d.metered {
		if s.served() && p.windows(s).Count() > 0 {
			q := postgres.UsageQuery{ClusterID: d.ClusterID, Aggregation: d.Aggregation, First: p.hours.First, End: p.hours.End}
			u := &usageStream{}
			u.next, u.stop = iter.Pull2(postgres.ReadUsage(ctx, d.reader, q))
			u.advance()
			return u
		}
	}
	return &usageStream{ended: true, stop: func() {}}
}

func (u *usageStream) advance() {
	usage, err, more := u.next()
	u.ahead, u.err, u.ended = usage, err, !more || err != nil
}

// take returns the usage of one Subscription in one hour, and passes over what
// nobody asked for.
func (u *usageStream) take(place int, window time.Time) []charge.Usage {
	var taken []charge.Usage
	for !u.ended && place >= 0 {
		a := u.ahead
		if a.Subject > place || a.Subject == place && a.Hour.After(window) {
			break
		}
		if a.Subject == place && a.Hour.Equal(window) {
			taken = append(taken, charge.Usage{
				BookID:       a.PricebookID,
				ShareSeconds: a.ShareSeconds,
				CoreSeconds:  a.CoreSeconds,
				GPUSeconds:   a.GPUSeconds,
				ByteSeconds:  a.ByteSeconds,
				PVByteHours:  a.PVByteHours,
				NetworkBytes: a.NetworkBytes,
			})
		}
		u.advance()
	}
	return taken
}

package inputs

import (
	"context"
	"iter"
	"time"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/charge"
)

// A UsageStream hands out what arrives in the order of subject and hour to
// somebody who asks in the same order.
type UsageStream struct {
	next  func() (postgres.Usage, error, bool)
	stop  func()
	count func(window time.Time, u charge.Usage, claimed bool)

	ahead postgres.Usage // The first that nobody has asked for.
	ended bool
	err   error
}

// OpenUsage asks for the usage of the subjects that were staged on the
// connection, which is busy until the stream is closed. What is claimed and what
// is not, in the hours that are to be counted, is handed to count at once.
func OpenUsage(ctx context.Context, db postgres.DB, q postgres.UsageQuery, count func(window time.Time, u charge.Usage, claimed bool)) *UsageStream {
	u := &UsageStream{count: count}
	u.next, u.stop = iter.Pull2(postgres.ReadUsage(ctx, db, q))
	u.advance()
	return u
}

// NoUsage is a stream without anything.
func NoUsage() *UsageStream { return &UsageStream{ended: true, stop: func() {}} }

// Close ends the stream.
func (u *UsageStream) Close() { u.stop() }

// Err is what the stream was broken off by.
func (u *UsageStream) Err() error { return u.err }

func (u *UsageStream) advance() {
	for {
		usage, err, more := u.next()
		u.ahead, u.err, u.ended = usage, err, !more || err != nil
		if u.ended || usage.Subject >= 0 {
			return
		}
		u.count(usage.Hour, usageOf(usage), usage.Subject == postgres.Claimed)
	}
}

func usageOf(u postgres.Usage) charge.Usage {
	return charge.Usage{
		BookID:       u.PricebookID,
		ShareSeconds: u.ShareSeconds,
		CoreSeconds:  u.CoreSeconds,
		GPUSeconds:   u.GPUSeconds,
		ByteSeconds:  u.ByteSeconds,
		PVByteHours:  u.PVByteHours,
		NetworkBytes: u.NetworkBytes,
	}
}

// Take returns the usage of one subject in one hour, and passes over what
// nobody asked for. A negative place is that of nobody.
func (u *UsageStream) Take(place int, window time.Time) []charge.Usage {
	var taken []charge.Usage
	for !u.ended && place >= 0 {
		a := u.ahead
		if a.Subject > place || a.Subject == place && a.Hour.After(window) {
			break
		}
		if a.Subject == place && a.Hour.Equal(window) {
			taken = append(taken, usageOf(a))
		}
		u.advance()
	}
	return taken
}

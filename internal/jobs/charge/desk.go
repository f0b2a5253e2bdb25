package charge

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/charge"
	"github.com/provider-finops/provider-finops/internal/finops/hour"
)

const (
	// deskConns is how many connections a desk needs at once.
	deskConns = 2

	// closing is how long the server may take to say goodbye.
	closing = 5 * time.Second
)

// A desk is the two connections a run charges with: usage streams in on one
// while the rows it becomes stream out on the other.
type desk struct {
	*run

	reader, writer *pgxpool.Conn
	metered        []*subject // In the order in which the reader knows them.

	rows []charge.Row // Of one Subscription after another.
}

func (r *run) openDesk(ctx context.Context) (*desk, error) {
	reader, err := r.pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot connect to read usage: %w", err)
	}
	writer, err := r.pool.Acquire(ctx)
	if err != nil {
		reader.Release()
		return nil, fmt.Errorf("cannot connect to write charges: %w", err)
	}

	d := &desk{run: r, reader: reader, writer: writer}
	for _, s := range r.world.subjects {
		if s.served() && s.bill.Metered() {
			d.metered = append(d.metered, s)
		}
	}
	if len(d.metered) > 0 {
		err = postgres.StageUsage(ctx, reader, d.ClusterID, d.usageSubjects())
	}
	if err == nil {
		err = postgres.PrepareCharges(ctx, writer)
	}
	if err != nil {
		d.close(ctx)
		return nil, err
	}
	return d, nil
}

func (d *desk) close(ctx context.Context) {
	d.writer.Release()
	// The session of the reader is set up for usage and good for nothing else.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
	defer cancel()
	_ = d.reader.Hijack().Close(ctx) // It has served.
}

func (d *desk) usageSubjects() iter.Seq[postgres.UsageSubject] {
	return func(yield func(postgres.UsageSubject) bool) {
		for _, s := range d.metered {
			u := postgres.UsageSubject{
				VersionID:   s.versionID,
				ActiveFrom:  s.life.ActivatedAt,
				ActiveTo:    s.life.DeactivatedAt,
				FirstWindow: s.windows.First,
				EndWindow:   s.windows.End,
			}
			if s.windows.Current {
				u.EndWindow = d.pinned.Hour.Add(hour.Length)
			}
			if !yield(u) {
				return
			}
		}
	}
}

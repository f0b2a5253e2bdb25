package charge

import (
	"context"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/charge"
	"github.com/provider-finops/provider-finops/internal/finops/hour"
)

// deskConns is how many connections a desk needs at once.
const deskConns = 2

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
		err = postgres.StageUsage(ctx, reader, d.usageSubjects())
	}
	if err == nil {
		err = postgres.PrepareCharges(ctx, writer)
	}
	if err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func (d *desk) close() {
	d.reader.Release()
	d.writer.Release()
}

func (d *desk) usageSubjects() iter.Seq[postgres.UsageSubject] {
	return func(yield func(postgres.UsageSubject) bool) {
		for _, s := range d.metered {
			u := postgres.UsageSubject{
				ActiveFrom:  s.life.ActivatedAt,
				ActiveTo:    s.life.DeactivatedAt,
				FirstWindow: s.windows.First,
				EndWindow:   s.windows.End,
			}
			if s.windows.Current {
				u.EndWindow = d.pinned.Hour.Add(hour.Length)
			}
			for _, source := range s.sources {
				u.Sources = append(u.Sources, postgres.UsageSource(source))
			}
			if !yield(u) {
				return
			}
		}
	}
}

package allocation

import (
	"context"
	"io"
	"time"

	"github.com/provider-finops/provider-finops/internal/clients/opencost"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/collection"
	"github.com/provider-finops/provider-finops/internal/finops/hour"
)

// ahead is how many hours may wait on disk while another is being stored: as many
// as the window has by default, so that it follows a catch-up without a pause.
const ahead = 6

// A fetched hour is a whole answer that waits to be stored, or the reason why
// there is none.
type fetched struct {
	batch       postgres.Batch
	parts       []*spool // In the order of the rows' key.
	corrections collection.Corrections
	err         error
}

// rows are all there are, as they will be copied.
func (f *fetched) rows() postgres.AllocationRows {
	rows := postgres.AllocationRows{From: func() io.Reader {
		readers := make([]io.Reader, 0, len(f.parts))
		for _, part := range f.parts {
			readers = append(readers, part.rows())
		}
		return io.MultiReader(readers...)
	}}
	for _, part := range f.parts {
		rows.Count += part.count
	}
	return rows
}

func (f *fetched) close() {
	for _, part := range f.parts {
		part.close()
	}
	f.parts = nil
}

// A fetcher asks for hours while earlier ones are being stored. Nothing it waits
// for holds a transaction open: OpenCost may take minutes, and the rows that a
// transaction keeps from being cleaned up are those of the whole database.
type fetcher struct {
	hours chan *fetched
	stop  context.CancelFunc
}

// fetch begins to ask for hours, one after the other.
func (r *run) fetch(ctx context.Context, hours []time.Time) *fetcher {
	ctx, stop := context.WithCancel(ctx)
	f := &fetcher{hours: make(chan *fetched, ahead), stop: stop}
	go func() {
		defer close(f.hours)
		for _, h := range hours {
			answer := r.fetchHour(ctx, h)
			select {
			case f.hours <- answer:
			case <-ctx.Done():
				answer.close()
				return
			}
		}
	}()
	return f
}

// next waits for the next hour.
func (f *fetcher) next(ctx context.Context) (*fetched, error) {
	select {
	case answer, more := <-f.hours:
		if more {
			return answer, nil
		}
		return nil, context.Cause(ctx)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// close ends the asking and lets go of what nobody has taken.
func (f *fetcher) close() {
	f.stop()
	for answer := range f.hours {
		answer.close()
	}
}

// fetchHour asks for one hour, within the time that an hour may take.
func (r *run) fetchHour(ctx context.Context, h time.Time) *fetched {
	before := r.ledger.At(h)
	f := &fetched{batch: postgres.Batch{
		Scope:       r.scope,
		Hour:        h,
		Fresh:       !before.HasOpen && !before.HasFinal,
		PartlyFinal: before.HasFinal,
		Finalized:   r.Settings.Limits.Finalizes(h, r.pinned, r.now),
		Book:        r.book,
		CollectedAt: r.now,
	}}

	ctx, cancel := context.WithTimeout(ctx, r.Settings.Timeouts.OpenCostFetch)
	defer cancel()
	if sharding := r.costJob.Spec.Sharding; sharding != nil {
		f.err = r.fetchSharded(ctx, f, int(sharding.NamespacesPerShard), int(sharding.Concurrency))
	} else {
		f.err = r.fetchWhole(ctx, f)
	}
	if f.err != nil {
		f.close() // Nobody gets to see half an hour.
	}
	return f
}

func (r *run) fetchWhole(ctx context.Context, f *fetched) error {
	part, corrections, err := r.spool(ctx, f.batch, r.query(f.batch.Hour))
	if err != nil {
		return err
	}
	f.parts, f.corrections = append(f.parts, part), corrections
	return nil
}

// spool keeps the answer to one query, if it is a whole one.
func (r *run) spool(ctx context.Context, b postgres.Batch, q opencost.Query) (_ *spool, corrected collection.Corrections, err error) {
	s, err := newSpool()
	if err != nil {
		return nil, corrected, err
	}
	defer func() {
		if err != nil {
			s.close()
		}
	}()

	var row []byte
	for a, err := range r.Source.Allocations(ctx, q) {
		if err != nil {
			return nil, corrected, err
		}
		m, corrections := collection.Measure(sample(a), b.Hour)
		corrected.Add(corrections)
		row = postgres.AppendAllocation(row[:0], &b, &m)
		if err := s.add(row); err != nil {
			return nil, corrected, err
		}
	}
	return s, corrected, s.complete()
}

// query asks for all of an hour.
func (r *run) query(h time.Time) opencost.Query {
	return opencost.Query{
		Start:      h,
		End:        h.Add(hour.Length),
		Aggregate:  r.scope.Aggregation,
		Step:       step,
		Resolution: r.Settings.Resolution,
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

package collect

import (
	"fmt"
	"time"

	"github.com/provider-finops/provider-finops/internal/bench"
	"github.com/provider-finops/provider-finops/internal/bench/rig"
)

const memoryBound = 64 << 20

// figures are what was measured.
type figures struct {
	rows   int64
	closed pass // Hours that are final.
	first  pass // Hours that stay open,
	replay pass // and are fetched again.
	raw    pass // A bare COPY of the rows of the first.
	single pass // One hour alone.

	updated                 int64 // Tuples that the replay has updated or deleted, of all tables.
	inserted                int64 // And inserted.
	tableBytes, heapBytes   int64
	nameBytes, growth       float64
	decoded                 time.Duration // The answers of the first run, read and thrown away.
	decodedBytes, itemBytes int64
}

// A pass is one run over the rows.
type pass struct {
	rig.Pass

	server time.Duration // CPU of the server, for the process.
	wal    int64
}

func (f *figures) rate(p pass) float64 { return float64(f.rows) / p.Wall.Seconds() }
func (f *figures) copyRate() float64   { return f.rate(f.raw) }

func (f *figures) speedNotes() []string {
	rows := float64(f.rows)
	perRow := func(d time.Duration) float64 { return float64(d.Microseconds()) / rows }
	return []string{
		fmt.Sprintf("%d rows of %d hours, %d bytes of JSON each", f.rows, hours, f.itemBytes),
		fmt.Sprintf("collected in %.1f s, of which the process computed %.1f s (%.1f µs a row); a bare COPY took %.1f s",
			f.closed.Wall.Seconds(), f.closed.CPU.Seconds(), perRow(f.closed.CPU), f.raw.Wall.Seconds()),
		bottleneck(f.closed.Wall, f.closed.CPU, f.closed.server),
		fmt.Sprintf("reading the answers alone, decoded and thrown away, took %.1f s (%.1f µs an item, %.0f MB/s)",
			f.decoded.Seconds(), perRow(f.decoded), float64(f.decodedBytes)/1e6/f.decoded.Seconds()),
	}
}

// replayMeasure is an error unless the replay has left everything as it was.
func (f *figures) replayMeasure() (bench.Measure, error) {
	wal := float64(f.replay.wal) / float64(f.first.wal)
	note := fmt.Sprintf("%d tuples updated or deleted, %d inserted; %.2f %% of the WAL of the first load (%d of %d MB)",
		f.updated, f.inserted, 100*wal, f.replay.wal>>20, f.first.wal>>20)
	if f.updated != 0 || f.inserted != 0 {
		return bench.Measure{}, fmt.Errorf("a replay must change no tuple: %s", note)
	}
	if wal > 0.05 {
		return bench.Measure{}, fmt.Errorf("a replay may write 5 %% of the WAL of the first load: %s", note)
	}
	return bench.Measure{Value: f.rate(f.replay), Limit: f.rate(f.first), Unit: "rows/s", Notes: []string{note}}, nil
}

// memoryMeasure is an error unless memory is flat.
func (f *figures) memoryMeasure() (bench.Measure, error) {
	mib := func(bytes int64) float64 { return float64(bytes) / (1 << 20) }
	growth := float64(f.closed.Memory) / float64(f.single.Memory)
	note := fmt.Sprintf("one hour %.1f MiB, %d hours %.1f MiB (%.2f times), their replay %.1f MiB",
		mib(f.single.Memory), hours, mib(f.closed.Memory), growth, mib(f.replay.Memory))
	if growth > 1.1 {
		return bench.Measure{}, fmt.Errorf("memory may grow by a tenth when the rows are twenty times as many: %s", note)
	}
	return bench.Measure{Value: mib(max(f.closed.Memory, f.first.Memory, f.replay.Memory)), Limit: mib(memoryBound), Unit: "MiB", Notes: []string{note}}, nil
}

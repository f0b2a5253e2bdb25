package collect

import (
	"fmt"
	"time"

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

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// memory is the most that any of the runs had.
func (f *figures) memory() int64 { return max(f.closed.Memory, f.first.Memory, f.replay.Memory) }

func (f *figures) memoryNotes() []string {
	return []string{fmt.Sprintf("one hour %.1f MiB, %d hours %.1f MiB, their replay %.1f MiB",
		mib(f.single.Memory), hours, mib(f.closed.Memory), mib(f.replay.Memory))}
}

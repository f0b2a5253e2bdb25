// Package collect measures the collection of allocations: the product's own
// binary fetches hours from an OpenCost over HTTP and commits their rows, against
// a bare COPY of the same rows into the same table.
package collect

import (
	"context"
	"fmt"
	"sync"

	"github.com/provider-finops/provider-finops/internal/bench"
)

// The sizes at scale 1: an outage of a large cluster that is caught up with.
const (
	hours = 20
	items = 50_000
)

// Goals are P1, P2, P3 and P13. They share one measurement: the rows of the
// first are replayed by the second and weighed by the last.
func Goals() []bench.Goal {
	m := &measurement{}
	return []bench.Goal{
		{
			ID: "P1", Title: "collection, end to end",
			Ratio: "rows a second from the request to OpenCost to the commit, by those of a bare COPY into the same table with its key and constraints",
			Must:  0.5,
			Run: m.goal(func(f *figures) bench.Measure {
				return bench.Measure{Value: f.rate(f.closed), Limit: f.copyRate(), Unit: "rows/s", Notes: f.speedNotes()}
			}),
		},
		{
			ID: "P2", Title: "replay of hours that are open",
			Ratio: "rows a second of a second run that finds everything as it is, by those of the first",
			Must:  1.3,
			Run: m.goal(func(f *figures) bench.Measure {
				return bench.Measure{Value: f.rate(f.replay), Limit: f.rate(f.first), Unit: "rows/s"}
			}),
		},
		{
			ID: "P2c", Title: "tuples that it changes",
			Ratio: "tuples inserted, updated or deleted, of all tables, by the rows", Must: 0, AtMost: true,
			Run: m.goal(func(f *figures) bench.Measure {
				return bench.Measure{Value: float64(f.inserted + f.updated), Limit: float64(f.rows), Unit: "tuples"}
			}),
		},
		{
			ID: "P2w", Title: "WAL that it writes",
			Ratio: "bytes of WAL by those of the first run", Must: 0.05, AtMost: true,
			Run: m.goal(func(f *figures) bench.Measure {
				return bench.Measure{Value: mib(f.replay.wal), Limit: mib(f.first.wal), Unit: "MiB"}
			}),
		},
		{
			ID: "P3", Title: "memory of the collecting process",
			Ratio: "the most it ever had, its text included, at twenty hours, by 64 MiB", Must: 1, AtMost: true,
			Run: m.goal(func(f *figures) bench.Measure {
				return bench.Measure{Value: mib(f.memory()), Limit: mib(memoryBound), Unit: "MiB", Notes: f.memoryNotes()}
			}),
		},
		{
			ID: "P3r", Title: "memory of collecting, flat in rows",
			Ratio: "the most it had at twenty hours, by that at one", Must: 1.1, AtMost: true,
			Run: m.goal(func(f *figures) bench.Measure {
				return bench.Measure{Value: mib(f.closed.Memory), Limit: mib(f.single.Memory), Unit: "MiB"}
			}),
		},
		{
			ID: "P13", Title: "size of an allocation row",
			Ratio: "bytes of the table and its indexes, by 420 for each row", Must: 1, AtMost: true,
			Run: m.goal(func(f *figures) bench.Measure {
				return bench.Measure{
					Value: float64(f.tableBytes) / float64(f.rows), Limit: 420, Unit: "B/row",
					Notes: []string{fmt.Sprintf("names of %.0f bytes on average; heap %.0f B, indexes %.0f B a row; after the replay the table is %.3f times as large",
						f.nameBytes, float64(f.heapBytes)/float64(f.rows), float64(f.tableBytes-f.heapBytes)/float64(f.rows), f.growth)},
				}
			}),
		},
	}
}

// A measurement is made once, by whichever goal comes first.
type measurement struct {
	once sync.Once
	got  *figures
	err  error
}

func (m *measurement) figures(ctx context.Context, env *bench.Env) (*figures, error) {
	m.once.Do(func() { m.got, m.err = measure(ctx, env) })
	return m.got, m.err
}

func (m *measurement) goal(read func(*figures) bench.Measure) func(context.Context, *bench.Env) (bench.Measure, error) {
	return func(ctx context.Context, env *bench.Env) (bench.Measure, error) {
		f, err := m.figures(ctx, env)
		if err != nil {
			return bench.Measure{}, err
		}
		return read(f), nil
	}
}

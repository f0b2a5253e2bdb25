// Package charging measures the charge run: the product's own binary against one
// statement that writes the same rows, against the number of its Subscriptions,
// and against the bare status patches it sends.
package charging

import (
	"context"
	"fmt"
	"sync"

	"github.com/provider-finops/provider-finops/internal/bench"
)

// The sizes at scale 1.
const (
	members   = 10_000
	hours     = 24
	hourItems = 50_000
)

// memoryLimit is what a run may have at any moment, its text included.
const memoryLimit = 64 << 20

// Goals are P4, P5, P6, and the part of P3 that is about charging.
func Goals() []bench.Goal {
	m := &measurement{}
	return []bench.Goal{
		{
			ID: "P3C", Title: "memory of the charging process",
			Ratio: "the most it ever had, its text included, over a first day and over a large hour, by 64 MiB", Must: 1, AtMost: true,
			Run: m.goal(func(f *figures) bench.Measure {
				most := max(f.first.Memory, f.again.Memory, f.large.Memory)
				return bench.Measure{
					Value: mebibytes(most), Limit: mebibytes(memoryLimit), Unit: "MiB",
					Notes: []string{
						fmt.Sprintf("%d Subscriptions, a first day of %d rows: %.1f MiB; the same again: %.1f MiB", f.members, f.rows, mebibytes(f.first.Memory), mebibytes(f.again.Memory)),
						fmt.Sprintf("%d Subscriptions, an hour of %d allocation rows: %.1f MiB; nobody to charge: %.1f MiB", f.members, f.items, mebibytes(f.large.Memory), mebibytes(f.idle.Memory)),
					},
				}
			}),
		},
		{
			ID: "P3F", Title: "memory of charging, flat in rows",
			Ratio: "the most it had with twenty times the allocation rows, by that with the rows of an hour", Must: 1.1, AtMost: true,
			Run: flat,
		},
		{
			ID: "P4", Title: "charges of a first day",
			Ratio: "rows a second of the whole process, status included, by those of one INSERT ... SELECT of the same rows", Must: 0.6,
			Run: m.goal(func(f *figures) bench.Measure {
				return bench.Measure{
					Value: float64(f.rows) / f.first.Wall.Seconds(), Limit: float64(f.rows) / f.statement.Seconds(), Unit: "rows/s",
					Notes: []string{fmt.Sprintf("%d rows in %s, by one statement in %s", f.rows, f.first.Wall.Round(1e6), f.statement.Round(1e6))},
				}
			}),
		},
		{
			ID: "P5", Title: "statements of an hourly run",
			Ratio: "statements for all Subscriptions, by 30 + 5 for each of its two hours; not one more than for ten Subscriptions", Must: 1, AtMost: true,
			Run: statements,
		},
		{
			ID: "P6", Title: "the hourly run, steady",
			Ratio: "seconds of the whole process on a real API server, by those of the bare status patches", Must: 1.5, AtMost: true,
			Run: hourly,
		},
	}
}

func mebibytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// A measurement is made once, by whichever goal comes first.
type measurement struct {
	once sync.Once
	got  *figures
	err  error
}

func (m *measurement) goal(read func(*figures) bench.Measure) func(context.Context, *bench.Env) (bench.Measure, error) {
	return func(ctx context.Context, env *bench.Env) (bench.Measure, error) {
		m.once.Do(func() { m.got, m.err = measure(ctx, env) })
		if m.err != nil {
			return bench.Measure{}, m.err
		}
		return read(m.got), nil
	}
}

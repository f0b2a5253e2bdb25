package collect

import (
	"context"
	"fmt"

	"github.com/provider-finops/provider-finops/internal/bench"
)

// counts are the numbers of items in an hour of the curve at scale 1.
var counts = []int{10, 100, 1_000, 10_000}

// Growth is the curve of a collection.
func Growth() []bench.Goal {
	return []bench.Goal{{
		ID: "G5", Title: "growth of a collection",
		Ratio: "time for each of the most items by that for each of the second most, an hour each", Must: 1.5, AtMost: true,
		Run: growth,
	}}
}

// growth collects ever larger hours.
func growth(ctx context.Context, env *bench.Env) (_ bench.Measure, err error) {
	r, err := newStand(ctx, env)
	if err != nil {
		return bench.Measure{}, err
	}
	defer r.Close()
	seconds, memory := bench.Curve{Unit: "s", Of: "items"}, bench.Curve{Unit: "MiB", Of: "items"}
	for _, n := range env.Sizes(counts) {
		p, err := r.oneHour(ctx, n)
		if err != nil {
			return bench.Measure{}, err
		}
		seconds.Points = append(seconds.Points, bench.Point{N: n, Value: p.Wall.Seconds()})
		memory.Points = append(memory.Points, bench.Point{N: n, Value: float64(p.Memory) / (1 << 20)})
	}
	m := seconds.LinearGrowth()
	m.Notes = append(m.Notes, memory.String())
	return m, nil
}

// oneHour collects an hour of so many items.
func (r *stand) oneHour(ctx context.Context, n int) (pass, error) {
	r.Env.Logf("collecting an hour of %d items", n)
	stop, err := r.serve(newHour(n))
	if err != nil {
		return pass{}, err
	}
	defer stop()
	pool, drop, err := r.database(ctx, 0)
	if err != nil {
		return pass{}, err
	}
	defer drop()
	p, err := r.collect(ctx, pool, "HOURS_LOOKBACK=0", "MAX_BACKFILL_HOURS=0")
	if err != nil {
		return pass{}, err
	}
	var rows int
	if err := pool.QueryRow(ctx, "SELECT count(*) FROM provider_allocations").Scan(&rows); err != nil {
		return pass{}, fmt.Errorf("cannot count the rows: %w", err)
	}
	if rows != n {
		return pass{}, fmt.Errorf("%d rows were collected, want %d", rows, n)
	}
	return p, nil
}

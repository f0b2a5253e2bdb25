package charging

import (
	"context"

	"github.com/provider-finops/provider-finops/internal/bench"
)

// crowds are the numbers of Subscriptions of the curve at scale 1.
var crowds = []int{10, 100, 1_000, 10_000}

// Growth is the curve of the charge run.
func Growth() []bench.Goal {
	return []bench.Goal{{
		ID: "G4", Title: "growth of a charge run",
		Ratio: "time for each of the most Subscriptions by that for each of the second most, an hour each", Must: 1.5, AtMost: true,
		Run: growth,
	}}
}

// growth charges ever more Subscriptions for one hour.
func growth(ctx context.Context, env *bench.Env) (bench.Measure, error) {
	r, err := newStand(ctx, env)
	if err != nil {
		return bench.Measure{}, err
	}
	defer r.Close()
	seconds, memory := bench.Curve{Unit: "s", Of: "Subscriptions"}, bench.Curve{Unit: "MiB", Of: "Subscriptions"}
	for _, n := range env.Sizes(crowds) {
		p, err := r.hourOf(ctx, n, n)
		if err != nil {
			return bench.Measure{}, err
		}
		seconds.Points = append(seconds.Points, bench.Point{N: n, Value: p.Wall.Seconds()})
		memory.Points = append(memory.Points, bench.Point{N: n, Value: mebibytes(p.Memory)})
	}
	m := seconds.LinearGrowth()
	m.Notes = append(m.Notes, memory.String())
	return m, nil
}

package charging

import (
	"context"
	"fmt"
	"time"

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
	r, err := newRig(ctx, env)
	if err != nil {
		return bench.Measure{}, err
	}
	defer r.close()
	seconds, memory := bench.Curve{Unit: "s", Of: "Subscriptions"}, bench.Curve{Unit: "MiB", Of: "Subscriptions"}
	for _, n := range env.Sizes(crowds) {
		p, err := r.oneHour(ctx, n)
		if err != nil {
			return bench.Measure{}, err
		}
		seconds.Points = append(seconds.Points, bench.Point{N: n, Value: p.wall.Seconds()})
		memory.Points = append(memory.Points, bench.Point{N: n, Value: mebibytes(p.memory)})
	}
	m := seconds.LinearGrowth()
	m.Notes = append(m.Notes, memory.String())
	return m, nil
}

// oneHour charges everybody for a first hour.
func (r *rig) oneHour(ctx context.Context, n int) (pass, error) {
	r.env.Logf("charging %d Subscriptions for an hour", n)
	pool, drop, err := r.database(ctx, 1, n, n)
	if err != nil {
		return pass{}, err
	}
	defer drop()
	_, kubeconfig, stop, err := r.serve(n)
	if err != nil {
		return pass{}, err
	}
	defer stop()
	p, err := r.run(ctx, kubeconfig, pool, begin.Add(time.Hour))
	if err != nil {
		return pass{}, err
	}
	var rows int
	if err := pool.QueryRow(ctx, "SELECT count(*) FROM subscription_charges WHERE window_start = $1", begin).Scan(&rows); err != nil {
		return pass{}, fmt.Errorf("cannot count the rows: %w", err)
	}
	if want := 3 * n; rows != want {
		return pass{}, fmt.Errorf("%d rows were charged, want %d", rows, want)
	}
	return p, nil
}

package charging

import (
	"context"
	"fmt"
	"time"

	"github.com/provider-finops/provider-finops/internal/bench"
	"github.com/provider-finops/provider-finops/internal/bench/rig"
)

// The hours that are compared: one as large as a cluster's, and one of many more
// rows that belong to the same Subscriptions.
const (
	flatMembers = 1_000
	flatTimes   = 20
)

// flat charges the same Subscriptions for an hour, and for one of twenty times
// the rows.
func flat(ctx context.Context, env *bench.Env) (bench.Measure, error) {
	r, err := newStand(ctx, env)
	if err != nil {
		return bench.Measure{}, err
	}
	defer r.Close()
	size, items := env.Scaled(flatMembers), env.Scaled(hourItems)
	few, err := r.hourOf(ctx, items, size)
	if err != nil {
		return bench.Measure{}, err
	}
	many, err := r.hourOf(ctx, flatTimes*items, size)
	if err != nil {
		return bench.Measure{}, err
	}
	return bench.Measure{
		Value: mebibytes(many.Memory), Limit: mebibytes(few.Memory), Unit: "MiB",
		Notes: []string{fmt.Sprintf("%d Subscriptions; %d allocation rows in %s, %d in %s", size, items, few.Wall.Round(1e6), flatTimes*items, many.Wall.Round(1e6))},
	}, nil
}

// hourOf charges so many members for a first hour of so many allocation rows, at
// least one for each.
func (r *stand) hourOf(ctx context.Context, items, size int) (rig.Pass, error) {
	pool, drop, err := r.database(ctx, 1, items, size)
	if err != nil {
		return rig.Pass{}, err
	}
	defer drop()
	_, kubeconfig, stop, err := r.serve(size)
	if err != nil {
		return rig.Pass{}, err
	}
	defer stop()
	r.Env.Logf("charging %d Subscriptions for an hour of %d allocation rows", size, items)
	p, err := r.run(ctx, kubeconfig, pool, begin.Add(time.Hour))
	if err != nil {
		return rig.Pass{}, err
	}
	var rows int
	if err := pool.QueryRow(ctx, "SELECT count(*) FROM subscription_charges WHERE window_start = $1", begin).Scan(&rows); err != nil {
		return rig.Pass{}, fmt.Errorf("cannot count the rows: %w", err)
	}
	if want := 3 * size; rows != want {
		return rig.Pass{}, fmt.Errorf("%d rows were charged, want %d", rows, want)
	}
	return p, nil
}

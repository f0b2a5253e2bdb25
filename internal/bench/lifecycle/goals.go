// Package lifecycle measures what the lives of very many Subscriptions cost:
// the product as a process of its own, with the defaults of its flags, on a real
// API server and a real database.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/bench"
)

// Sizes at scale 1, and the sample for the raw rate.
const (
	crowdSize  = 2_000
	familySize = 2_000
	chainSize  = 200
	sampleSize = 1_000

	// subscribersEach is how many Subscriptions of the crowd share an Offering.
	subscribersEach = 10

	// memoryLimit is for ten thousand Subscriptions, in MiB, whatever the scale.
	memoryLimit = 130
)

// Goals are those of the performance page from P7 to P12, and two that others
// have missed: R4 and R5. Those with one number and several letters are read off
// one measurement, and so are all that are about a crowd.
func Goals() []bench.Goal {
	crowd, family, chain := once(measureCrowd), once(measureFamily), once(measureChain)
	goal := func(id, title, ratio string, must float64, figures func(context.Context, *bench.Env) (map[string]bench.Measure, error)) bench.Goal {
		return bench.Goal{ID: id, Title: title, Ratio: ratio, Must: must, AtMost: true, Run: func(ctx context.Context, env *bench.Env) (bench.Measure, error) {
			all, err := figures(ctx, env)
			return all[id], err
		}}
	}
	return []bench.Goal{
		goal("P12", "new Subscriptions become ready", "time by that of two raw status writes each", 2, crowd),
		goal("P12w", "writes of a new Subscription", "writes by Subscriptions", 3, crowd),
		goal("P11", "start with settled Subscriptions", "seconds until all were looked at by 20 s", 1, crowd),
		goal("P11w", "writes at that start", "writes by Subscriptions", 0, crowd),
		goal("P10", "memory with Subscriptions", "peak by 130 MiB", 1, crowd),
		goal("P7", "a look at what is settled", "writes and statements by looks", 0, crowd),
		goal("R4", "a newcomer among everybody idle is Ready", "seconds from its creation by 5 s", 1, crowd),
		goal("R5", "connections of a whole pass", "sessions with the database by 10", 1, crowd),
		goal("P8", "a family loses its only provider", "time by that of as many raw status writes", 2, family),
		goal("P8r", "looks in that cascade", "reconciles by members", 3, family),
		goal("P8w", "writes in that cascade", "writes by members", 1.2, family),
		goal("P9r", "looks when a chain ends from its top", "reconciles by members", 3, chain),
		goal("P9w", "writes when a chain ends from its top", "writes by members", 1.2, chain),
	}
}

// once measures at the first asking.
func once(measure func(context.Context, *world) (map[string]bench.Measure, error)) func(context.Context, *bench.Env) (map[string]bench.Measure, error) {
	var (
		first   sync.Once
		figures map[string]bench.Measure
		err     error
	)
	return func(ctx context.Context, env *bench.Env) (map[string]bench.Measure, error) {
		first.Do(func() {
			var w *world
			if w, err = newWorld(ctx, env); err != nil {
				return
			}
			defer func() { err = errors.Join(err, w.stop(ctx)) }()
			if err = w.furnish(ctx); err == nil {
				figures, err = measure(ctx, w)
			}
		})
		return figures, err
	}
}

// measureCrowd brings up a crowd, looks at all of it, and starts once more.
func measureCrowd(ctx context.Context, w *world) (map[string]bench.Measure, error) {
	n := w.env.Scaled(crowdSize)
	rate, err := w.rawRate(ctx, sampleSize)
	if err != nil {
		return nil, err
	}
	w.env.Logf("%.0f raw status writes a second", rate)
	if err := w.startProvider(ctx); err != nil {
		return nil, err
	}
	plans := max(1, n/subscribersEach)
	if err := w.offer(ctx, plans); err != nil {
		return nil, err
	}
	before, err := w.count(ctx)
	if err != nil {
		return nil, err
	}
	began := w.clock.Now()
	err = each(ctx, n, func(ctx context.Context, i int) error {
		return w.Create(ctx, subscription(fmt.Sprintf("s-%d", i), "", plan(i%plans)))
	})
	if err != nil {
		return nil, err
	}
	applied := w.clock.Since(began)
	if err := w.until(ctx, "all Subscriptions to be active", func(s states) bool { return s.ready == n }); err != nil {
		return nil, err
	}
	took := w.clock.Since(began)
	if err := w.rest(ctx); err != nil {
		return nil, err
	}
	after, err := w.count(ctx)
	if err != nil {
		return nil, err
	}
	spent, size := after.since(before), float64(n)
	figures := map[string]bench.Measure{
		"P12": {Value: took.Seconds(), Limit: 2 * size / rate, Unit: "s", Notes: []string{
			fmt.Sprintf("%d Subscriptions; applying them took %.1f s of it", n, applied.Seconds()),
			fmt.Sprintf("the server takes %.0f status writes a second from %d hands", rate, hands),
		}},
		"P12w": {Value: spent.writes, Limit: size, Unit: "writes", Notes: []string{fmt.Sprintf("%.2f looks each", spent.reconciles/size)}},
	}
	if figures["P7"], err = w.measureLooks(ctx, n); err != nil {
		return nil, err
	}
	if figures["R4"], err = w.measureNewcomer(ctx, n, plan(0)); err != nil {
		return nil, err
	}
	if err := w.stopProvider(); err != nil {
		return nil, err
	}
	if figures["R5"], err = w.measureSessions(ctx, n+1); err != nil {
		return nil, err
	}
	return figures, w.measureStart(ctx, n+1, figures)
}

// measureLooks makes the product look at everybody, by an edit that concerns
// nothing it keeps.
func (w *world) measureLooks(ctx context.Context, n int) (bench.Measure, error) {
	before, err := w.count(ctx)
	if err != nil {
		return bench.Measure{}, err
	}
	err = each(ctx, n, func(ctx context.Context, i int) error {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"seen":"once"}}}`))
		return w.Patch(ctx, subscription(fmt.Sprintf("s-%d", i), "", "plain"), patch)
	})
	if err != nil {
		return bench.Measure{}, err
	}
	if err := w.rest(ctx); err != nil {
		return bench.Measure{}, err
	}
	after, err := w.count(ctx)
	spent := after.since(before)
	writes := spent.writes - float64(n) // Ours.
	asked := 0.0
	if spent.statement > 0 { // Less: what was last has gone with its connection.
		asked = 1
	}
	return bench.Measure{Value: writes + asked, Limit: spent.reconciles, Unit: "writes and statements", Notes: []string{
		fmt.Sprintf("%.0f looks, %.0f writes, a statement: %t", spent.reconciles, writes, asked > 0),
	}}, err
}

// measureStart starts the product anew.
func (w *world) measureStart(ctx context.Context, n int, figures map[string]bench.Measure) error {
	before, err := w.writes(ctx)
	if err != nil {
		return err
	}
	began := w.clock.Now()
	if err := w.startProvider(ctx); err != nil {
		return err
	}
	err = w.wait(ctx, "a look at everybody", func(ctx context.Context) (bool, error) {
		done, err := w.reconciles(ctx)
		return done >= float64(n), err
	})
	if err != nil {
		return err
	}
	took := w.clock.Since(began)
	if err := w.rest(ctx); err != nil {
		return err
	}
	after, err := w.writes(ctx)
	if err != nil {
		return err
	}
	peak, err := w.peak()
	figures["P11"] = bench.Measure{Value: took.Seconds(), Limit: 20, Unit: "s"}
	figures["P11w"] = bench.Measure{Value: after - before, Limit: float64(n), Unit: "writes"}
	figures["P10"] = bench.Measure{Value: peak, Limit: memoryLimit, Unit: "MiB", Notes: []string{
		fmt.Sprintf("%d Subscriptions of %d Offerings; VmHWM, the first list included", n, max(1, n/subscribersEach)),
	}}
	return err
}

// measureFamily has a root, the only node, and a crowd that requires one.
func measureFamily(ctx context.Context, w *world) (map[string]bench.Measure, error) {
	n := w.env.Scaled(familySize)
	return w.measureEnd(ctx, "P8", n, "node-1", []*v1alpha1.Subscription{subscription("root", "", "suite"), subscription("node-1", "root", "node")},
		func(i int) *v1alpha1.Subscription { return subscription(fmt.Sprintf("s-%d", i), "root", "part") })
}

// measureChain has each below the one before.
func measureChain(ctx context.Context, w *world) (map[string]bench.Measure, error) {
	n := w.env.Scaled(chainSize)
	return w.measureEnd(ctx, "P9", n, "s-0", []*v1alpha1.Subscription{subscription("s-0", "", "plain")},
		func(i int) *v1alpha1.Subscription {
			return subscription(fmt.Sprintf("s-%d", i+1), fmt.Sprintf("s-%d", i), "plain")
		})
}

// measureEnd brings up a family, deletes one of those that hold it up, and waits
// until n have ended for it.
func (w *world) measureEnd(ctx context.Context, id string, n int, taken string, first []*v1alpha1.Subscription, other func(i int) *v1alpha1.Subscription) (map[string]bench.Measure, error) {
	var took time.Duration
	var spent counters
	rate, err := w.rawRateAround(ctx, func() (err error) {
		took, spent, err = w.end(ctx, n, taken, first, other)
		return err
	})
	size := float64(n)
	return map[string]bench.Measure{
		id: {Value: took.Seconds(), Limit: size / rate, Unit: "s", Notes: []string{
			fmt.Sprintf("%d members; the server takes %.0f status writes a second from %d hands", n, rate, hands),
		}},
		id + "r": {Value: spent.reconciles, Limit: size, Unit: "reconciles", Notes: []string{fmt.Sprintf("%d members, in %.1f s", n, took.Seconds())}},
		id + "w": {Value: spent.writes, Limit: size, Unit: "writes"},
	}, err
}

// end returns how long the end of the family took, and what was done for it.
func (w *world) end(ctx context.Context, n int, taken string, first []*v1alpha1.Subscription, other func(i int) *v1alpha1.Subscription) (took time.Duration, spent counters, err error) {
	if err := w.startProvider(ctx); err != nil {
		return 0, counters{}, err
	}
	for _, s := range first {
		if err := w.Create(ctx, s); err != nil {
			return 0, counters{}, err
		}
	}
	if err := each(ctx, n, func(ctx context.Context, i int) error { return w.Create(ctx, other(i)) }); err != nil {
		return 0, counters{}, err
	}
	if err := w.until(ctx, "the family to be active", func(s states) bool { return s.ready == n+len(first) }); err != nil {
		return 0, counters{}, err
	}
	if err := w.rest(ctx); err != nil {
		return 0, counters{}, err
	}
	before, err := w.count(ctx)
	if err != nil {
		return 0, counters{}, err
	}

	began := w.clock.Now()
	if err := w.Delete(ctx, subscription(taken, "", "plain")); err != nil {
		return 0, counters{}, err
	}
	if err := w.until(ctx, "the family to end", func(s states) bool { return s.ended >= n }); err != nil {
		return 0, counters{}, err
	}
	took = w.clock.Since(began)
	if err := w.rest(ctx); err != nil {
		return 0, counters{}, err
	}
	after, err := w.count(ctx)
	if err != nil {
		return 0, counters{}, err
	}
	s, err := w.states(ctx)
	if err == nil && s.ended != n+1 {
		err = fmt.Errorf("%d have ended, not %d", s.ended, n+1)
	}
	return took, after.since(before), err
}

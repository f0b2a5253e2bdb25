// Package growth measures how what the product does grows with how much there
// is: families of ten to ten thousand members, one product each, on an API
// server in memory, so that what grows is the product's own share. What it does
// on a real API server is measured beside (lifecycle).
package growth

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/provider-finops/provider-finops/internal/bench"
)

// Sizes of families at scale 1, and the depth of the deep one.
var sizes = []int{10, 100, 1_000, 10_000}

const depth = 1_000

// Goals are the curves of reconcile, cascade and memory, and the part of P7 and
// P9 that is about size.
func Goals() []bench.Goal {
	m := &measurement{}
	goal := func(id, title, ratio string, must float64, read func(lives, life) bench.Measure) bench.Goal {
		return bench.Goal{ID: id, Title: title, Ratio: ratio, Must: must, AtMost: true, Run: func(ctx context.Context, env *bench.Env) (bench.Measure, error) {
			m.once.Do(func() { m.wide, m.deep, m.err = measure(ctx, env) })
			if m.err != nil {
				return bench.Measure{}, m.err
			}
			return read(m.wide, m.deep), nil
		}}
	}
	return []bench.Goal{
		goal("P7t", "time of a look in a large family", "within so much were 99 of 100 looks at settled members, one at a time, by 20 ms", 1, func(l lives, _ life) bench.Measure {
			last := l[len(l)-1]
			return bench.Measure{Value: last.look.most(0.99), Limit: 20, Unit: "ms", Notes: []string{
				fmt.Sprintf("%.0f looks in a family of %d, %.2f ms on average", last.look.count, last.members, last.look.mean()),
			}}
		}),
		goal("P9dr", "looks when a deep chain ends from its top", "reconciles by members", 3, func(_ lives, d life) bench.Measure { return d.endingLooks() }),
		goal("P9dw", "writes when a deep chain ends from its top", "writes by members", 1.2, func(_ lives, d life) bench.Measure { return d.endingWrites() }),
		goal("P9br", "looks when a wide family loses its root", "reconciles by members", 3, func(l lives, _ life) bench.Measure { return l[len(l)-1].endingLooks() }),
		goal("P9bw", "writes when a wide family loses its root", "writes by members", 1.2, func(l lives, _ life) bench.Measure { return l[len(l)-1].endingWrites() }),
		goal("G1", "growth of a reconcile", "time of a look in the largest family by that in the smallest", 3, func(l lives, _ life) bench.Measure {
			return l.curve("ms", func(l life) float64 { return l.look.mean() }).ConstantGrowth()
		}),
		goal("G2", "growth of a cascade", "time for each member of the largest family by that of the second largest", 1.5, func(l lives, _ life) bench.Measure {
			return l.curve("s", func(l life) float64 { return l.cascade.Seconds() }).LinearGrowth()
		}),
		goal("G3", "growth of memory", "MiB for each Subscription of the most by those of the second most", 1.2, func(l lives, _ life) bench.Measure {
			return l.curve("MiB", func(l life) float64 { return l.memory }).LinearGrowth()
		}),
	}
}

// A measurement is made once, by whichever goal comes first.
type measurement struct {
	once sync.Once
	wide lives
	deep life
	err  error
}

// lives are by ascending size.
type lives []life

func (l lives) curve(unit string, read func(life) float64) bench.Curve {
	c := bench.Curve{Unit: unit, Of: "Subscriptions"}
	for _, one := range l {
		c.Points = append(c.Points, bench.Point{N: one.members, Value: read(one)})
	}
	return c
}

func (l life) endingLooks() bench.Measure {
	return bench.Measure{Value: l.ending.count, Limit: float64(l.members), Unit: "reconciles", Notes: []string{
		fmt.Sprintf("%d members, in %.2f s", l.members, l.cascade.Seconds()),
	}}
}

func (l life) endingWrites() bench.Measure {
	return bench.Measure{Value: float64(l.endingWritten), Limit: float64(l.members), Unit: "writes"}
}

func measure(ctx context.Context, env *bench.Env) (w lives, d life, err error) {
	dir, err := os.MkdirTemp("", "bench-growth-")
	if err != nil {
		return nil, life{}, fmt.Errorf("cannot make a folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	binary, err := build(ctx, dir)
	if err != nil {
		return nil, life{}, err
	}
	for _, n := range env.Sizes(sizes) {
		l, err := live(ctx, env, dir, binary, n, wide)
		if err != nil {
			return nil, life{}, err
		}
		w = append(w, l)
	}
	d, err = live(ctx, env, dir, binary, env.Scaled(depth), deep)
	return w, d, err
}

package main

import (
	"context"
	"flag"
	"os"

	"github.com/provider-finops/provider-finops/cluster/bench"
	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

var benchCommand = command{
	name:    "bench",
	summary: "Measure what both collectors take on large hours.",
	details: "Wall time, CPU time and the most memory held at once, for several runs.",
	define: func(flags *flag.FlagSet) func(context.Context, []string) error {
		items := flags.Int("items", 50_000, "`containers` in each hour")
		limit := flags.Int64("memory", 64, "fail if a run holds more `MiB` than this")
		return func(ctx context.Context, _ []string) error {
			ctx, cancel := process.Lifetime(ctx, nil)
			defer cancel()
			root, err := toolbox.ProjectRoot(".")
			if err != nil {
				return err
			}
			return bench.Run(ctx, bench.Options{Root: root, Items: *items, MemoryLimit: *limit << 20, Out: os.Stdout})
		}
	},
}

package main

import (
	"context"
	"flag"
	"os"
	"runtime"

	"github.com/provider-finops/provider-finops/cluster/e2e"
	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

var e2eCommand = command{
	name:    "e2e",
	summary: "Run the kuttl stories, each against a cluster, a database and a controller of its own.",
	details: `Reports in JUnit's format go to _output/reports. The logs of a story that failed
are kept, and its folder is named.`,
	define: func(flags *flag.FlagSet) func(context.Context, []string) error {
		selected := flags.String("suite", "", "run this `suite or story` only, such as finops, first-bill or finops/first-bill")
		parallel := flags.Int("parallel", min(runtime.NumCPU(), 4), "run so many `stories` at once")
		return func(ctx context.Context, _ []string) error {
			ctx, cancel := process.Lifetime(ctx, nil)
			defer cancel()
			root, err := toolbox.ProjectRoot(".")
			if err != nil {
				return err
			}
			return e2e.Run(ctx, e2e.Options{Root: root, Selected: *selected, Parallel: *parallel, Out: os.Stdout})
		}
	},
}

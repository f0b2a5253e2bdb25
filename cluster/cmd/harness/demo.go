package main

import (
	"context"
	"flag"
	"os"

	"github.com/provider-finops/provider-finops/cluster/demo"
	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

var demoCommand = command{
	name:    "demo",
	summary: "Run the whole product once, from nothing to a bill, and show it.",
	details: `It brings up a control plane, PostgreSQL and replayed OpenCost answers, applies
examples/quickstart, lets several hours of business time pass, and checks what
it shows. The first run on a machine builds Kubernetes and takes minutes; later
ones take less than one. Nothing of yours is touched, nothing stays behind.`,
	define: func(flags *flag.FlagSet) func(context.Context, []string) error {
		keep := flags.Bool("keep", false, "leave everything running at the end, say how to use it, and wait for Ctrl-C")
		return func(ctx context.Context, _ []string) error {
			ctx, cancel := process.Lifetime(ctx, nil)
			defer cancel()
			root, err := toolbox.ProjectRoot(".")
			if err != nil {
				return err
			}
			return demo.Run(ctx, demo.Options{Root: root, Out: os.Stdout, Keep: *keep})
		}
	},
}

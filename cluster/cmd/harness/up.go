package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/testbed"
	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

const lifetimeText = `It lives until stdin, if that is a pipe, is closed, or until SIGINT or SIGTERM.`

var upCommand = command{
	name:    "up",
	summary: "Run a Kubernetes control plane, and more if asked, and print where it is.",
	details: `What it prints are lines for a shell, KUBECONFIG=<file> among them. There is no
node: CronJobs make Jobs and Jobs make pods, but no pod runs.

` + lifetimeText + `
Then everything is stopped, and all data removed.`,
	define: func(flags *flag.FlagSet) func(context.Context, []string) error {
		parts := defineParts(flags, true)
		return func(ctx context.Context, _ []string) error {
			ctx, cancel := process.Lifetime(ctx, os.Stdin)
			defer cancel()
			bed, err := startTestbed(ctx, parts())
			if err != nil {
				return err
			}
			defer bed.Stop()
			for _, line := range bed.Environment() {
				fmt.Println(line)
			}
			return bed.Wait(ctx)
		}
	},
}

func startTestbed(ctx context.Context, parts testbed.Parts) (*testbed.Testbed, error) {
	root, err := toolbox.ProjectRoot(".")
	if err != nil {
		return nil, err
	}
	return testbed.Start(ctx, root, parts, os.Stderr)
}

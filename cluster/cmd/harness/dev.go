package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/provider-finops/provider-finops/cluster/dev"
	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/stay"
	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

var devCommand = command{
	name:    "dev",
	summary: "Keep a cluster with the product in it, and build and restart that on every change.",
	details: `A control plane, PostgreSQL, replayed OpenCost answers and the controller. When Go
files, SQL or embedded manifests change, the controller is built and started
again; when CRDs, rights or the webhooks' configuration do, they are applied. What
does not build leaves the one that runs. Objects and data stay until Ctrl-C.`,
	define: func(*flag.FlagSet) func(context.Context, []string) error {
		return func(ctx context.Context, _ []string) error {
			ctx, cancel := process.Lifetime(ctx, nil)
			defer cancel()
			root, err := toolbox.ProjectRoot(".")
			if err != nil {
				return err
			}
			return dev.Run(ctx, dev.Options{Root: root, Out: os.Stdout})
		}
	},
}

var attachCommand = command{
	name:    "attach",
	args:    "[NAME]",
	summary: "Print, for a shell to read, how to reach a cluster that was kept running.",
	details: `That is one of dev, node, crossplane and demo --keep, in this repository:

  eval "$(_output/harness attach)"

sets KUBECONFIG and the rest, and puts kubectl and psql on the PATH. NAME, such as
dev or the beginning of a folder's name in _output, chooses among several. If there
is no such cluster, the shell is handed a failure: put "set -e" before it, or "&&"
behind it, where what comes next must not reach another one.`,
	define: func(*flag.FlagSet) func(context.Context, []string) error {
		return func(_ context.Context, args []string) error {
			text, err := attach(args)
			if err != nil {
				text = "false\n" // The shell that reads it would go on elsewhere, in its own cluster perhaps.
			}
			fmt.Print(text)
			return err
		}
	},
}

func attach(args []string) (string, error) {
	if len(args) > 1 {
		return "", fmt.Errorf("attach takes one name, got %q", args)
	}
	root, err := toolbox.ProjectRoot(".")
	if err != nil {
		return "", err
	}
	name := ""
	if len(args) == 1 {
		name = args[0]
	}
	return stay.Attach(root, name)
}

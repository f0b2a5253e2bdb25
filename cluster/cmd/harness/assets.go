package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

var assetsCommand = command{
	name:    "assets",
	summary: "Print the folder with etcd, kube-apiserver, kubectl and the rest, building what is missing.",
	details: `The folder is what envtest wants in KUBEBUILDER_ASSETS. It is built once, from
the module in cluster/tools, into ${XDG_CACHE_HOME:-~/.cache}/provider-finops.
If KUBEBUILDER_ASSETS is set, its folder is checked and printed instead.`,
	define: func(*flag.FlagSet) func(context.Context, []string) error {
		return func(ctx context.Context, _ []string) error {
			ctx, cancel := process.Lifetime(ctx, nil)
			defer cancel()
			box, err := openToolbox(ctx, toolbox.Envtest...)
			if err != nil {
				return err
			}
			fmt.Println(box.Dir)
			return nil
		}
	},
}

func openToolbox(ctx context.Context, needed ...string) (toolbox.Toolbox, error) {
	root, err := toolbox.ProjectRoot(".")
	if err != nil {
		return toolbox.Toolbox{}, err
	}
	return toolbox.Open(ctx, root, os.Stderr, needed...)
}

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/provider-finops/provider-finops/cluster/crossplane"
	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

var packageCommand = command{
	name:    "package",
	summary: "Build the Crossplane package with its image in it, and print its digest.",
	details: `The file is what "crossplane xpkg build" makes of the folder package and of the
image that "harness image" makes; "crossplane xpkg push" takes it. The same
source and the same Go make the same digest.`,
	define: func(flags *flag.FlagSet) func(context.Context, []string) error {
		out := flags.String("o", "", "write the package to this `file` (default _output/provider-finops-ARCH.xpkg)")
		architecture := flags.String("arch", runtime.GOARCH, "build for this `architecture`, amd64 or arm64")
		return func(ctx context.Context, _ []string) error {
			ctx, cancel := process.Lifetime(ctx, nil)
			defer cancel()
			root, err := toolbox.ProjectRoot(".")
			if err != nil {
				return err
			}
			file := *out
			if file == "" {
				file = filepath.Join(root, "_output", "provider-finops-"+*architecture+".xpkg")
			}
			digest, err := buildPackage(ctx, root, *architecture, file)
			if err == nil {
				fmt.Printf("%s\n%s\n", digest, file)
			}
			return err
		}
	},
}

func buildPackage(ctx context.Context, root, architecture, file string) (string, error) {
	image := filepath.Join(root, "_output", "image-"+architecture+".tar")
	if _, err := buildImage(ctx, root, architecture, "provider-finops:package", image); err != nil {
		return "", err
	}
	return crossplane.BuildProvider(ctx, root, image, file, os.Stderr)
}

package main

import (
	"context"
	"flag"
	"os"
	"path/filepath"

	"github.com/provider-finops/provider-finops/cluster/crossplane"
)

var packageCommand = command{
	name:    "package",
	summary: "Build the Crossplane package with its image in it, and print its digest.",
	details: `The file is what "crossplane xpkg build" makes of the folder package and of the
image that "harness image" makes; "crossplane xpkg push" takes it. The same
source and the same Go make the same digest.`,
	define: func(flags *flag.FlagSet) func(context.Context, []string) error {
		return defineBuild(flags, "provider-finops-%s.xpkg", buildPackage)
	},
}

func buildPackage(ctx context.Context, root, architecture, file string) (string, error) {
	image := filepath.Join(root, "_output", "image-"+architecture+".tar")
	if _, err := buildImage(ctx, root, architecture, "provider-finops:package", image); err != nil {
		return "", err
	}
	return crossplane.BuildProvider(ctx, root, image, file, os.Stderr)
}

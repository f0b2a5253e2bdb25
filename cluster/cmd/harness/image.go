package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/provider-finops/provider-finops/cluster/image"
	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/product"
	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

var imageCommand = command{
	name:    "image",
	summary: "Build the container image, without Docker, and print its digest.",
	details: `From scratch: the static binary, the public certificate authorities, a /tmp;
it runs as user 65532. The file is a docker-archive: "ctr images import",
"docker load" and "podman load" take it. The same source and the same Go make
the same digest.`,
	define: func(flags *flag.FlagSet) func(context.Context, []string) error {
		reference := flags.String("name", imageReference, "the `name` that the image is loaded under")
		return defineBuild(flags, "image-%s.tar", func(ctx context.Context, root, architecture, file string) (string, error) {
			return buildImage(ctx, root, architecture, *reference, file)
		})
	},
}

// A build writes a file for an architecture and returns its digest.
type build func(ctx context.Context, root, architecture, file string) (digest string, err error)

// defineBuild registers the flags of a command that builds such a file. The
// pattern makes its name in _output of the architecture's.
func defineBuild(flags *flag.FlagSet, pattern string, do build) func(context.Context, []string) error {
	out := flags.String("o", "", "write to this `file` (default "+filepath.Join("_output", fmt.Sprintf(pattern, "ARCH"))+")")
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
			file = filepath.Join(root, "_output", fmt.Sprintf(pattern, *architecture))
		}
		digest, err := do(ctx, root, *architecture, file)
		if err == nil {
			fmt.Printf("%s\n%s\n", digest, file)
		}
		return err
	}
}

// buildImage builds the binary and writes the image around it; the digest is
// that of the manifest, which a registry would show.
func buildImage(ctx context.Context, root, architecture, reference, file string) (string, error) {
	dir := filepath.Join(root, "_output", "image-"+architecture)
	for _, folder := range []string{dir, filepath.Dir(file)} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return "", fmt.Errorf("cannot make a folder for the image: %w", err)
		}
	}
	binary, err := product.BuildStatic(ctx, root, dir, architecture, os.Stderr)
	if err != nil {
		return "", err
	}
	img, err := image.Build(binary)
	if err != nil {
		return "", err
	}
	if err := image.Write(file, reference, img); err != nil {
		return "", err
	}
	digest, err := img.Digest()
	return digest.String(), err
}

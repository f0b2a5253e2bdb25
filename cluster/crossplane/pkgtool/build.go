package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/crossplane/crossplane-runtime/v2/pkg/xpkg"
	"github.com/crossplane/crossplane-runtime/v2/pkg/xpkg/parser"
	"github.com/crossplane/crossplane-runtime/v2/pkg/xpkg/parser/examples"
	"github.com/crossplane/crossplane-runtime/v2/pkg/xpkg/parser/yaml"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/spf13/afero"
)

// build is what Crossplane's command line does in "xpkg build". Its own takes
// three minutes longer to compile.
func build(flags *flag.FlagSet) func(context.Context, []string) error {
	root := flags.String("root", "package", "`folder` of the package, with crossplane.yaml")
	image := flags.String("image", "", "`tarball` of the image that runs it; none: the package has to be run by somebody else")
	ignore := flags.String("ignore", "", "`pattern` of files in it that do not belong to the package")
	output := flags.String("output", "", "`file` to write")
	return func(ctx context.Context, _ []string) error {
		if *output == "" {
			return errors.New("--output is needed")
		}
		digest, err := buildPackage(ctx, *root, *ignore, *image, *output)
		if err == nil {
			fmt.Println(digest)
		}
		return err
	}
}

func buildPackage(ctx context.Context, root, ignore, image, output string) (digest string, err error) {
	root, err = filepath.Abs(root)
	if err != nil {
		return "", fmt.Errorf("cannot resolve folder %q: %w", root, err)
	}
	var options []xpkg.BuildOpt
	if image != "" {
		base, err := tarball.ImageFromPath(image, nil)
		if err != nil {
			return "", fmt.Errorf("cannot read image %q: %w", image, err)
		}
		options = append(options, xpkg.WithBase(base))
	}
	objects, err := yaml.New()
	if err != nil {
		return "", fmt.Errorf("cannot make a parser: %w", err)
	}
	fs := afero.NewOsFs()
	manifests := parser.FsFilters(parser.SkipDirs(), parser.SkipNotYAML(), parser.SkipEmpty(), parser.SkipPath(filepath.Join(root, ignore)))
	builder := xpkg.New(
		parser.NewFsBackend(fs, parser.FsDir(root), manifests),
		parser.NewFsBackend(fs, parser.FsDir(filepath.Join(root, "no-examples")), manifests),
		objects, examples.New())
	built, _, err := builder.Build(ctx, options...)
	if err != nil {
		return "", fmt.Errorf("cannot build package %q: %w", root, err)
	}
	if err := writeWhole(output, built); err != nil {
		return "", fmt.Errorf("cannot write package %q: %w", output, err)
	}
	hash, err := built.Digest()
	if err != nil {
		return "", fmt.Errorf("cannot compute the digest of package %q: %w", output, err)
	}
	return hash.String(), nil
}

// writeWhole writes under another name first, so that nobody takes half of one.
func writeWhole(file string, built v1.Image) error {
	if err := tarball.WriteToFile(file+".new", nil, built); err != nil {
		return errors.Join(err, os.Remove(file+".new"))
	}
	return os.Rename(file+".new", file)
}

package crossplane

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

// Package is what this project's package is called, once it is installed.
const Package = "provider-finops"

// notInPackage are roles, which a package may not hold: who installs it grants
// them.
const notInPackage = "rbac/*"

// Reference is what a package is called in the registry.
func Reference(name, version string) string {
	return registryAddress + "/provider-finops/" + name + ":" + version
}

// A Build says what a package is made of.
type Build struct {
	Folder string // With crossplane.yaml.
	Ignore string // Pattern of files in it that do not belong to the package.
	Image  string // Tarball of the image that runs it; empty: none.
	Output string // File to write.
}

// BuildPackage writes a package and returns its digest, which is the same for
// the same contents.
func BuildPackage(ctx context.Context, tool toolbox.Toolbox, b Build) (digest string, err error) {
	args := []string{"build", "--root=" + b.Folder, "--ignore=" + b.Ignore, "--output=" + b.Output}
	if b.Image != "" {
		args = append(args, "--image="+b.Image)
	}
	return output(process.Command(ctx, tool.Path("pkgtool"), args...))
}

// Push puts a package into the registry, under its reference.
func (c *Crossplane) Push(ctx context.Context, file, name, version string) error {
	return process.WaitFor(ctx, "the registry", func(ctx context.Context) error {
		_, err := output(process.Command(ctx, c.tools.Pkgtool.Path("pkgtool"), "push", "--file="+file, Reference(name, version)))
		return err
	}, c.processes...)
}

// Install installs a package of the registry, a Provider or a Function, under
// its name, and waits until Crossplane calls it healthy.
func (c *Crossplane) Install(ctx context.Context, kind, name, version string) error {
	file := c.file(name + ".json")
	manifest := fmt.Sprintf(`{"apiVersion":"pkg.crossplane.io/v1","kind":%q,"metadata":{"name":%q},"spec":{"package":%q}}`,
		kind, name, Reference(name, version))
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		return fmt.Errorf("cannot write a manifest: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, installTimeout)
	defer cancel()
	for _, args := range [][]string{
		{"apply", "-f", file},
		{"wait", "--for=condition=Healthy", "-f", file, "--timeout=" + installTimeout.String()},
	} {
		if _, err := c.options.Kubectl.Run(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// BuildProvider makes this project's package.
func BuildProvider(ctx context.Context, root, image, file string, progress io.Writer) (digest string, err error) {
	tool, err := toolbox.Pkgtool(ctx, root, progress)
	if err != nil {
		return "", err
	}
	return BuildPackage(ctx, tool, Build{Folder: filepath.Join(root, "package"), Ignore: notInPackage, Image: image, Output: file})
}

func output(cmd *exec.Cmd) (string, error) {
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

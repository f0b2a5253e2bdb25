package e2e

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/provider-finops/provider-finops/cluster/crossplane"
	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

// packageVersions are the project's package twice, so that it can be upgraded:
// the second differs by a label, which makes it another revision.
var packageVersions = []string{"v0.1.0", "v0.2.0"}

const nextLabel = "\nmetadata:\n  labels: {version: next}\n"

func packageFile(dir, version string) string {
	return filepath.Join(dir, "provider-finops-"+version+".xpkg")
}

// buildPackages makes both, with the image of the archive in them if there is one.
func buildPackages(ctx context.Context, root, image, dir string, out io.Writer) error {
	if _, err := crossplane.BuildProvider(ctx, root, image, packageFile(dir, packageVersions[0]), out); err != nil {
		return err
	}
	next := filepath.Join(dir, "next-package")
	if err := os.CopyFS(filepath.Join(next, "crds"), os.DirFS(filepath.Join(root, "package", "crds"))); err != nil {
		return fmt.Errorf("cannot copy the package: %w", err)
	}
	if err := os.CopyFS(filepath.Join(next, "webhookconfigurations"), os.DirFS(filepath.Join(root, "package", "webhookconfigurations"))); err != nil {
		return fmt.Errorf("cannot copy the package: %w", err)
	}
	text, err := os.ReadFile(filepath.Join(root, "package", "crossplane.yaml"))
	if err != nil {
		return fmt.Errorf("cannot copy the package: %w", err)
	}
	labelled := strings.Replace(string(text), "\nmetadata:\n", nextLabel, 1)
	if labelled == string(text) {
		return fmt.Errorf("cannot tell the next version of the package from this one: its crossplane.yaml has no metadata")
	}
	if err := os.WriteFile(filepath.Join(next, "crossplane.yaml"), []byte(labelled), 0o600); err != nil {
		return fmt.Errorf("cannot copy the package: %w", err)
	}
	tool, err := toolbox.Pkgtool(ctx, root, out)
	if err != nil {
		return err
	}
	_, err = crossplane.BuildPackage(ctx, tool, crossplane.Build{Folder: next, Image: image, Output: packageFile(dir, packageVersions[1])})
	return err
}

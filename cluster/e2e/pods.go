package e2e

import (
	"context"
	"errors"
	"io"
	"path/filepath"

	"github.com/provider-finops/provider-finops/cluster/controlplane"
	"github.com/provider-finops/provider-finops/cluster/crossplane"
	"github.com/provider-finops/provider-finops/cluster/deployed"
	"github.com/provider-finops/provider-finops/cluster/installation"
	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

// packageSuite is about the package itself.
const packageSuite = "package"

// tellPackageHere tells a story of Crossplane's on a node, where Crossplane
// starts the package itself. The registry has it, with its image; containerd
// pulls it from there.
func (r *run) tellPackageHere(ctx context.Context, s story, w world, dir string, out io.Writer) error {
	p := &deployed.Product{Root: r.Root, Dir: dir}
	world, err := installation.Start(ctx, installation.Options{
		Root: r.Root, Dir: dir, Programs: toolbox.Kuttl, Anchor: anchor(s), Now: p.Now, Binary: r.binary, Node: true, Progress: out,
	})
	if err != nil {
		return err
	}
	defer world.Stop()
	p.Kubectl, p.DSN, p.OpenCost = world.Product.Kubectl, world.Psql.DSN, world.Testbed.OpenCost
	defer p.Stop()
	xp, err := world.StartCrossplane(ctx, crossplane.Options{
		Root: r.Root, Runtime: crossplane.Deployment, Activate: w.Activate, Progress: out,
	})
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "provider-finops.xpkg")
	if _, err := crossplane.BuildProvider(ctx, r.Root, r.Image.Archive, file, out); err != nil {
		return err
	}
	if err := xp.Push(ctx, file, crossplane.Package, packageVersions[0]); err != nil {
		return err
	}
	env := append(world.Testbed.Environment(), databaseVariables(world.Psql)...)
	told := r.serve(ctx, s, dir, out, p, world.Testbed.Tools, append(env,
		"PACKAGE="+crossplane.Reference(crossplane.Package, packageVersions[0]), "OPENCOST="+p.OpenCost))
	return errors.Join(told, r.asked.look(ctx, p.Kubectl, filepath.Join(dir, controlplane.AuditLog)))
}

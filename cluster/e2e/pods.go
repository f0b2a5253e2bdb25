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
	p := deployed.NewPackaged(r.Root, dir, crossplane.Reference(crossplane.Package, packageVersions[0]))
	world, err := installation.Start(ctx, installation.Options{
		Root: r.Root, Dir: dir, Programs: toolbox.Kuttl, Anchor: anchor(s), Now: p.Now, Binary: r.binary,
		Node: true, Still: true, Progress: out, // The steps run what is to run.
	})
	if err != nil {
		return err
	}
	defer world.Stop()
	p.Kubectl, p.DSN, p.OpenCost = world.Product.Kubectl, world.Psql.DSN, world.Testbed.OpenCost
	defer p.Stop()
	if !atMachineTime(s) {
		p.SetTime(begin)
	}
	if err := buildPackages(ctx, r.Root, r.Image.Archive, dir, out); err != nil {
		return err
	}
	w.Runtime = crossplane.Deployment
	if err := w.startCrossplane(ctx, r.Root, dir, world, out); err != nil {
		return err
	}
	if w.Installed {
		if err := p.Install(ctx); err != nil {
			return err
		}
	}
	more, err := w.variables(ctx, r.Root, out)
	if err != nil {
		return err
	}
	env := append(world.Testbed.Environment(), databaseVariables(world.Psql)...)
	env = append(append(env, more...), "PACKAGE="+p.Package, "OPENCOST="+p.OpenCost)
	told := r.serve(ctx, s, dir, out, world.CommandedPods(p), world.Testbed.Tools, env)
	return errors.Join(told, r.asked.look(ctx, p.Kubectl, filepath.Join(dir, controlplane.AuditLog)))
}

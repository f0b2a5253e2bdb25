package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/provider-finops/provider-finops/cluster/controlplane"
	"github.com/provider-finops/provider-finops/cluster/deployed"
	"github.com/provider-finops/provider-finops/cluster/installation"
	"github.com/provider-finops/provider-finops/cluster/realm"
	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

// An Image is one that nodes can run, and the archive that they import.
type Image struct{ Name, Archive string }

// recordedBefore is how long before the machine's time the first recorded hour
// is, where stories are told at the machine's time.
const recordedBefore = 5 * time.Hour

// tellOnNode tells the story in a harness of its own, in namespaces of its own.
func (r *run) tellOnNode(ctx context.Context, s story, dir string, out io.Writer) error {
	return realm.Run(ctx, []string{
		"node-story", "--dir=" + dir, "--stories=" + r.Stories, "--binary=" + r.binary,
		"--image=" + r.Image.Name, "--archive=" + r.Image.Archive, s.String(),
	}, out, out)
}

// TellOnNode tells one story, the selected one, in the namespaces that it is
// called in. Folder, binary and image are prepared; see Run.
func TellOnNode(ctx context.Context, o Options, dir, binary string) error {
	found, err := findIn(o.folder(), o.Selected)
	if err != nil {
		return err
	}
	if len(found) != 1 {
		return fmt.Errorf("%q is not one story", o.Selected)
	}
	r := run{Options: o, binary: binary, dir: dir}
	if r.harness, err = os.Executable(); err != nil {
		return fmt.Errorf("cannot find the harness's own program: %w", err)
	}
	return r.tellHere(ctx, found[0], dir, o.Out)
}

func (r *run) tellHere(ctx context.Context, s story, dir string, out io.Writer) (err error) {
	p := &deployed.Product{Root: r.Root, Dir: dir, Image: r.Image.Name}
	world, err := installation.Start(ctx, installation.Options{
		Root: r.Root, Dir: dir, Programs: toolbox.Kuttl, Anchor: anchor(s), Now: p.Now, Binary: r.binary, Node: true, Progress: out,
	})
	if err != nil {
		return err
	}
	defer world.Stop()
	if err := world.Testbed.Node.Import(ctx, r.Image.Archive); err != nil {
		return err
	}
	p.Kubectl, p.DSN, p.OpenCost = world.Product.Kubectl, world.Psql.DSN, world.Testbed.OpenCost
	defer p.Stop()
	if !atMachineTime(s) {
		p.SetTime(begin)
	}
	installing := time.Now()
	if err := p.Install(ctx, r.binary); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "installed after %s\n", time.Since(installing).Round(100*time.Millisecond))
	told := r.serve(ctx, s, dir, out, p, world.Testbed.Tools, append(world.Testbed.Environment(), databaseVariables(world.Psql)...))
	return errors.Join(told, r.asked.look(ctx, p.Kubectl, filepath.Join(dir, controlplane.AuditLog)))
}

// atMachineTime says whether a story is told at the machine's own time: where
// CronJobs fire, and where nobody moves the clock.
func atMachineTime(s story) bool { return s.suite == nodeSuite || s.suite == anywhereSuite }

func anchor(s story) time.Time {
	if atMachineTime(s) {
		return time.Now().Truncate(time.Hour).Add(-recordedBefore)
	}
	return begin
}

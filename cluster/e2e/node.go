package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/provider-finops/provider-finops/cluster/controlplane"
	"github.com/provider-finops/provider-finops/cluster/deployed"
	"github.com/provider-finops/provider-finops/cluster/installation"
	"github.com/provider-finops/provider-finops/cluster/node"
	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/product"
	"github.com/provider-finops/provider-finops/cluster/realm"
	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

// An Image is one that nodes can run, and the archive that they import.
type Image struct{ Name, Archive string }

// recordedBefore is how long before the machine's time the first recorded hour
// is, where stories are told at the machine's time.
const recordedBefore = 5 * time.Hour

// settleTimeout is how long what a story has left may take to end, to be settled
// and to go: namespaces are looked at again every few seconds only.
const settleTimeout = 5 * time.Minute

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
	o.On = OnNode
	r := run{Options: o, binary: binary, dir: dir}
	if r.harness, err = os.Executable(); err != nil {
		return fmt.Errorf("cannot find the harness's own program: %w", err)
	}
	return r.tellHere(ctx, found[0], dir, o.Out)
}

func (r *run) tellHere(ctx context.Context, s story, dir string, out io.Writer) (err error) {
	begins, err := worldOf(r.Root, s)
	if err != nil {
		return err
	}
	if begins.Crossplane {
		return r.tellPackageHere(ctx, s, begins, dir, out)
	}
	p := &deployed.Product{Root: r.Root, Dir: dir, Image: r.Image.Name}
	world, err := installation.Start(ctx, installation.Options{
		Root: r.Root, Dir: dir, Programs: toolbox.Kuttl, Anchor: anchor(s), Now: p.Now, Binary: r.binary,
		Node: true, Still: !atMachineTime(s), Progress: out,
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
	tell := func() error {
		env := append(world.Testbed.Environment(), databaseVariables(world.Psql)...)
		return r.serve(ctx, s, dir, out, p, world.Testbed.Tools, append(env, "IMAGE="+r.Image.Name, "CONTAINERD="+node.Socket()))
	}
	if s.suite == anywhereSuite {
		tell = func() error { return r.tellAsUser(ctx, s, p, dir, out) }
	}
	told := tell()
	return errors.Join(told, r.asked.look(ctx, p.Kubectl, filepath.Join(dir, controlplane.AuditLog)))
}

// tellAsUser tells the story as in a cluster that a user has named: this one plays
// that part. Then it shows that nothing stays, once the hour is over and a run has
// charged it.
func (r *run) tellAsUser(ctx context.Context, s story, p *deployed.Product, dir string, out io.Writer) error {
	if _, err := p.Kubectl.Run(ctx, "apply", "-f", "examples/collectors"); err != nil {
		return err
	}
	if err := p.WaitForCronJobs(ctx); err != nil {
		return err
	}
	users := filepath.Join(dir, "user") // Whose folder has nothing of ours.
	if err := os.Mkdir(users, 0o755); err != nil {
		return fmt.Errorf("cannot make a folder for the user: %w", err)
	}
	if err := r.tellBeside(ctx, s, p.Kubectl.Kubeconfig, users, out); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	err := process.WaitFor(ctx, "what the story has left to end", func(ctx context.Context) error { return ended(ctx, p.Kubectl) })
	if err != nil {
		return err
	}
	if _, _, err := p.NextHour(ctx); err != nil {
		return err
	}
	if err := hasten(ctx, p.Kubectl); err != nil {
		return err
	}
	return process.WaitFor(ctx, "what the story has left to go", func(ctx context.Context) error {
		namespaces, err := p.Kubectl.Run(ctx, "get", "namespaces", "--output=name")
		if strings.Contains(namespaces, storyNamespaces) {
			return fmt.Errorf("there are still %s", strings.Fields(namespaces))
		}
		return err
	})
}

// hasten has the stories' namespaces looked at again. Kubernetes does so by itself,
// but after each time in vain it waits longer, up to a minute.
func hasten(ctx context.Context, kubectl product.Kubectl) error {
	namespaces, err := kubectl.Run(ctx, "get", "namespaces", "--output=name")
	for name := range strings.FieldsSeq(namespaces) {
		if strings.Contains(name, storyNamespaces) {
			_, _ = kubectl.Run(ctx, "annotate", name, "finops.test/look=again") // One that has gone meanwhile needs none.
		}
	}
	return err
}

// ended says whether every Subscription has ended: a moved clock would put an end
// that has yet to be decided into the next hour.
func ended(ctx context.Context, kubectl product.Kubectl) error {
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Status   struct{ DeactivatedAt string }
		}
	}
	if err := kubectl.Get(ctx, &list, "subscriptions.finops.stakater.com", "--all-namespaces"); err != nil {
		return err
	}
	for _, s := range list.Items {
		if s.Status.DeactivatedAt == "" {
			return fmt.Errorf("%s has not", s.Metadata.Name)
		}
	}
	return nil
}

// atMachineTime says whether a story is told at the machine's own time: where
// CronJobs fire, and where nobody moves the clock.
func atMachineTime(s story) bool {
	return s.suite == nodeSuite || s.suite == packageSuite || s.suite == anywhereSuite || s.suite == hoursSuite
}

func anchor(s story) time.Time {
	if atMachineTime(s) {
		return time.Now().Truncate(time.Hour).Add(-recordedBefore)
	}
	return begin
}

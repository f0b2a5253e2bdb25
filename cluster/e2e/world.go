package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/provider-finops/provider-finops/cluster/crossplane"
	"github.com/provider-finops/provider-finops/cluster/installation"
	"github.com/provider-finops/provider-finops/cluster/isolation"
	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

// worldFile says what a story, or every story of a suite, begins with. Without
// one that is the product by its plain manifests.
const worldFile = "world.json"

// A world is what a story begins with.
type world struct {
	// Crossplane runs, and the product only as its package. The registry has the
	// package in the versions of packageVersions.
	Crossplane bool `json:"crossplane"`

	// Runtime of the package; empty: External. On a node it is the other one.
	Runtime string `json:"runtime"`

	// Activate says which kinds of packages exist at once, such as "*".
	Activate string `json:"activate"`

	// Functions says that the composition functions which examples name can be
	// installed; ones of our own run in their place. With them the steps have
	// Crossplane's command line, as CROSSPLANE.
	Functions bool `json:"functions"`

	// Pods says that the story can be told on a node too, where Crossplane makes a
	// Deployment of the package, or there only; see alsoAsPods.
	Pods string `json:"pods"`

	// Installed says that the package is installed and its kinds are served.
	Installed bool `json:"installed"`

	// Own says why the story cannot be told in somebody's cluster; empty: it can.
	Own string `json:"own"`
}

// What a story of Crossplane's says about pods.
const (
	alsoAsPods = "also"
	onlyAsPods = "only"
)

// worldOf reads what the story begins with: its own file, or else its suite's.
func worldOf(root string, s story) (w world, err error) {
	for _, dir := range []string{filepath.Join(s.suite, s.name), s.suite} {
		text, err := os.ReadFile(filepath.Join(root, suites, dir, worldFile))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = json.Unmarshal(text, &w)
		}
		if err != nil {
			return w, fmt.Errorf("cannot read what story %s begins with: %w", s, err)
		}
		return w, nil
	}
	return w, nil
}

// prepare puts the product into the cluster, at the business time that every
// story begins at.
func (w world) prepare(ctx context.Context, root, dir string, into *installation.Installation, out io.Writer) error {
	if w.Crossplane {
		return w.preparePackage(ctx, root, dir, into, out)
	}
	if err := into.InstallDefinitions(ctx); err != nil {
		return err
	}
	if err := into.Product.MoveTo(ctx, begin); err != nil {
		return err
	}
	return into.RegisterWebhooks(ctx)
}

func (w world) preparePackage(ctx context.Context, root, dir string, into *installation.Installation, out io.Writer) error {
	if err := w.startCrossplane(ctx, root, dir, into, out); err != nil {
		return err
	}
	if err := into.Product.MoveTo(ctx, begin); err != nil || !w.Installed { // It does not run until it is installed.
		return err
	}
	return into.InstallPackage(ctx, packageVersions[0])
}

// startCrossplane starts it with everything in its registry, and nothing of that
// installed.
func (w world) startCrossplane(ctx context.Context, root, dir string, into *installation.Installation, out io.Writer) error {
	o := crossplane.Options{Root: root, Runtime: w.Runtime, Activate: w.Activate, Progress: out}
	if w.Functions {
		o.Functions = crossplane.FunctionAddresses()
	}
	xp, err := into.StartCrossplane(ctx, o)
	if err != nil {
		return err
	}
	for _, version := range packageVersions {
		if err := xp.Push(ctx, packageFile(dir, version), crossplane.Package, version); err != nil {
			return err
		}
	}
	if !w.Functions {
		return nil
	}
	function, err := toolbox.Function(ctx, root, out)
	if err != nil {
		return err
	}
	return into.OfferFunctions(ctx, function.Path("function"))
}

// variables are what the steps of a story of this world have beside the others.
func (w world) variables(ctx context.Context, root string, out io.Writer) ([]string, error) {
	if !w.Functions {
		return nil, nil
	}
	cli, err := toolbox.CrossplaneCLI(ctx, root, out)
	return []string{"CROSSPLANE=" + cli.Path("crossplane")}, err
}

// build makes what a world needs while there is a network.
func (w world) build(ctx context.Context, root string, out io.Writer) error {
	if _, err := crossplane.FindTools(ctx, root, out); err != nil || !w.Functions {
		return err
	}
	if _, err := toolbox.Function(ctx, root, out); err != nil {
		return err
	}
	_, err := toolbox.CrossplaneCLI(ctx, root, out)
	return err
}

// tellApart tells a story of Crossplane's in a harness and a network of its own.
func (r *run) tellApart(ctx context.Context, s story, w world, dir string, out io.Writer) error {
	if err := w.build(ctx, r.Root, out); err != nil {
		return err
	}
	if err := buildPackages(ctx, r.Root, "", dir, out); err != nil {
		return err
	}
	cmd, err := isolation.Command(ctx, "story", "--dir="+dir, "--binary="+r.binary, s.String())
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = out, out
	return isolation.Explain(cmd.Run())
}

// Tell tells one story, suite/name, in the network that it is called in. Folder
// and binary are prepared; see Run.
func Tell(ctx context.Context, root, dir, binary, name string, out io.Writer) error {
	found, err := findStories(root, name)
	if err != nil {
		return err
	}
	if len(found) != 1 {
		return fmt.Errorf("%q is not one story", name)
	}
	if err := isolation.Open(crossplane.ServiceNetwork); err != nil {
		return err
	}
	r := run{Options: Options{Root: root, On: OnControlPlane, Out: out}, binary: binary}
	if r.harness, err = os.Executable(); err != nil {
		return fmt.Errorf("cannot find the harness's own program: %w", err)
	}
	return r.tell(ctx, found[0], dir, out)
}

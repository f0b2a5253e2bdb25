package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/provider-finops/provider-finops/cluster/control"
	"github.com/provider-finops/provider-finops/cluster/crossplane"
	"github.com/provider-finops/provider-finops/cluster/e2e"
	"github.com/provider-finops/provider-finops/cluster/installation"
	"github.com/provider-finops/provider-finops/cluster/isolation"
	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/product"
	"github.com/provider-finops/provider-finops/cluster/stay"
	"github.com/provider-finops/provider-finops/cluster/testbed"
	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

// The ways from outside into a cluster with Crossplane.
const (
	doorAPI      = "api"
	doorPostgres = "postgres"
	doorControl  = "control"
)

var crossplaneDoors = []string{doorAPI, doorPostgres, doorControl}

const packageFile = "provider-finops.xpkg"

// storyCommand is for the harness itself: a story of Crossplane's is told by
// one in a network of its own.
var storyCommand = command{
	name:    "story",
	args:    "SUITE/STORY",
	summary: "Tell one story, inside a network of its own; e2e calls it.",
	define: func(flags *flag.FlagSet) func(context.Context, []string) error {
		dir := flags.String("dir", "", "prepared `folder` of the story")
		binary := flags.String("binary", "", "the `program` to tell about")
		return func(ctx context.Context, args []string) error {
			if len(args) != 1 {
				return errors.New("story needs one story, such as package/install")
			}
			ctx, cancel := process.Lifetime(ctx, nil)
			defer cancel()
			root, err := toolbox.ProjectRoot(".")
			if err != nil {
				return err
			}
			return e2e.Tell(ctx, root, *dir, *binary, args[0], os.Stdout)
		}
	},
}

var crossplaneCommand = command{
	name:    "crossplane",
	summary: "Run a cluster with Crossplane and the product as its package, and say how to attach.",
	details: `Crossplane listens on every interface, so all of it runs in a network of its own;
"harness attach" knows the addresses that lead there. There
is no node: the harness runs the package as the package manager wants it, and a
composition function of its own for the three that the examples install.

` + lifetimeText + `
Then everything is stopped, and all data removed.`,
	define: func(flags *flag.FlagSet) func(context.Context, []string) error {
		inside := flags.String("inside", "", "for the harness itself: the prepared `folder`")
		offer := flags.String("offer", "", "for the harness itself: the `folder` that says how to attach")
		activate := flags.String("activate", "*", "which `kinds` of packages exist from the start; empty: none until a ManagedResourceActivationPolicy says so")
		bare := flags.Bool("bare", false, "do not install the package")
		return func(ctx context.Context, _ []string) error {
			root, err := toolbox.ProjectRoot(".")
			if err != nil {
				return err
			}
			w := withCrossplane{root: root, dir: *inside, offer: *offer, activate: *activate, bare: *bare}
			if *inside != "" {
				ctx, cancel := process.Lifetime(ctx, os.Stdin)
				defer cancel()
				return w.inside(ctx)
			}
			ctx, cancel := process.Lifetime(ctx, nil)
			defer cancel()
			return w.outside(ctx)
		}
	},
}

// withCrossplane is one run of the command, in either of its two processes.
type withCrossplane struct {
	root, dir, offer, activate string
	bare                       bool
}

// outside builds everything, and runs the inside.
func (w withCrossplane) outside(ctx context.Context) (err error) {
	if w.dir, err = process.Folder("crossplane"); err != nil {
		return err
	}
	defer func() {
		if err == nil {
			_ = os.RemoveAll(w.dir) // A folder under the temporary one is no harm.
		} else {
			fmt.Fprintf(os.Stderr, "harness: the logs of everything that ran are in %s\n", w.dir)
		}
	}()
	if err := os.Chmod(w.dir, 0o755); err != nil {
		return fmt.Errorf("cannot open the folder: %w", err)
	}
	if err := stay.Clean(w.root, "crossplane"); err != nil {
		return err
	}
	owner, err := process.Self()
	if err != nil {
		return err
	}
	if w.offer, err = stay.Folder(w.root, "crossplane", owner.String()); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(w.offer) }() // It lies in the folder that "make clean" removes.
	if _, err := product.Build(ctx, w.root, w.dir, os.Stderr); err != nil {
		return err
	}
	if _, err := crossplane.FindTools(ctx, w.root, os.Stderr); err != nil {
		return err
	}
	if _, err := toolbox.Open(ctx, w.root, os.Stderr, toolbox.ControlPlane...); err != nil {
		return err
	}
	if _, err := toolbox.Function(ctx, w.root, os.Stderr); err != nil {
		return err
	}
	if _, err := crossplane.BuildProvider(ctx, w.root, "", filepath.Join(w.dir, packageFile), os.Stderr); err != nil {
		return err
	}
	cmd, err := isolation.Command(ctx, "crossplane", "--inside="+w.dir, "--offer="+w.offer, "--activate="+w.activate, fmt.Sprintf("--bare=%t", w.bare))
	if err != nil {
		return err
	}
	if err := isolation.WithDoors(cmd, crossplaneDoors...); err != nil {
		return err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = isolation.Explain(cmd.Run())
	if ctx.Err() != nil {
		fmt.Fprintln(os.Stderr, "\nStopped; everything is removed.")
		return nil // It was asked to end, and has.
	}
	return err
}

func (w withCrossplane) inside(ctx context.Context) error {
	if err := isolation.Open(crossplane.ServiceNetwork); err != nil {
		return err
	}
	hall, err := isolation.EnterHall()
	if err != nil {
		return err
	}
	defer hall.Close()
	i, err := installation.Start(ctx, installation.Options{
		Root: w.root, Dir: w.dir, Anchor: time.Unix(0, 0), Binary: filepath.Join(w.dir, "provider-finops"), Progress: os.Stderr,
	})
	if err != nil {
		return err
	}
	defer i.Stop()
	xp, err := i.StartCrossplane(ctx, crossplane.Options{
		Root: w.root, Activate: w.activate, Functions: crossplane.FunctionAddresses(), Progress: os.Stderr,
	})
	if err != nil {
		return err
	}
	if err := xp.Push(ctx, filepath.Join(w.dir, packageFile), crossplane.Package, version); err != nil {
		return err
	}
	function, err := toolbox.Function(ctx, w.root, os.Stderr)
	if err != nil {
		return err
	}
	if err := i.OfferFunctions(ctx, function.Path("function")); err != nil {
		return err
	}
	if !w.bare {
		if err := i.InstallPackage(ctx, version); err != nil {
			return err
		}
	}
	server, err := control.Serve(i.Commanded())
	if err != nil {
		return err
	}
	defer server.Stop()
	if err := w.tell(os.Stdout, hall, i, server); err != nil {
		return err
	}
	return i.Wait(ctx)
}

// version is the one that the package is pushed as.
const version = "v0.1.0"

// tell says how to get at everything from outside.
func (w withCrossplane) tell(out io.Writer, hall *isolation.Hall, i *installation.Installation, server *control.Server) error {
	lead := func(door, inside string) (outside string, err error) {
		u, err := url.Parse(inside)
		if err != nil {
			return "", fmt.Errorf("cannot read where %s is: %w", door, err)
		}
		u.Host = hall.Lead(door, u.Host)
		return u.String(), nil
	}
	kubeconfig, err := i.Testbed.KubeconfigAt(w.dir, hall.Lead(doorAPI, i.Testbed.APIServer()))
	if err != nil {
		return err
	}
	dsn, failed := lead(doorPostgres, i.Psql.DSN)
	if failed != nil {
		return failed
	}
	commands, failed := lead(doorControl, server.URL)
	if failed != nil {
		return failed
	}
	harness, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot find the harness's own program: %w", err)
	}
	err = stay.Offer(w.offer, []string{
		"KUBECONFIG=" + kubeconfig, "KUBECACHEDIR=" + testbed.KubectlCache(kubeconfig),
		"DSN=" + dsn, control.Variable + "=" + commands, "LOGS=" + w.dir,
	}, []string{i.Testbed.Tools.Dir, filepath.Dir(i.Psql.Path), filepath.Dir(harness)})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, `
The cluster runs. In another terminal:

  cd %s
  eval "$(_output/harness attach crossplane)"

  kubectl get providers.pkg.crossplane.io

docs/getting-started-with-crossplane.md goes on from here.
To stop and remove everything: Ctrl-C here.

`, w.root)
	return err
}

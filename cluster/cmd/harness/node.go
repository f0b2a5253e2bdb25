package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/provider-finops/provider-finops/cluster/node"
	"github.com/provider-finops/provider-finops/cluster/postgres"
	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/realm"
	"github.com/provider-finops/provider-finops/cluster/relay"
	"github.com/provider-finops/provider-finops/cluster/stay"
	"github.com/provider-finops/provider-finops/cluster/testbed"
	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

const imageReference = "provider-finops:dev"

var nodeCommand = command{
	name:    "node",
	summary: "Run a cluster with a real node, the image on it, and print where it is.",
	details: `Pods run: containerd, runc and the network plug-ins are the machine's, installed
by apt where they are missing; kubelet and scheduler are built with the rest. It
needs root. All of it lives in namespaces of its own, so the machine sees none
of its links and mounts; what is printed leads inside. Pods reach PostgreSQL and
the replayed OpenCost at addresses of the node. Names of Services do not resolve.

` + lifetimeText + `
Then everything is stopped, and all data removed.`,
	define: func(flags *flag.FlagSet) func(context.Context, []string) error {
		replayArgs := defineReplay(flags)
		return func(ctx context.Context, _ []string) error {
			if !realm.Inside() {
				ctx, cancel := process.Lifetime(ctx, os.Stdin)
				defer cancel()
				return enterRealm(ctx)
			}
			ctx, cancel := process.Lifetime(ctx, nil)
			defer cancel()
			replay := replayArgs()
			return runNode(ctx, testbed.Parts{
				ControlPlane: true, Node: true, Postgres: &postgres.Options{Progress: os.Stderr}, Replay: &replay,
			})
		}
	},
}

var cleanCommand = command{
	name:    "clean",
	summary: "Remove what harnesses have left that were killed hard.",
	details: `That is temporary folders, and the logs of what failed; the next run of the same
kind does the same. The kernel has taken away the rest, and of a node its first
process: only if that was killed too, control groups are left to this. What still
runs is left alone.`,
	define: func(*flag.FlagSet) func(context.Context, []string) error {
		return func(ctx context.Context, _ []string) error {
			root, err := toolbox.ProjectRoot(".")
			if err != nil {
				return err
			}
			return errors.Join(realm.Clean(ctx), stay.Clean(root, ""), process.CleanFolders())
		}
	},
}

// enterRealm runs this command once more in namespaces of its own, once there is
// everything that has to come from outside: packages, programs, the image.
func enterRealm(ctx context.Context) error {
	root, err := toolbox.ProjectRoot(".")
	if err != nil {
		return err
	}
	if err := stay.Clean(root, "node"); err != nil {
		return err
	}
	if err := prepareNode(ctx, root); err != nil {
		return err
	}
	err = realm.Run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exitError(exit.ExitCode()) // The inside has said why.
	}
	return err
}

// prepareNode sees to everything that has to come from outside.
func prepareNode(ctx context.Context, root string) error {
	if os.Geteuid() != 0 {
		return realm.ErrNotRoot
	}
	if _, err := node.Find(ctx, os.Stderr); err != nil {
		return err
	}
	if _, err := postgres.Find(ctx, os.Stderr); err != nil {
		return err
	}
	if _, err := toolbox.Open(ctx, root, os.Stderr, append(toolbox.Node, toolbox.ControlPlane...)...); err != nil {
		return err
	}
	_, err := buildImage(ctx, root, runtime.GOARCH, imageReference, nodeImage(root))
	return err
}

// nodeImage is the archive that the node imports.
func nodeImage(root string) string {
	return filepath.Join(root, "_output", "image-"+runtime.GOARCH+".tar")
}

// runNode is the inside of the node command.
func runNode(ctx context.Context, parts testbed.Parts) error {
	root, err := toolbox.ProjectRoot(".")
	if err != nil {
		return err
	}
	dir, err := stay.Folder(root, "node", realm.Owner())
	if err != nil {
		return err
	}
	parts.Logs = filepath.Join(dir, "logs")
	bed, err := testbed.Start(ctx, root, parts, os.Stderr)
	if err != nil {
		return fmt.Errorf("%w; the logs of everything that ran are in %s", err, dir)
	}
	defer func() { _ = os.RemoveAll(dir) }() // It lies in the folder that "make clean" removes.
	defer bed.Stop()
	if err := bed.Node.Import(ctx, nodeImage(root)); err != nil {
		return err
	}
	lines, stop, err := leadOutside(bed, dir)
	defer stop()
	if err != nil {
		return err
	}
	harness, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot find the harness's own program: %w", err)
	}
	if err := stay.Offer(dir, lines, []string{bed.Tools.Dir, filepath.Dir(bed.Psql), filepath.Dir(harness)}); err != nil {
		return err
	}
	for _, line := range lines {
		fmt.Println(line)
	}
	fmt.Fprintf(os.Stderr, nodeHint, root)
	return bed.Wait(ctx)
}

// nodeHint is for people; what is printed otherwise is for programs.
const nodeHint = `
The cluster runs. In another terminal:

  cd %s
  eval "$(_output/harness attach node)"

  kubectl get nodes
  psql "$DSN" -c 'SELECT version()'

To stop and remove everything: Ctrl-C here.

`

// leadOutside lets the machine reach the parts, and says where.
func leadOutside(bed *testbed.Testbed, dir string) (lines []string, stop func(), err error) {
	var exposed []*relay.Relay
	stop = func() {
		for _, e := range exposed {
			e.Stop()
		}
	}
	expose := func(address string) string {
		e, failed := realm.Expose(address)
		if failed != nil {
			err = errors.Join(err, failed)
			return ""
		}
		exposed = append(exposed, e)
		return e.Address
	}
	kubeconfig, failed := bed.KubeconfigAt(dir, expose("127.0.0.1:443"))
	err = errors.Join(err, failed)
	dsn := moved(bed.DSN, expose, &err)
	lines = []string{
		"KUBECONFIG=" + kubeconfig,
		"KUBECACHEDIR=" + testbed.KubectlCache(kubeconfig),
		"DSN=" + dsn,
		testbed.PostgresVariable + "=" + dsn,
		testbed.OpenCostVariable + "=" + moved(bed.OpenCost, expose, &err),
		"IMAGE=" + imageReference,
		"POD_POSTGRES=" + bed.DSN,
		"POD_OPENCOST=" + bed.OpenCost,
	}
	return lines, stop, err
}

// moved is the URL at the address where its host is exposed.
func moved(text string, expose func(string) string, err *error) string {
	u, failed := url.Parse(text)
	if failed != nil {
		*err = errors.Join(*err, failed)
		return ""
	}
	u.Host = expose(u.Host)
	return u.String()
}

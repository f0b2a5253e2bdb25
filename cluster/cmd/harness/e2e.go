package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"runtime"

	"github.com/provider-finops/provider-finops/cluster/e2e"
	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/realm"
	"github.com/provider-finops/provider-finops/cluster/testbed"
	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

var e2eCommand = command{
	name:    "e2e",
	summary: "Run the kuttl stories.",
	details: `Each story has a control plane, a database and a controller of its own; or, on the
node, a cluster in which pods run, with the product installed from the plain
manifests; or it is told in the cluster that FINOPS_TEST_KUBECONFIG names, if
that is set. There only stories that disturb nobody are told, unless you name one.

Reports in JUnit's format go to _output/reports. The logs of a story that failed
are kept, and its folder is named.`,
	define: func(flags *flag.FlagSet) func(context.Context, []string) error {
		on := flags.String("on", "", "`place` to tell them in: controlplane, node or named (default named, if a cluster is, else controlplane)")
		selected := flags.String("suite", "", "run these `suites or stories` only, such as finops, first-bill or finops/first-bill, parted by commas")
		stories := flags.String("stories", "", "tell the stories of this `folder` of suites instead of those of the project")
		parallel := flags.Int("parallel", 0, "run so many `stories` at once (default one for each CPU, at most 4; on the node 3; in a cluster of yours 1)")
		return func(ctx context.Context, _ []string) error {
			ctx, cancel := process.Lifetime(ctx, nil)
			defer cancel()
			root, err := toolbox.ProjectRoot(".")
			if err != nil {
				return err
			}
			o := e2e.Options{Root: root, On: *on, Stories: *stories, Selected: *selected, Parallel: *parallel, Out: os.Stdout}
			if o.On == "" {
				o.On = e2e.OnControlPlane
				if os.Getenv(testbed.KubeconfigVariable) != "" {
					o.On = e2e.OnNamed
				}
			}
			if o.Parallel == 0 {
				o.Parallel = map[string]int{
					e2e.OnControlPlane: min(runtime.NumCPU(), 4),
					e2e.OnNode:         3, // They wait for minutes to pass, most of the time; but a machine has few inotify instances.
					e2e.OnNamed:        1,
				}[o.On]
			}
			if o.On == e2e.OnNode {
				if err := prepareNode(ctx, root); err != nil {
					return err
				}
				o.Image = e2e.Image{Name: imageReference, Archive: nodeImage(root)}
			}
			return e2e.Run(ctx, o)
		}
	},
}

// nodeStoryCommand is for the harness itself.
var nodeStoryCommand = command{
	name:    "node-story",
	args:    "SUITE/STORY",
	summary: "Tell one story on a node, inside namespaces of its own; e2e calls it.",
	define: func(flags *flag.FlagSet) func(context.Context, []string) error {
		var (
			dir     = flags.String("dir", "", "prepared `folder` of the story")
			stories = flags.String("stories", "", "`folder` of suites")
			binary  = flags.String("binary", "", "the product's `program`")
			image   = flags.String("image", "", "`name` of the product's image")
			archive = flags.String("archive", "", "`file` with that image")
		)
		return func(ctx context.Context, args []string) error {
			if len(args) != 1 || !realm.Inside() {
				return errors.New("node-story needs one story, and is called by e2e only")
			}
			ctx, cancel := process.Lifetime(ctx, nil)
			defer cancel()
			root, err := toolbox.ProjectRoot(".")
			if err != nil {
				return err
			}
			return e2e.TellOnNode(ctx, e2e.Options{
				Root: root, Stories: *stories, Selected: args[0], Image: e2e.Image{Name: *image, Archive: *archive}, Out: os.Stdout,
			}, *dir, *binary)
		}
	},
}

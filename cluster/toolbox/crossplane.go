package toolbox

import (
	"context"
	"io"
)

// What is in the folder of Crossplane beside its program.
const (
	CrossplaneCRDs  = "crds"  // The definitions it installs.
	CrossplaneChart = "chart" // The Helm chart it is installed with.
)

// Without a version stamped in, Crossplane is incompatible with every package
// that asks for one.
const crossplaneVersion = "-s -w -X github.com/crossplane/crossplane-runtime/v2/pkg/version.version="

var crossplaneCore = set{
	name:     "crossplane",
	module:   "cluster/crossplane/core",
	contents: "Crossplane; this happens once and takes some 4 minutes on 2 cores",
	programs: []string{"github.com/crossplane/crossplane/v2/cmd/crossplane"},
	flags:    buildFlags(crossplaneVersion + "v2.3.4"),
	filesOf:  "github.com/crossplane/crossplane/v2",
	files:    map[string]string{"cluster/crds": CrossplaneCRDs, "cluster/charts/crossplane": CrossplaneChart},
}

var crossplaneCLI = set{
	name:     "crossplane-cli",
	module:   "cluster/crossplane/cli",
	contents: "Crossplane's command line; this happens once and takes some 3 minutes on 2 cores",
	programs: []string{"github.com/crossplane/cli/v2/cmd/crossplane"},
	flags:    buildFlags(crossplaneVersion + "v2.5.0"),
}

var pkgtool = set{
	name:     "pkgtool",
	module:   "cluster/crossplane/pkgtool",
	contents: "pkgtool, which makes and serves packages; this happens once and takes some 2 minutes on 2 cores",
	programs: []string{"."},
	flags:    buildFlags("-s -w"),
}

// Crossplane returns the folder with Crossplane itself, called crossplane.
func Crossplane(ctx context.Context, root string, progress io.Writer) (Toolbox, error) {
	return crossplaneCore.cached(ctx, root, progress)
}

// CrossplaneCLI returns the folder with its command line, called crossplane too.
func CrossplaneCLI(ctx context.Context, root string, progress io.Writer) (Toolbox, error) {
	return crossplaneCLI.cached(ctx, root, progress)
}

// Pkgtool returns the folder with the program of that name.
func Pkgtool(ctx context.Context, root string, progress io.Writer) (Toolbox, error) {
	return pkgtool.cached(ctx, root, progress)
}

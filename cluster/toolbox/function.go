package toolbox

import (
	"context"
	"io"
)

var function = set{
	name:     "function",
	module:   "cluster/function",
	contents: "the composition function; this takes some seconds whenever it has changed",
	programs: []string{"."},
	flags:    buildFlags("-s -w"),
}

// Function returns the folder with the composition function, called function.
func Function(ctx context.Context, root string, progress io.Writer) (Toolbox, error) {
	return function.cached(ctx, root, progress)
}

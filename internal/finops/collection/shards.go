package collection

import (
	"slices"
	"strings"
)

// Unallocated is what OpenCost calls the namespace of what has none.
const Unallocated = "__unallocated__"

// Shards splits the namespaces of an hour into groups of at most size, one for
// each query. They are sorted by name, so equal namespaces are split alike and
// the groups one after another are in the order of the rows' key. Each namespace
// is in one group, however often it is named.
func Shards(namespaces []string, size int) [][]string {
	sorted := slices.Clone(namespaces)
	for i, n := range sorted {
		if n == "" {
			sorted[i] = Unallocated
		}
	}
	slices.SortFunc(sorted, strings.Compare)
	return slices.Collect(slices.Chunk(slices.Compact(sorted), max(size, 1)))
}

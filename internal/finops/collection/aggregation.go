package collection

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// DefaultAggregation is what rows are grouped by unless somebody says otherwise.
const DefaultAggregation = "namespace,pod,container"

// dimensions are the words OpenCost knows, in the order in which a key is put
// together. Labels and annotations come last.
var dimensions = []string{
	"cluster", "node", "namespace", "controllerKind", "controller", "service", "deployment", "statefulset", "daemonset", "job",
	"providerID", "department", "environment", "owner", "product", "team", "pod", "container",
}

// Aggregation returns a list of dimensions in its one form, so that two ways to
// write it are one key: without spaces, each word as OpenCost spells it, in a
// fixed order. OpenCost drops a word it does not know in silence and sums up
// what should be kept apart, so such a word is refused here, and so is a list
// without the namespace, which nobody could be charged by.
func Aggregation(list string) (string, error) {
	var words []string
	for word := range strings.SplitSeq(list, ",") {
		word, known := dimension(strings.TrimSpace(word))
		if !known {
			return "", fmt.Errorf("cannot aggregate by %q: OpenCost knows no such dimension", word)
		}
		if slices.Contains(words, word) {
			return "", fmt.Errorf("cannot aggregate by %q twice", word)
		}
		words = append(words, word)
	}
	if !slices.Contains(words, "namespace") {
		return "", fmt.Errorf("cannot aggregate by %q: charges need the namespace", list)
	}

	slices.SortFunc(words, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
	return strings.Join(words, ","), nil
}

// dimension returns a word as OpenCost spells it.
func dimension(word string) (string, bool) {
	for _, known := range dimensions {
		if strings.EqualFold(word, known) {
			return known, true
		}
	}

	kind, name, _ := strings.Cut(word, ":")
	kind = strings.ToLower(kind)
	if (kind == "label" || kind == "annotation") && name != "" {
		return kind + ":" + name, true
	}
	return word, false
}

func rank(word string) int {
	if i := slices.Index(dimensions, word); i >= 0 {
		return i
	}
	return len(dimensions)
}

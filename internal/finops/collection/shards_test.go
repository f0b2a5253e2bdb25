package collection

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestShards(t *testing.T) {
	cases := map[string]struct {
		reason     string
		namespaces []string
		size       int
		want       [][]string
	}{
		"None":          {reason: "An hour without namespaces needs no query.", size: 25},
		"Sorted":        {reason: "The order in which they were discovered does not matter.", namespaces: []string{"shop", "acme", "ml"}, size: 2, want: [][]string{{"acme", "ml"}, {"shop"}}},
		"Full":          {reason: "No empty group follows a full one.", namespaces: []string{"a", "b", "c", "d"}, size: 2, want: [][]string{{"a", "b"}, {"c", "d"}}},
		"Twice":         {reason: "A namespace in two groups would be fetched twice.", namespaces: []string{"b", "a", "b"}, size: 1, want: [][]string{{"a"}, {"b"}}},
		"Pseudo":        {reason: "OpenCost's own namespaces are asked for like others; what has none has a name there.", namespaces: []string{"a", "__unmounted__", ""}, size: 9, want: [][]string{{"__unallocated__", "__unmounted__", "a"}}},
		"NoSizeAtAll":   {reason: "A size that is none cannot make a group without members.", namespaces: []string{"a", "b"}, want: [][]string{{"a"}, {"b"}}},
		"LargerThanAll": {reason: "One group holds all.", namespaces: []string{"a", "b"}, size: 100, want: [][]string{{"a", "b"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Shards(tc.namespaces, tc.size), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\nShards: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

package ref

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPath(t *testing.T) {
	cases := map[string]struct {
		reason string
		keys   []Key
		want   string
	}{
		"Nothing": {
			reason: "No walk has no text.",
		},
		"Loop": {
			reason: "A loop is written with its first member repeated at the end by the caller.",
			keys:   []Key{{"a", "x"}, {"b", "y"}, {"a", "x"}},
			want:   "a/x -> b/y -> a/x",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Path(tc.keys)); diff != "" {
				t.Errorf("%s\nPath(...): -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestCompare(t *testing.T) {
	keys := []Key{{"b", "a"}, {"a", "b"}, {"a", "a"}}
	slices.SortFunc(keys, Compare)

	want := []Key{{"a", "a"}, {"a", "b"}, {"b", "a"}}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("The namespace decides before the name.\nCompare(...): -want +got:\n%s", diff)
	}
}

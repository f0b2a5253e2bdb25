package ref

import (
	"slices"
	"strconv"
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
		"LongestWhole": {
			reason: "To leave out a single one would make nothing shorter.",
			keys:   walk(17),
			want:   "n/0 -> n/1 -> n/2 -> n/3 -> n/4 -> n/5 -> n/6 -> n/7 -> n/8 -> n/9 -> n/10 -> n/11 -> n/12 -> n/13 -> n/14 -> n/15 -> n/16",
		},
		"Long": {
			reason: "Messages have a limit: of a long walk the beginning and the end are written.",
			keys:   walk(10_000),
			want:   "n/0 -> n/1 -> n/2 -> n/3 -> n/4 -> n/5 -> n/6 -> n/7 -> n/8 -> n/9 -> n/10 -> n/11 -> (9984 more) -> n/9996 -> n/9997 -> n/9998 -> n/9999",
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

func walk(length int) []Key {
	keys := make([]Key, 0, length)
	for i := range length {
		keys = append(keys, Key{"n", strconv.Itoa(i)})
	}
	return keys
}

func TestCompare(t *testing.T) {
	keys := []Key{{"b", "a"}, {"a", "b"}, {"a", "a"}}
	slices.SortFunc(keys, Compare)

	want := []Key{{"a", "a"}, {"a", "b"}, {"b", "a"}}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("The namespace decides before the name.\nCompare(...): -want +got:\n%s", diff)
	}
}

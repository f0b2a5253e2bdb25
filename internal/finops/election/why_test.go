package election

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWhy lists what the owner of a book that has lost is told.
func TestWhy(t *testing.T) {
	cases := map[string]struct {
		reason string
		winner Book
		loser  Book
		want   string
	}{
		"Incumbent": {
			reason: "Without annotations the one that has the slot keeps it.",
			winner: incumbent(older), loser: newer,
			want: "it holds the slot, and none is annotated as active",
		},
		"Bootstrap": {
			reason: "The youngest has just won the first election: from now on it is the incumbent.",
			winner: newer, loser: older,
			want: "it holds the slot, and none is annotated as active",
		},
		"Annotated": {
			reason: "The one that lost the slot learns what it lacks.",
			winner: annotated(newer), loser: incumbent(older),
			want: "it is annotated as active, and this one is not",
		},
		"OtherValue": {
			reason: "A value that does not count is no annotation (OPEN-PB-2).",
			winner: annotated(older), loser: marked(newer, "True"),
			want: "it is annotated as active, and this one is not",
		},
		"BothAnnotated": {
			reason: "That the younger object wins is what users expect least.",
			winner: annotated(newer), loser: annotated(incumbent(older)),
			want: "both are annotated as active, and it is the younger one",
		},
		"Twins": {
			reason: "Of two as old as each other the name decides.",
			winner: annotated(Book{Namespace: "a", Name: "a", CreatedAt: ten}),
			loser:  annotated(Book{Namespace: "a", Name: "b", CreatedAt: ten}),
			want:   "both are annotated as active and equally old, and its name comes first",
		},
		"Deleting": {
			reason: "Whatever it carries, a book that goes is no candidate.",
			winner: older, loser: deleting(annotated(newer)),
			want: "this one is being deleted",
		},
		"Outside": {
			reason: "An annotation cannot help here.",
			winner: older, loser: outside(annotated(newer)),
			want: "books of this namespace take no part in the election",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Why(tc.winner, tc.loser)); diff != "" {
				t.Errorf("\n%s\nWhy(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

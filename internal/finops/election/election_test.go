package election

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	ten    = time.Date(2026, time.March, 2, 10, 0, 0, 0, time.UTC)
	twelve = time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)

	older = Book{Namespace: "a", Name: "old", CreatedAt: ten}
	newer = Book{Namespace: "b", Name: "new", CreatedAt: twelve}
)

func annotated(b Book) Book { b.Annotation = "true"; return b }
func incumbent(b Book) Book { b.Incumbent = true; return b }
func deleting(b Book) Book  { b.Deleting = true; return b }
func outside(b Book) Book   { b.Outside = true; return b }

func marked(b Book, value string) Book { b.Annotation = value; return b }

// TestWinner holds the worked election of part 20.3, row by row, and the rules
// around it.
func TestWinner(t *testing.T) {
	cases := map[string]struct {
		reason string
		books  []Book
		want   string
	}{
		"Nobody": {
			reason: "Without books there is no winner.",
		},
		"Bootstrap": {
			reason: "Without an annotation and an incumbent the newest book wins.",
			books:  []Book{older, newer},
			want:   "b/new",
		},
		"IncumbentStays": {
			reason: "A new book never displaces a working incumbent by itself.",
			books:  []Book{incumbent(older), newer},
			want:   "a/old",
		},
		"OldAnnotated": {
			reason: "An annotation beats everything that has none.",
			books:  []Book{annotated(incumbent(older)), newer},
			want:   "a/old",
		},
		"AnnotationDisplacesIncumbent": {
			reason: "An annotation displaces an incumbent.",
			books:  []Book{incumbent(newer), annotated(older)},
			want:   "a/old",
		},
		"BothAnnotated": {
			reason: "Not the book annotated last wins, but the younger one.",
			books:  []Book{annotated(incumbent(older)), annotated(newer)},
			want:   "b/new",
		},
		"AnnotationRemovedFromNew": {
			reason: "The first tier holds the old book alone, so it wins again.",
			books:  []Book{annotated(older), incumbent(newer)},
			want:   "a/old",
		},
		"AnnotationRemovedFromOldAsWell": {
			reason: "Without any annotation the incumbent keeps the slot.",
			books:  []Book{incumbent(older), newer},
			want:   "a/old",
		},
		"OldDeleted": {
			reason: "When the incumbent is gone the newest remaining book takes over.",
			books:  []Book{newer},
			want:   "b/new",
		},
		"Deleting": {
			reason: "A book that is being deleted is no candidate, however it is marked (OPEN-PB-1).",
			books:  []Book{older, deleting(annotated(incumbent(newer)))},
			want:   "a/old",
		},
		"Outside": {
			reason: "Whoever may not set prices for the cluster does not, even if nobody else does (BETTER-SEC-2).",
			books:  []Book{older, outside(annotated(incumbent(newer)))},
			want:   "a/old",
		},
		"OnlyOutside": {
			reason: "Without a book of an admitted namespace nobody wins.",
			books:  []Book{outside(older), outside(annotated(newer))},
		},
		"OnlyDeleting": {
			reason: "If every book is being deleted nobody wins.",
			books:  []Book{deleting(older), deleting(newer)},
		},
		"OtherAnnotationValues": {
			reason: "Only the exact value true asks for the slot (OPEN-PB-2).",
			books:  []Book{incumbent(older), marked(newer, "True"), marked(Book{Namespace: "c", Name: "one", CreatedAt: twelve}, "1")},
			want:   "a/old",
		},
		"TwinsByNamespace": {
			reason: "Books of one age are told apart by namespace first.",
			books:  []Book{{Namespace: "b", Name: "a", CreatedAt: ten}, {Namespace: "a", Name: "b", CreatedAt: ten}},
			want:   "a/b",
		},
		"TwinsByName": {
			reason: "Books of one age in one namespace are told apart by name.",
			books:  []Book{{Namespace: "a", Name: "b", CreatedAt: ten}, {Namespace: "a", Name: "a", CreatedAt: ten}},
			want:   "a/a",
		},
		"TwoIncumbents": {
			reason: "Should two books claim the slot, the younger keeps it.",
			books:  []Book{incumbent(older), incumbent(newer)},
			want:   "b/new",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			if b, ok := Winner(tc.books); ok {
				got = b.Namespace + "/" + b.Name
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nWinner(...): -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

package election

import (
	"fmt"
	"math/rand/v2"
	"slices"
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

// TestWinnerProperties checks on random clusters that the winner does not
// depend on the order of the list, that it is a candidate of the best tier,
// and that it stays the winner of every subset that contains it.
func TestWinnerProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(20, 3))

	for range 2000 {
		books := randomBooks(rng)
		want, ok := Winner(books)

		candidates := slices.DeleteFunc(slices.Clone(books), func(b Book) bool { return b.Deleting })
		if ok != (len(candidates) > 0) {
			t.Fatalf("Winner(%v): got a winner: %t, but there are %d candidates", books, ok, len(candidates))
		}
		if !ok {
			continue
		}
		for _, b := range candidates {
			if b.tier() < want.tier() {
				t.Fatalf("Winner(%v): %v won although %v stands in a better tier", books, want, b)
			}
		}

		shuffled := slices.Clone(books)
		rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if got, _ := Winner(shuffled); got != want {
			t.Fatalf("Winner(...) depends on the order of its input: %v, then %v", want, got)
		}

		subset := slices.DeleteFunc(slices.Clone(books), func(b Book) bool { return b != want && rng.IntN(2) == 0 })
		if got, _ := Winner(subset); got != want {
			t.Fatalf("Winner(...) of a subset is %v, although %v wins against more books", got, want)
		}

		// Once everybody has heard the result it does not change any more.
		for i := range books {
			books[i].Incumbent = books[i] == want
		}
		if got, _ := Winner(books); got.Namespace != want.Namespace || got.Name != want.Name {
			t.Fatalf("Winner(...) moves from %v to %v when its result is recorded", want, got)
		}
	}
}

func randomBooks(rng *rand.Rand) []Book {
	books := make([]Book, rng.IntN(6))
	for i := range books {
		books[i] = Book{
			Namespace:  string(rune('a' + rng.IntN(3))),
			Name:       fmt.Sprintf("book-%d", i),
			CreatedAt:  ten.Add(time.Duration(rng.IntN(3)) * time.Hour),
			Annotation: []string{"", "", "true", "false", "True"}[rng.IntN(5)],
			Incumbent:  rng.IntN(4) == 0,
			Deleting:   rng.IntN(6) == 0,
		}
	}
	return books
}

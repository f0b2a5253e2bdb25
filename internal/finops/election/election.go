// Package election decides which PriceBook is the active one.
//
// The cluster has one slot for an active book. The choice depends only on the
// books themselves, never on which of them is looked at or in which order they
// are listed, so every reconcile of every book comes to the same answer.
// Whether a book's rates parse plays no part: a winner that is not ready keeps
// the slot, and its trouble shows on its own Ready condition.
package election

import (
	"cmp"
	"slices"
	"time"
)

// Elected is the one value of the annotation finops.stakater.com/active that
// asks for the slot. Anything else, "True" and "1" included, does not
// (OPEN-PB-2).
const Elected = "true"

// A Book is what the election knows of one PriceBook.
type Book struct {
	Namespace string
	Name      string

	// CreatedAt is the book's creation timestamp.
	CreatedAt time.Time

	// Annotation is the value of finops.stakater.com/active, empty if absent.
	Annotation string

	// Incumbent says that the book holds the slot now.
	Incumbent bool

	// Deleting books are no candidates; somebody else's finalizer may still
	// hold one (OPEN-PB-1).
	Deleting bool

	// Outside says that the book's namespace takes no part in the election
	// (BETTER-SEC-2).
	Outside bool
}

// candidate says whether the book takes part.
func (b Book) candidate() bool { return !b.Deleting && !b.Outside }

// The tiers of candidates. Only the best tier that is not empty takes part.
const (
	tierAnnotated = iota
	tierIncumbent
	tierBootstrap
)

func (b Book) tier() int {
	switch {
	case b.Annotation == Elected:
		return tierAnnotated
	case b.Incumbent:
		return tierIncumbent
	default:
		return tierBootstrap
	}
}

// Compare orders Books from the one that should hold the slot to the one that
// should hold it least. The order is total for books with different names.
func Compare(a, b Book) int {
	return cmp.Or(
		cmp.Compare(a.tier(), b.tier()),       // Annotated, then incumbent, then any;
		b.CreatedAt.Compare(a.CreatedAt),      // among equals the younger;
		cmp.Compare(a.Namespace, b.Namespace), // among twins the name decides,
		cmp.Compare(a.Name, b.Name),           // so that there is one answer.
	)
}

// Winner returns the Book that holds the slot, or false if there is no
// candidate. It does not change books.
func Winner(books []Book) (Book, bool) {
	candidates := slices.DeleteFunc(slices.Clone(books), func(b Book) bool { return !b.candidate() })
	if len(candidates) == 0 {
		return Book{}, false
	}
	return slices.MinFunc(candidates, Compare), true
}

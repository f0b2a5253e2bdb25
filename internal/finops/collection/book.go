package collection

import (
	"cmp"
	"slices"

	"github.com/provider-finops/provider-finops/internal/finops/pricing"
)

// Books returns the PriceBooks a run may price its rows with, in the order in
// which they are tried (part 20.10). Only books in currency mode are money.
//
// The books of the run's own namespace come first: the one in force if it is
// there, then the others by name. The one in force follows wherever it is. With
// activeFirst (PRICEBOOK_RESOLUTION=active) it is the very first. Whoever tries
// them passes over one that is unready and has never been sound.
func Books(all []pricing.Book, namespace string, activeFirst bool) []pricing.Book {
	tier := func(b pricing.Book) int {
		switch own := b.Key.Namespace == namespace; {
		case b.Active && (own || activeFirst):
			return 0
		case own:
			return 1
		default:
			return 2
		}
	}

	books := slices.DeleteFunc(slices.Clone(all), func(b pricing.Book) bool {
		return b.Mode != pricing.Currency || b.Key.Namespace != namespace && !b.Active
	})
	slices.SortFunc(books, func(a, b pricing.Book) int {
		return cmp.Or(
			cmp.Compare(tier(a), tier(b)),
			cmp.Compare(a.Key.Namespace, b.Key.Namespace),
			cmp.Compare(a.Key.Name, b.Key.Name),
		)
	})
	return books
}

package collection

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/internal/finops/pricing"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

func TestBooks(t *testing.T) {
	book := func(namespace, name string) pricing.Book {
		return pricing.Book{Key: ref.Key{Namespace: namespace, Name: name}, Mode: pricing.Currency}
	}
	active := func(b pricing.Book) pricing.Book { b.Active = true; return b }
	percent := func(b pricing.Book) pricing.Book { b.Mode = "percent"; return b }

	cases := map[string]struct {
		reason      string
		all         []pricing.Book
		activeFirst bool
		want        []string
	}{
		"FirstByName": {
			reason: "The documented lookup: the first book of the namespace, by name; a book in force elsewhere is the last resort.",
			all:    []pricing.Book{book("own", "b"), active(book("other", "a")), book("own", "a")},
			want:   []string{"own/a", "own/b", "other/a"},
		},
		"ActiveInTheNamespace": {
			reason: "Among the books of the namespace the one in force comes first.",
			all:    []pricing.Book{book("own", "a"), active(book("own", "b"))},
			want:   []string{"own/b", "own/a"},
		},
		"NoneInTheNamespace": {
			reason: "Without a book of its own the namespace uses the one in force (BETTER-PB-6), and no other.",
			all:    []pricing.Book{book("other", "a"), active(book("other", "b"))},
			want:   []string{"other/b"},
		},
		"ActiveFirst": {
			reason:      "PRICEBOOK_RESOLUTION=active.",
			all:         []pricing.Book{book("own", "a"), active(book("other", "z"))},
			activeFirst: true,
			want:        []string{"other/z", "own/a"},
		},
		"Percent": {
			reason: "Weights are not money, in force or not.",
			all:    []pricing.Book{percent(book("own", "a")), percent(active(book("other", "b")))},
		},
		"None": {reason: "There may be no book at all; rows are priced later."},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, b := range Books(tc.all, "own", tc.activeFirst) {
				got = append(got, b.Key.Namespace+"/"+b.Key.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nBooks(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

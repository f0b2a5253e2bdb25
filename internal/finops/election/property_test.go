package election

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// Many cases take a flag of their own:
//
//	go test ./internal/finops/election -run Properties -cases 1000000 -seed 7
var (
	caseCount = flag.Int("cases", 5000, "how many random clusters TestWinnerProperties holds elections in")
	seed      = flag.Uint64("seed", 0, "of the random clusters; 0 draws one")
)

// TestWinnerProperties checks on random clusters that the winner is the one that
// the rules, applied one after the other, leave over; that it depends neither on
// the order of the list nor on books it beats; and that the result stands once
// it is recorded.
func TestWinnerProperties(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	rng := rand.New(rand.NewPCG(*seed, 20))
	elected := 0

	for i := range *caseCount {
		books := randomBooks(rng)
		if err := holds(rng, books); err != nil {
			t.Fatalf("case %d of seed %d: %v\namong %+v", i, *seed, err, books)
		}
		if _, ok := Winner(books); ok {
			elected++
		}
	}
	t.Logf("%d elections with seed %d, %d of them with a winner", *caseCount, *seed, elected)
	if elected < *caseCount/2 {
		t.Errorf("only %d of %d elections had a winner: the cases test little", elected, *caseCount)
	}
}

// holds returns the first property that these books break.
func holds(rng *rand.Rand, books []Book) error {
	given := slices.Clone(books)
	want, ok := Winner(books)
	if !slices.Equal(given, books) {
		return fmt.Errorf("the election has changed its input")
	}
	left := lastStanding(books)
	if ok != (len(left) > 0) {
		return fmt.Errorf("a winner: %t, but the rules leave over %v", ok, left)
	}
	if !ok {
		return nil
	}
	if len(left) != 1 || left[0] != want {
		return fmt.Errorf("the winner is %v, but the rules leave over %v", want, left)
	}

	shuffled := slices.Clone(books)
	rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	if got, _ := Winner(shuffled); got != want {
		return fmt.Errorf("the order of the list decides: %v, then %v", want, got)
	}

	subset := slices.DeleteFunc(slices.Clone(books), func(b Book) bool { return b != want && rng.IntN(2) == 0 })
	if got, _ := Winner(subset); got != want {
		return fmt.Errorf("of a subset %v wins, although %v wins against more books", got, want)
	}

	settled := slices.Clone(books)
	for i := range settled {
		settled[i].Incumbent = settled[i] == want
		if settled[i] != want && Why(want, settled[i]) == "" {
			return fmt.Errorf("nobody can say why %v has lost", settled[i])
		}
	}
	if got, _ := Winner(settled); got.Namespace != want.Namespace || got.Name != want.Name {
		return fmt.Errorf("the slot moves from %v to %v when the result is recorded", want, got)
	}

	// A new book never displaces a recorded winner by itself.
	newcomer := Book{Namespace: "0", Name: "newcomer", CreatedAt: ten.Add(time.Duration(rng.IntN(9)) * time.Hour), Annotation: "True"}
	if got, _ := Winner(append(settled, newcomer)); got.Name != want.Name {
		return fmt.Errorf("%v takes the slot from %v without being annotated", got, want)
	}

	return nil
}

// lastStanding applies the rules of part 20.3 as they are written, each of them
// to those whom the one before has left over.
func lastStanding(books []Book) []Book {
	left := keep(books, func(b Book) bool { return !b.Deleting && !b.Outside })
	if annotated := keep(left, func(b Book) bool { return b.Annotation == "true" }); len(annotated) > 0 {
		left = annotated
	} else if incumbents := keep(left, func(b Book) bool { return b.Incumbent }); len(incumbents) > 0 {
		left = incumbents
	}
	for _, beats := range []func(a, b Book) bool{
		func(a, b Book) bool { return a.CreatedAt.After(b.CreatedAt) },
		func(a, b Book) bool { return a.Namespace < b.Namespace },
		func(a, b Book) bool { return a.Name < b.Name },
	} {
		among := left
		left = keep(among, func(b Book) bool { return !slices.ContainsFunc(among, func(a Book) bool { return beats(a, b) }) })
	}

	return left
}

func keep(books []Book, which func(Book) bool) []Book {
	return slices.DeleteFunc(slices.Clone(books), func(b Book) bool { return !which(b) })
}

// randomBooks draws few different values, so that all kinds of ties are common.
func randomBooks(rng *rand.Rand) []Book {
	books := make([]Book, rng.IntN(7))
	for i, name := range rng.Perm(len(books)) {
		books[i] = Book{
			Namespace:  string(rune('a' + rng.IntN(3))),
			Name:       fmt.Sprintf("book-%d", name),
			CreatedAt:  ten.Add(time.Duration(rng.IntN(3)) * time.Hour),
			Annotation: []string{"", "", "", "true", "false", "True", "1"}[rng.IntN(7)],
			Incumbent:  rng.IntN(4) == 0,
			Deleting:   rng.IntN(6) == 0,
			Outside:    rng.IntN(6) == 0,
		}
	}

	return books
}

package offer

import (
	"fmt"

	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

// A Reason is the word for what stands against an Offering.
type Reason string

// What holds an Offering, and what holds its deletion.
const (
	CircularDependencyDetected Reason = "CircularDependencyDetected"
	RequiredOfferingNotFound   Reason = "RequiredOfferingNotFound"
	RequiredOfferingNotReady   Reason = "RequiredOfferingNotReady"
	NoActivePricebook          Reason = "NoActivePricebook"
	PricebookParseFailed       Reason = "PricebookParseFailed"
	ValidationError            Reason = "ValidationError" // Could not look, or cannot be priced.

	DependentSubscriptionsExist Reason = "DependentSubscriptionsExist"
	DependentOfferingsExist     Reason = "DependentOfferingsExist"
)

// A Verdict is an objection. The zero Verdict objects to nothing.
type Verdict struct {
	Reason  Reason
	Message string
}

// Passes reports whether nothing is objected.
func (v Verdict) Passes() bool { return v == Verdict{} }

// An Offering is what others see of one.
type Offering struct {
	Key      ref.Key
	Requires []ref.Key
	Ready    bool
	Deleting bool
}

// A Lookup finds an Offering by name. It returns nil if it is known not to
// exist, and an error if it could not be looked up.
type Lookup func(ref.Key) (*Offering, error)

// Acyclic objects to a requirement path that returns to an Offering on it. The
// walk is depth first, in the order of the lists. What does not exist cannot
// close a cycle. It is asked at admission and on every look.
func Acyclic(o Offering, lookup Lookup) (Verdict, error) {
	w := walk{lookup: lookup, at: map[ref.Key]bool{}, explored: map[ref.Key]bool{}}
	path, err := w.cycle(o)
	if err != nil || path == nil {
		return Verdict{}, err
	}
	return Verdict{CircularDependencyDetected, "circular dependency: " + ref.Path(path)}, nil
}

// A walk is where a search for a cycle has come to.
type walk struct {
	lookup   Lookup
	path     []ref.Key
	at       map[ref.Key]bool // What is on the path.
	explored map[ref.Key]bool // What leads to no cycle.
}

// cycle returns the path from the first Offering of the walk to the first one
// that is met again, or nil.
func (w *walk) cycle(o Offering) ([]ref.Key, error) {
	w.path, w.at[o.Key] = append(w.path, o.Key), true
	for _, r := range o.Requires {
		if w.at[r] {
			return append(w.path, r), nil
		}
		if w.explored[r] {
			continue
		}
		next, err := w.lookup(r)
		if err != nil {
			return nil, fmt.Errorf("cannot look up required offering %s: %w", r, err)
		}
		if next == nil {
			continue
		}
		found, err := w.cycle(*next)
		if err != nil || found != nil {
			return found, err
		}
		w.explored[r] = true
	}
	w.path, w.at[o.Key] = w.path[:len(w.path)-1], false
	return nil, nil
}

// requirements objects to the first that is not met: a cycle before anything
// else, because it also makes its members unready and only the cycle is the
// cause; then what does not exist; then what is not ready (OPEN-OFF-3).
func requirements(o Offering, lookup Lookup) (Verdict, error) {
	if v, err := Acyclic(o, lookup); err != nil || !v.Passes() {
		return v, err
	}
	var unready Verdict
	for _, r := range o.Requires {
		required, err := lookup(r)
		switch {
		case err != nil:
			return Verdict{}, fmt.Errorf("cannot look up required offering %s: %w", r, err)
		case required == nil:
			return Verdict{RequiredOfferingNotFound, fmt.Sprintf("required offering %s does not exist", r)}, nil
		case !required.Ready && unready.Passes():
			unready = Verdict{RequiredOfferingNotReady, fmt.Sprintf("required offering %s is not ready", r)}
		}
	}
	return unready, nil
}

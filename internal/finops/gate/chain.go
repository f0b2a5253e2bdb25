package gate

import "errors"

var (
	// Activation is what a Subscription has to pass to be billed. The order is
	// contract: the first objection is the one people see. The stamp of the root
	// stands where it is written, after the parent and before coverage, which is
	// searched under it.
	Activation = Chain{offeringReady, parentReady, rooted, requirementsCovered, targetExists}

	// Endings end an active Subscription, for good. The Offering is not among
	// them: whatever happens to it, what was sold goes on.
	Endings = Chain{parentEnded, requirementsCovered, targetGone}
)

// A Gate answers with an objection, the zero Verdict to let the Subscription
// pass, or an error if it cannot tell.
type Gate func(Input) (Verdict, error)

// A Verdict is what a gate objects. The zero Verdict lets pass.
type Verdict struct {
	Reason  Reason // CamelCase, for machines.
	Message string // One line for people. The same facts give the same text.
}

// Passes reports whether nothing is objected.
func (v Verdict) Passes() bool { return v == Verdict{} }

// A Chain is a policy: gates in their order.
type Chain []Gate

// First returns the first objection. A gate that cannot tell objects too, with
// reason ValidationError and the error beside it.
func (c Chain) First(in Input) (Verdict, error) {
	for _, gate := range c {
		v, err := gate(in)
		if err != nil {
			return Verdict{ValidationError, err.Error()}, err
		}
		if !v.Passes() {
			return v, nil
		}
	}
	return Verdict{}, nil
}

// Any returns the first objection of a gate that can tell. The error says what
// the other gates could not; with an objection it is of no consequence
// (BETTER-SUB-2).
func (c Chain) Any(in Input) (Verdict, error) {
	var unknown []error
	for _, gate := range c {
		v, err := gate(in)
		switch {
		case errors.Is(err, errOfferingMissing):
			// That much is known, and asking again would not tell more.
		case err != nil:
			unknown = append(unknown, err)
		case !v.Passes():
			return v, nil
		}
	}
	return Verdict{}, errors.Join(unknown...)
}

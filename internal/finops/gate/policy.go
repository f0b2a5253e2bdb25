package gate

import (
	"errors"
	"fmt"
	"time"
)

// A Policy says what becomes of an active Subscription whose parent ends.
type Policy string

// The policies, as the API spells them.
const (
	Deactivate Policy = "Deactivate"
	Orphan     Policy = "Orphan"
)

var (
	errOfferingMissing = errors.New("the offering does not exist")
	errTermsUnknown    = errors.New("the offering may have been replaced, and the recorded terms could not be read")
)

// replaced tells whether another Offering has taken the name of the one that an
// active Subscription runs on, with other terms. One with equal terms is the
// same to everybody: that is how a lost Offering is repaired (BETTER-OFF-5).
//
// It is an error if that cannot be told. An Offering that is older than the sale
// cannot be a replacement, so a database that is away keeps nothing from being
// decided about the rest.
func (in Input) replaced(current Offering) (*Recorded, error) {
	if !in.Self.Active() {
		return nil, nil //nolint:nilnil // Only an active one runs on recorded terms.
	}
	recorded, err := in.Recorded.Get()
	if err != nil {
		if in.Self.SoldAt.IsZero() || current.CreatedAt.After(in.Self.SoldAt) {
			return nil, fmt.Errorf("%w: %w", errTermsUnknown, err)
		}
		return nil, nil //nolint:nilnil // It is the one that was sold.
	}
	if recorded == nil || recorded.OfferingUID == current.UID || recorded.SpecHash == current.SpecHash {
		return nil, nil //nolint:nilnil // Nothing recorded, or nothing that differs.
	}
	if OvertakenBySale(recorded.Active, current.CreatedAt, in.Self.SoldAt) {
		return nil, nil //nolint:nilnil // What was recorded is not what was sold.
	}
	return recorded, nil
}

// OvertakenBySale tells whether the Offering that was recorded is not the one
// that was sold: the record is of a Subscription that still waited, which takes
// whatever Offering has the name when it is activated, and the present one was
// there by then. A record of its being active may have failed.
func OvertakenBySale(recordedActive bool, created, soldAt time.Time) bool {
	return !recordedActive && !soldAt.IsZero() && !created.After(soldAt)
}

// offeringUID is that of the Offering whose terms apply, empty if that cannot be
// told or the Offering does not exist.
func (in Input) offeringUID() string {
	current, err := in.Offering.Get()
	if err != nil || current == nil {
		return ""
	}
	if _, err := in.Recorded.Get(); err != nil && in.Self.Active() {
		return "" // What was recorded must not be overwritten unseen.
	}
	if recorded, err := in.replaced(*current); err != nil || recorded != nil {
		return "" // What was recorded stands.
	}
	return current.UID
}

// terms are the ones that apply to the Subscription. They are known only as
// long as its Offering can be read: what was recorded once is no evidence for
// an end.
func (in Input) terms() (Terms, error) {
	current, err := in.Offering.Get()
	if err != nil {
		return Terms{}, err
	}
	if current == nil {
		return Terms{}, errOfferingMissing
	}
	recorded, err := in.replaced(*current)
	if err != nil {
		return Terms{}, err
	}
	if recorded != nil {
		return recorded.Terms, nil
	}
	return current.Terms, nil
}

// policy is what applies when the parent ends. A lifecycle block of the
// Subscription's own decides alone, also where it only names a target. An
// Offering that cannot be read is replaced by what was recorded of it.
func (in Input) policy() (Policy, error) {
	own := in.Self.OnParentEnd
	if own != nil && !in.Rules.EnforceAllowOverride {
		return orDeactivate(own), nil
	}
	terms, err := in.terms()
	if err != nil {
		recorded, recordErr := in.Recorded.Get()
		if recordErr != nil {
			err = recordErr // This is what may come out differently next time.
		}
		if recorded == nil {
			return "", fmt.Errorf("cannot tell the policy for an ended parent: %w", err)
		}
		terms = recorded.Terms
	}
	if own != nil && !terms.ForbidsOverride {
		return orDeactivate(own), nil
	}
	return orDeactivate(terms.OnParentEnd), nil
}

// Overrides tells whether the Offering has that policy and the Subscription's
// own block puts another in its place.
func (in Input) Overrides(p Policy) bool {
	terms, err := in.terms()
	if err != nil || in.Self.OnParentEnd == nil || terms.OnParentEnd == nil || *terms.OnParentEnd != p {
		return false
	}
	applies, err := in.policy()
	return err == nil && applies != p
}

// overruled tells whether the Subscription has a policy of its own that does
// not count.
func (in Input) overruled() bool {
	if in.Self.OnParentEnd == nil || !in.Rules.EnforceAllowOverride {
		return false
	}
	terms, err := in.terms()
	return err == nil && terms.ForbidsOverride
}

func orDeactivate(p *Policy) Policy {
	if p != nil && *p == Orphan {
		return Orphan
	}
	return Deactivate
}

package family

import (
	"errors"
	"fmt"

	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

const (
	// maxDepth bounds a walk to the root. A tree that deep is no tree anybody
	// meant.
	maxDepth = 10_000

	// maxHint bounds the search for a loop, which only improves a message.
	maxHint = 64
)

// ErrTooDeep says that a walk was given up before it came to a root.
var ErrTooDeep = errors.New("too many ancestors")

// A Member is what the family knows of one Subscription.
type Member struct {
	UID string
	Key ref.Key

	// Parent is the zero Key if the Subscription has none.
	Parent ref.Key

	// Root is the uid of the root ancestor, empty until it is stamped.
	Root string

	// Offering is what the Subscription is bound to.
	Offering ref.Key

	// Active says that it has been activated and not been deactivated.
	// Readiness plays no part.
	Active bool
}

// ParentOf finds the parent of a Member that names one. It returns nil if the
// parent is known not to exist, and an error if it could not be looked up.
type ParentOf func(child Member) (*Member, error)

// A BrokenChainError names the ancestor that does not exist.
type BrokenChainError struct{ Missing ref.Key }

func (e *BrokenChainError) Error() string {
	return fmt.Sprintf("the chain of parents is broken: subscription %s does not exist", e.Missing)
}

// A LoopError names the members of a loop of parents, the first of them again
// at the end.
type LoopError struct{ Path []ref.Key }

func (e *LoopError) Error() string { return "parent cycle: " + ref.Path(e.Path) }

// Root returns the uid of the topmost ancestor. The walk ends early at an
// ancestor that carries its stamp already, because every stamp is final
// (OPEN-SUB-4). It returns a [*BrokenChainError] or [*LoopError] if there is no
// root, [ErrTooDeep], or what the lookup failed with.
func Root(m Member, parentOf ParentOf) (string, error) {
	var root string
	err := walk(m, parentOf, maxDepth, func(a Member) bool {
		switch {
		case a.Root != "":
			root = a.Root
		case a.Parent.IsZero():
			root = a.UID
		}
		return root != ""
	})
	return root, err
}

// Loop returns the loop that the parents of a Subscription run into, or nil. It
// is a hint for people and gives up in silence where the walk fails or takes
// too long (BETTER-SUB-3).
func Loop(m Member, parentOf ParentOf) []ref.Key {
	err := walk(m, parentOf, maxHint, func(Member) bool { return false })
	var loop *LoopError
	if errors.As(err, &loop) {
		return loop.Path
	}
	return nil
}

// walk visits m and its ancestors upwards until one of them is enough or has no
// parent.
func walk(m Member, parentOf ParentOf, limit int, enough func(Member) bool) error {
	var path []ref.Key
	at := map[ref.Key]int{}

	for range limit {
		if first, seen := at[m.Key]; seen {
			return &LoopError{Path: append(path[first:], m.Key)}
		}
		at[m.Key] = len(path)
		path = append(path, m.Key)

		if enough(m) || m.Parent.IsZero() {
			return nil
		}
		parent, err := parentOf(m)
		if err != nil {
			return err
		}
		if parent == nil {
			return &BrokenChainError{Missing: m.Parent}
		}
		m = *parent
	}
	return fmt.Errorf("cannot find the root above %s: %w", path[0], ErrTooDeep)
}

package family

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

func key(name string) ref.Key { return ref.Key{Namespace: "ns", Name: name} }

// sub is a Subscription named after its uid. An empty parent is none.
func sub(name, parent, offering string) Member {
	m := Member{UID: "uid-" + name, Key: key(name), Offering: key(offering), Active: true}
	if parent != "" {
		m.Parent = key(parent)
	}
	return m
}

func stamped(m Member, root string) Member { m.Root = root; return m }

func among(members ...Member) ParentOf {
	return func(child Member) (*Member, error) {
		for _, m := range members {
			if m.Key == child.Parent {
				return &m, nil
			}
		}
		return nil, nil
	}
}

var errDown = errors.New("the server is down")

func down(Member) (*Member, error) { return nil, errDown }

func TestRoot(t *testing.T) {
	type want struct {
		Root string
		Err  string
	}

	chain := make([]Member, 0, maxDepth+1)
	for i := range maxDepth + 1 {
		chain = append(chain, sub(fmt.Sprint(i), fmt.Sprint(i+1), ""))
	}
	longChain := func(child Member) (*Member, error) {
		var i int
		if _, err := fmt.Sscan(child.Parent.Name, &i); err != nil {
			return nil, err
		}
		return &chain[i], nil
	}

	cases := map[string]struct {
		reason   string
		of       Member
		parentOf ParentOf
		want     want
	}{
		"OwnRoot": {
			reason:   "A Subscription without parent is its own root; nothing is read.",
			of:       sub("a", "", ""),
			parentOf: down,
			want:     want{Root: "uid-a"},
		},
		"Grandparent": {
			reason:   "The topmost ancestor is the root.",
			of:       sub("c", "b", ""),
			parentOf: among(sub("b", "a", ""), sub("a", "", "")),
			want:     want{Root: "uid-a"},
		},
		"StampedParent": {
			reason:   "A stamp is final, so the walk ends there (OPEN-SUB-4).",
			of:       sub("c", "b", ""),
			parentOf: among(stamped(sub("b", "gone", ""), "uid-a")),
			want:     want{Root: "uid-a"},
		},
		"MissingLink": {
			reason:   "A root is never guessed.",
			of:       sub("c", "b", ""),
			parentOf: among(sub("b", "a", "")),
			want:     want{Err: "the chain of parents is broken: subscription ns/a does not exist"},
		},
		"Loop": {
			reason:   "The walk refuses to loop.",
			of:       sub("a", "b", ""),
			parentOf: among(sub("b", "a", ""), sub("a", "b", "")),
			want:     want{Err: "parent cycle: ns/a -> ns/b -> ns/a"},
		},
		"Itself": {
			reason:   "The shortest loop.",
			of:       sub("a", "a", ""),
			parentOf: among(sub("a", "a", "")),
			want:     want{Err: "parent cycle: ns/a -> ns/a"},
		},
		"LookupFailed": {
			reason:   "Could not look is not gone.",
			of:       sub("c", "b", ""),
			parentOf: down,
			want:     want{Err: "the server is down"},
		},
		"TooDeep": {
			reason:   "Every walk has a limit.",
			of:       chain[0],
			parentOf: longChain,
			want:     want{Err: "cannot find the root above ns/0: too many ancestors"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got want
			var err error
			if got.Root, err = Root(tc.of, tc.parentOf); err != nil {
				got.Err = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nRoot(...): -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestLoop(t *testing.T) {
	cases := map[string]struct {
		reason   string
		of       Member
		parentOf ParentOf
		want     []ref.Key
	}{
		"None": {
			reason:   "A chain that ends has no loop.",
			of:       sub("b", "a", ""),
			parentOf: among(sub("a", "", "")),
		},
		"Member": {
			reason:   "A loop is named from the Subscription that asks.",
			of:       sub("x", "y", ""),
			parentOf: among(sub("x", "y", ""), sub("y", "x", "")),
			want:     []ref.Key{key("x"), key("y"), key("x")},
		},
		"Below": {
			reason:   "Whoever hangs below a loop is told the loop, not the way to it.",
			of:       sub("w", "x", ""),
			parentOf: among(sub("x", "y", ""), sub("y", "x", "")),
			want:     []ref.Key{key("x"), key("y"), key("x")},
		},
		"Failed": {
			reason:   "A hint is given up in silence.",
			of:       sub("b", "a", ""),
			parentOf: down,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Loop(tc.of, tc.parentOf)); diff != "" {
				t.Errorf("%s\nLoop(...): -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

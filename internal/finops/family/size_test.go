package family

import (
	"fmt"
	"testing"

	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

// TestDeepChain walks a chain of a thousand: what is at the top covers all below
// it, and what is at the bottom covers nobody above it.
func TestDeepChain(t *testing.T) {
	const deep = 1_000
	top, bottom, other := ref.Key{Namespace: "c", Name: "top"}, ref.Key{Namespace: "c", Name: "bottom"}, ref.Key{Namespace: "c", Name: "other"}
	chain := make([]Member, deep)
	byKey := map[ref.Key]Member{}
	for i := range chain {
		chain[i] = Member{UID: fmt.Sprint("uid-", i), Key: ref.Key{Namespace: "ns", Name: fmt.Sprint("m-", i)}, Offering: other, Active: true, Root: "uid-0"}
		if i > 0 {
			chain[i].Parent = chain[i-1].Key
		}
	}
	chain[0].Offering, chain[deep-1].Offering = top, bottom
	for _, m := range chain {
		m.Root = "" // As before anybody is stamped.
		byKey[m.Key] = m
	}

	root, err := Root(byKey[chain[deep-1].Key], func(child Member) (*Member, error) { m := byKey[child.Parent]; return &m, nil })
	if root != "uid-0" || err != nil {
		t.Errorf("Root(the last): %q, %v", root, err)
	}
	kin := New("uid-0", chain, nil)
	for i, m := range chain {
		if _, ok := kin.Provider(m, top); ok != (i > 0) {
			t.Fatalf("the top covers member %d: %t", i, ok)
		}
		if _, ok := kin.Provider(m, bottom); ok {
			t.Fatalf("the bottom covers member %d, which is above it", i)
		}
	}
}

// TestWideFamily has ten thousand siblings ask for the same provider. They are
// as many steps, not as many squared: the test would not end.
func TestWideFamily(t *testing.T) {
	const wide = 10_000
	node, part := ref.Key{Namespace: "c", Name: "node"}, ref.Key{Namespace: "c", Name: "part"}
	root := Member{UID: "uid-root", Key: ref.Key{Namespace: "ns", Name: "root"}, Root: "uid-root", Active: true}
	members := []Member{root, {UID: "uid-node", Key: ref.Key{Namespace: "ns", Name: "node"}, Parent: root.Key, Root: "uid-root", Offering: node, Active: true}}
	for i := range wide {
		members = append(members, Member{
			UID: fmt.Sprint("uid-", i), Key: ref.Key{Namespace: "ns", Name: fmt.Sprint("m-", i)}, Parent: root.Key, Root: "uid-root", Offering: part, Active: true,
		})
	}
	with := New("uid-root", members, nil)
	members[1].Active = false
	without := New("uid-root", members, nil)
	for _, m := range members[2:] {
		if missing, uncovered := with.Uncovered(m, []ref.Key{node}); uncovered {
			t.Fatalf("%s lacks %s", m.Key, missing)
		}
		if _, uncovered := without.Uncovered(m, []ref.Key{node}); !uncovered {
			t.Fatalf("%s is covered by a node that has ended", m.Key)
		}
	}
}

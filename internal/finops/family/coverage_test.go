package family

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

const top = "root"

func tree(members ...Member) []Member {
	for i := range members {
		members[i].Root = top
	}
	return members
}

// suite is the worked tree of part 40.6, without node-3.
func suite() []Member {
	return tree(
		sub("suite-1", "", "suite"),
		sub("node-1", "suite-1", "node-std"),
		sub("backup-1", "suite-1", "backup"),
		sub("audit-1", "suite-1", "audit"),
		sub("seal-1", "audit-1", "seal"),
		sub("node-2", "seal-1", "node-std"),
	)
}

// acme is the tree of the compatibility page (part 40.6).
func acme() []Member {
	return tree(
		sub("acme-bundle", "", "platform-core"),
		sub("acme-vm", "acme-bundle", "vm-standard"),
		sub("acme-disk", "acme-bundle", "vm-disk"),
		sub("acme-monitor", "acme-bundle", "monitoring"),
		sub("acme-alert", "acme-monitor", "alerting"),
		sub("acme-vm-spare", "acme-alert", "vm-standard"),
	)
}

func ended(members []Member, names ...string) []Member {
	for i := range members {
		if slices.Contains(names, members[i].Key.Name) {
			members[i].Active = false
		}
	}
	return members
}

func withoutSeal(members []Member) []Member {
	return slices.DeleteFunc(members, func(m Member) bool { return m.Key.Name == "seal-1" })
}

func member(members []Member, name string) Member {
	i := slices.IndexFunc(members, func(m Member) bool { return m.Key.Name == name })
	return members[i]
}

func TestProvider(t *testing.T) {
	cases := map[string]struct {
		reason   string
		members  []Member
		removed  map[ref.Key]ref.Key
		of       string
		offering string
		want     string
	}{
		// The worked tree of part 40.6.
		"Sibling":        {reason: "backup-1 is covered by its sibling.", members: suite(), of: "backup-1", offering: "node-std", want: "node-1"},
		"NephewsChild":   {reason: "node-2 is not below backup-1.", members: ended(suite(), "node-1"), of: "backup-1", offering: "node-std", want: "node-2"},
		"Ancestor":       {reason: "Ancestors count.", members: suite(), of: "audit-1", offering: "suite", want: "suite-1"},
		"Uncle":          {reason: "Uncles count.", members: suite(), of: "seal-1", offering: "node-std", want: "node-1"},
		"Grandchild":     {reason: "Coverage never flows up: node-2 is below audit-1.", members: ended(suite(), "node-1"), of: "audit-1", offering: "node-std"},
		"OwnChild":       {reason: "Coverage never flows up: node-2 is below seal-1.", members: ended(suite(), "node-1"), of: "seal-1", offering: "node-std"},
		"LaterSibling":   {reason: "A later sibling covers as well.", members: append(ended(suite(), "node-1"), tree(sub("node-3", "suite-1", "node-std"))...), of: "audit-1", offering: "node-std", want: "node-3"},
		"OnlyItself":     {reason: "Nobody covers itself.", members: suite(), of: "audit-1", offering: "audit"},
		"RootHasNobody":  {reason: "Everybody else is beneath the root.", members: suite(), of: "suite-1", offering: "node-std"},
		"OtherNamespace": {reason: "The Offering is matched by namespace and name.", members: suite(), of: "backup-1", offering: "other/node-std"},

		// The tree of the compatibility page.
		"Disk":                {reason: "acme-vm is its sibling.", members: acme(), of: "acme-disk", offering: "vm-standard", want: "acme-vm"},
		"Monitor":             {reason: "acme-vm is its sibling.", members: acme(), of: "acme-monitor", offering: "vm-standard", want: "acme-vm"},
		"Alert":               {reason: "acme-vm is its uncle.", members: acme(), of: "acme-alert", offering: "vm-standard", want: "acme-vm"},
		"MonitorWithoutVM":    {reason: "The spare is below the monitor.", members: ended(acme(), "acme-vm"), of: "acme-monitor", offering: "vm-standard"},
		"AlertWithoutVM":      {reason: "The spare is below the alert.", members: ended(acme(), "acme-vm"), of: "acme-alert", offering: "vm-standard"},
		"DiskKeepsSpare":      {reason: "The spare covers the disk until it ends with its parents.", members: ended(acme(), "acme-vm"), of: "acme-disk", offering: "vm-standard", want: "acme-vm-spare"},
		"DiskLosesSpareLast":  {reason: "When the spare has ended nobody is left.", members: ended(acme(), "acme-vm", "acme-monitor", "acme-alert", "acme-vm-spare"), of: "acme-disk", offering: "vm-standard"},
		"UnstampedIsNobody":   {reason: "A member without a stamp is invisible.", members: append(acme(), sub("new-vm", "acme-bundle", "vm-custom")), of: "acme-disk", offering: "vm-custom"},
		"OtherFamilyIsNobody": {reason: "Only the own family covers.", members: append(acme(), stamped(sub("other-vm", "", "vm-custom"), "elsewhere")), of: "acme-disk", offering: "vm-custom"},

		// Links whose object is gone (OPEN-SUB-5).
		"BelowRemoved": {
			reason:  "The parent that a removed Subscription named completes the chain: node-2 is still beneath audit-1.",
			members: withoutSeal(ended(suite(), "node-1")), removed: map[ref.Key]ref.Key{key("seal-1"): key("audit-1")},
			of: "audit-1", offering: "node-std",
		},
		"UnknownLink": {
			reason:  "A link nobody knows leads nowhere; assuming otherwise would end innocents.",
			members: withoutSeal(ended(suite(), "node-1")),
			of:      "audit-1", offering: "node-std", want: "node-2",
		},
		"RemovedAndRecreated": {
			reason:  "A living namesake counts before the memory of the removed one.",
			members: append(withoutSeal(ended(suite(), "node-1")), tree(sub("seal-1", "suite-1", "seal"))...), removed: map[ref.Key]ref.Key{key("seal-1"): key("audit-1")},
			of: "audit-1", offering: "node-std", want: "node-2",
		},
		"RemovedInALoop": {
			reason:  "A memory that contradicts itself ends the walk, it does not hang it.",
			members: withoutSeal(ended(suite(), "node-1")), removed: map[ref.Key]ref.Key{key("seal-1"): key("x"), key("x"): key("seal-1")},
			of: "audit-1", offering: "node-std", want: "node-2",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			offering := key(tc.offering)
			if tc.offering == "other/node-std" {
				offering = ref.Key{Namespace: "other", Name: "node-std"}
			}
			got, _ := New(top, tc.members, tc.removed).Provider(member(tc.members, tc.of), offering)
			if diff := cmp.Diff(tc.want, got.Key.Name); diff != "" {
				t.Errorf("%s\nProvider(%s, %s): -want +got:\n%s", tc.reason, tc.of, tc.offering, diff)
			}
		})
	}
}

func TestUncovered(t *testing.T) {
	cases := map[string]struct {
		reason   string
		required []ref.Key
		want     ref.Key
	}{
		"Nothing":    {reason: "Whoever requires nothing is covered."},
		"All":        {reason: "audit-1 has both.", required: []ref.Key{key("node-std"), key("suite")}},
		"FirstNamed": {reason: "The first uncovered entry in the order of the list is reported.", required: []ref.Key{key("suite"), key("x"), key("w")}, want: key("x")},
		"Twice":      {reason: "Requiring the same twice is requiring it.", required: []ref.Key{key("suite"), key("suite")}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, uncovered := New(top, suite(), nil).Uncovered(member(suite(), "audit-1"), tc.required)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nUncovered(...): -want +got:\n%s", tc.reason, diff)
			}
			if uncovered == tc.want.IsZero() {
				t.Errorf("%s\nUncovered(...): got %t", tc.reason, uncovered)
			}
		})
	}
}

// TestProviderAgainstTheAlgorithm compares with the algorithm of part 40.6 on
// random trees: descendants by repeated membership, then the rest is tested. It
// also checks that the order of the members changes nothing.
func TestProviderAgainstTheAlgorithm(t *testing.T) {
	rng := rand.New(rand.NewPCG(40, 6))

	for range 3000 {
		members, removed := randomFamily(rng)
		f := New(top, members, removed)

		shuffled := slices.Clone(members)
		rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		g := New(top, shuffled, removed)

		for _, s := range members {
			offering := key(fmt.Sprintf("offering-%d", rng.IntN(3)))
			got, covered := f.Provider(s, offering)
			if other, _ := g.Provider(s, offering); got != other {
				t.Fatalf("Provider(%v, %v) depends on the order of the members: %v, then %v", s, offering, got, other)
			}
			want := coveredByTheAlgorithm(s, offering, members, removed)
			if covered != want {
				t.Fatalf("Provider(%v, %v) in %v (removed %v): got %t, want %t", s, offering, members, removed, covered, want)
			}
		}
	}
}

func coveredByTheAlgorithm(s Member, offering ref.Key, members []Member, removed map[ref.Key]ref.Key) bool {
	parents := map[ref.Key]ref.Key{}
	maps.Copy(parents, removed)
	for _, m := range members {
		parents[m.Key] = m.Parent
	}

	descendants := map[ref.Key]bool{s.Key: true}
	for grown := true; grown; {
		grown = false
		for child, parent := range parents {
			if descendants[parent] && !descendants[child] {
				descendants[child], grown = true, true
			}
		}
	}
	return slices.ContainsFunc(members, func(p Member) bool {
		return !descendants[p.Key] && p.Active && p.Offering == offering
	})
}

// randomFamily is a tree of which some members were removed; some of those are
// remembered.
func randomFamily(rng *rand.Rand) ([]Member, map[ref.Key]ref.Key) {
	all := tree(sub("m-0", "", "offering-0"))
	for i := range rng.IntN(12) {
		m := sub(fmt.Sprintf("m-%d", i+1), all[rng.IntN(len(all))].Key.Name, fmt.Sprintf("offering-%d", rng.IntN(3)))
		m.Active = rng.IntN(4) > 0
		all = append(all, tree(m)...)
	}

	var members []Member
	removed := map[ref.Key]ref.Key{}
	for _, m := range all {
		switch rng.IntN(5) {
		case 0:
			removed[m.Key] = m.Parent
		case 1:
			if rng.IntN(2) == 0 {
				continue
			}
			members = append(members, m)
		default:
			members = append(members, m)
		}
	}
	return members, removed
}

package subscription

import (
	"context"
	"errors"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/family"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

func k(name string) ref.Key { return ref.Key{Namespace: "ns", Name: name} }

func node(name, parent string) family.Member {
	m := family.Member{UID: "uid-" + name, Key: k(name)}
	if parent != "" {
		m.Parent = k(parent)
	}
	return m
}

// TestRemovedForgets lets a tree go in two orders. What is remembered is what
// somebody living descends from, and in the end nothing.
func TestRemovedForgets(t *testing.T) {
	tree := map[string]family.Member{"root": node("root", ""), "mid": node("mid", "root"), "leaf": node("leaf", "mid"), "side": node("side", "root")}

	cases := map[string]struct {
		reason string
		order  []string
		want   []map[ref.Key]ref.Key // After each end.
	}{
		"FromBelow": {
			reason: "Whoever goes last leaves nobody behind.",
			order:  []string{"leaf", "mid", "side", "root"},
			want:   []map[ref.Key]ref.Key{{}, {}, {}, {}},
		},
		"FromAbove": {
			reason: "Who has living descendants is remembered until they have gone.",
			order:  []string{"root", "mid", "leaf", "side"},
			want:   []map[ref.Key]ref.Key{{}, {k("mid"): k("root")}, {}, {}},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			living := maps.Clone(tree)
			forgotten := map[string]int{}
			r := &removed{
				forget:     func(uid string) { forgotten[uid]++ },
				tombstones: func(context.Context) ([]postgres.LatestSubscription, error) { return nil, nil },
				living: func(_ context.Context, parent ref.Key) bool {
					for _, m := range living {
						if m.Parent == parent {
							return true
						}
					}
					return false
				},
			}
			for i, n := range tc.order {
				delete(living, n)
				r.note(t.Context(), tree[n])
				if diff := cmp.Diff(tc.want[i], r.parents(t.Context())); diff != "" {
					t.Errorf("%s\nparents() after the end of %s: -want +got:\n%s", tc.reason, n, diff)
				}
			}
			if len(r.seen) > 0 {
				t.Errorf("%s\nStill remembered: %v", tc.reason, r.seen)
			}
			if diff := cmp.Diff(map[string]int{"uid-root": 1, "uid-mid": 1, "uid-leaf": 1, "uid-side": 1}, forgotten); diff != "" {
				t.Errorf("%s\nforgotten in the mirror: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRemovedFromTheMirror reads what went before this process led.
func TestRemovedFromTheMirror(t *testing.T) {
	rows := []postgres.LatestSubscription{
		{ID: 7, UID: "uid-new", Namespace: "ns", Name: "mid", ParentNamespace: "ns", ParentName: "b", ParentUID: "uid-b"},
		{ID: 3, UID: "uid-old", Namespace: "ns", Name: "mid", ParentNamespace: "ns", ParentName: "a", ParentUID: "uid-a", CompatibilityRoot: "uid-top"},
		{ID: 4, UID: "uid-root", Namespace: "ns", Name: "root"},
	}
	r := &removed{tombstones: func(context.Context) ([]postgres.LatestSubscription, error) { return rows, nil }}

	if diff := cmp.Diff(map[ref.Key]ref.Key{k("mid"): k("b")}, r.parents(t.Context())); diff != "" {
		t.Errorf("Of two with one name the later counts.\nparents(): -want +got:\n%s", diff)
	}
	want := &family.Member{UID: "uid-old", Key: k("mid"), Parent: k("a"), Root: "uid-top"}
	if diff := cmp.Diff(want, r.find(t.Context(), "uid-old")); diff != "" {
		t.Errorf("By uid each is found.\nfind(): -want +got:\n%s", diff)
	}
	if got := r.parentUID(t.Context(), "uid-old"); got != "uid-a" {
		t.Errorf("parentUID(): got %q", got)
	}
	if got := r.find(t.Context(), ""); got != nil {
		t.Errorf("Nobody has no uid, got %v", got)
	}

	r.tombstones = func(context.Context) ([]postgres.LatestSubscription, error) {
		return rows, errors.New("the database is away")
	}
	if diff := cmp.Diff(map[ref.Key]ref.Key{}, r.parents(t.Context())); diff != "" {
		t.Errorf("What cannot be asked is unknown.\nparents(): -want +got:\n%s", diff)
	}
}

// TestRecordedAncestry holds BETTER-SUB-4: a root is found through ancestors
// that are gone, by uid, and never guessed.
func TestRecordedAncestry(t *testing.T) {
	rows := []postgres.LatestSubscription{
		{ID: 1, UID: "uid-root", Namespace: "ns", Name: "root"},
		{ID: 2, UID: "uid-mid", Namespace: "ns", Name: "mid", ParentNamespace: "ns", ParentName: "root", ParentUID: "uid-root"},
		{ID: 3, UID: "uid-leaf", Namespace: "ns", Name: "leaf", ParentNamespace: "ns", ParentName: "mid", ParentUID: "uid-mid"},
	}

	cases := map[string]struct {
		reason string
		rows   []postgres.LatestSubscription
		living []family.Member
		want   string
		broken bool
	}{
		"AllGone":         {reason: "The chain leads through the removed ones.", rows: rows, want: "uid-root"},
		"Living":          {reason: "A living parent of the recorded uid is the parent.", rows: rows, living: []family.Member{{UID: "uid-mid", Key: k("mid"), Root: "uid-root"}}, want: "uid-root"},
		"Namesake":        {reason: "One that has taken the name is not.", rows: rows, living: []family.Member{{UID: "uid-other", Key: k("mid"), Root: "uid-elsewhere"}}, want: "uid-root"},
		"NothingKnown":    {reason: "A link that nobody knows is no root.", broken: true},
		"HalfKnown":       {reason: "A chain that breaks further up is no root.", rows: rows[1:], broken: true},
		"NamesakeOnly":    {reason: "With the recorded parent unknown its namesake is not taken.", rows: rows[2:], living: []family.Member{{UID: "uid-other", Key: k("mid"), Root: "uid-elsewhere"}}, broken: true},
		"NothingRecorded": {reason: "Without a record the living parent is the parent.", living: []family.Member{{UID: "uid-mid", Key: k("mid"), Root: "uid-root"}}, want: "uid-root"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := &external{connector: &connector{
				removed: &removed{tombstones: func(context.Context) ([]postgres.LatestSubscription, error) { return tc.rows, nil }},
			}}
			byName := func(child family.Member) (*family.Member, error) {
				for _, m := range tc.living {
					if m.Key == child.Parent {
						return &m, nil
					}
				}
				return nil, nil //nolint:nilnil // The documented answer for what does not exist.
			}

			got, err := family.Root(node("leaf", "mid"), e.recordedParentOf(t.Context(), byName))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nRoot(...): -want +got:\n%s", tc.reason, diff)
			}
			var broken *family.BrokenChainError
			if errors.As(err, &broken) != tc.broken {
				t.Errorf("%s\nRoot(...): got error %v", tc.reason, err)
			}
		})
	}
}

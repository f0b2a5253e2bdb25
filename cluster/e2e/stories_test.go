package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestFindStories(t *testing.T) {
	root := t.TempDir()
	for _, file := range []string{
		"finops/first-bill/00-subscribe.yaml", "finops/first-bill/00-assert.yaml", "finops/deleted-target-ends/00-given.yaml",
		"solar/first-bill/00-given.yaml", "finops/notes/README.md", "kuttl-test.yaml",
	} {
		path := filepath.Join(root, suites, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string]struct {
		reason   string
		selected string
		want     []string
	}{
		"All":     {reason: "A folder with a first step is a story.", want: []string{"finops/deleted-target-ends", "finops/first-bill", "solar/first-bill"}},
		"Suite":   {reason: "A suite is all its stories.", selected: "finops", want: []string{"finops/deleted-target-ends", "finops/first-bill"}},
		"Name":    {reason: "A name is every story of that name.", selected: "first-bill", want: []string{"finops/first-bill", "solar/first-bill"}},
		"One":     {reason: "Both together are one story.", selected: "solar/first-bill", want: []string{"solar/first-bill"}},
		"Several": {reason: "Some of them are told in the order of their names.", selected: "solar,deleted-target-ends", want: []string{"finops/deleted-target-ends", "solar/first-bill"}},
		"Unknown": {reason: "A story that is not there is not passed, it is missing.", selected: "last-bill"},
		"Missing": {reason: "Nor is one of several.", selected: "solar,last-bill"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			found, err := findStories(root, tc.selected)
			got := make([]string, 0, len(found))
			for _, s := range found {
				got = append(got, s.String())
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want == nil, err != nil); diff != "" {
				t.Errorf("%s\nrefused: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestNoStories looks for stories where there are none.
func TestNoStories(t *testing.T) {
	folder := t.TempDir()
	for _, selected := range []string{"", "finops"} {
		if _, err := findIn(folder, selected); err == nil || !strings.Contains(err.Error(), "there is no story in "+folder) {
			t.Errorf("%q: got error %v", selected, err)
		}
	}
}

func TestComplete(t *testing.T) {
	cases := map[string]struct {
		reason  string
		options Options
		want    bool
	}{
		"All":       {"Whatever the product may do, one of them makes it do.", Options{On: OnControlPlane}, true},
		"Selected":  {"A part of the stories needs a part of the rights.", Options{On: OnControlPlane, Selected: "anywhere"}, false},
		"Elsewhere": {"Users' stories are about their Offerings, and pass without us being complete.", Options{On: OnControlPlane, Stories: "/billing-tests"}, false},
		"Node":      {"On a node a few are told.", Options{On: OnNode}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.options.complete(); got != tc.want {
				t.Errorf("%s\nwant %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

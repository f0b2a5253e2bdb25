package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

// TestSuits says what is told where if nobody asks for a story by its name.
func TestSuits(t *testing.T) {
	cases := map[string]struct {
		reason string
		place  string
		suite  string
		world  world
		want   bool
	}{
		"ControlPlane": {reason: "What needs no pods is told without.", place: OnControlPlane, suite: "finops", want: true},
		"NoPods":       {reason: "What is about pods is not.", place: OnControlPlane, suite: nodeSuite},
		"Node":         {reason: "A node can do all that, and more.", place: OnNode, suite: "finops", want: true},
		"Crossplane":   {reason: "But for what begins in a cluster of another making.", place: OnNode, suite: "package", world: world{Crossplane: true}},
		"AlsoAsPods":   {reason: "Some of that can be told there as well …", place: OnNode, suite: "tenant", world: world{Crossplane: true, Pods: alsoAsPods}, want: true},
		"NotOnly":      {reason: "… and is told without pods, too.", place: OnControlPlane, suite: "tenant", world: world{Crossplane: true, Pods: alsoAsPods}, want: true},
		"OnlyAsPods":   {reason: "Some is about nothing else.", place: OnControlPlane, suite: "package", world: world{Crossplane: true, Pods: onlyAsPods}},
		"Harmless":     {reason: "In a user's cluster nobody is disturbed …", place: OnNamed, suite: anywhereSuite, want: true},
		"Elections":    {reason: "… so nobody is elected there …", place: OnNamed, suite: "finops"},
		"Own":          {reason: "What needs a cluster of our own is not told there at all.", place: OnNamed, suite: anywhereSuite, world: world{Own: "it deletes something"}},
		"Time":         {reason: "… and no clock is moved.", place: OnNamed, suite: hoursSuite},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, suits(tc.place, story{suite: tc.suite, name: "x"}, tc.world)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestChoose chooses among the project's own stories.
func TestChoose(t *testing.T) {
	root, err := toolbox.ProjectRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	for place, want := range map[string]map[string]bool{
		OnControlPlane: {"anywhere": true, "hours": true, "finops": true, "node": false},
		OnNode:         {"anywhere": true, "hours": true, "finops": true, "node": true},
		OnNamed:        {"anywhere": true, "hours": false, "finops": false, "node": false},
	} {
		r := run{Options: Options{Root: root, On: place}}
		stories, err := r.choose()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{"anywhere": false, "hours": false, "finops": false, "node": false}
		for _, s := range stories {
			if _, ours := got[s.suite]; ours {
				got[s.suite] = true
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: suites: -want, +got:\n%s", place, diff)
		}
	}
	stories, err := (&run{Options: Options{Root: root, On: OnControlPlane, Selected: packageSuite}}).choose()
	if err != nil || len(stories) == 0 {
		t.Errorf("got %v, %v for a suite of which all but one story needs no node", stories, err)
	}
	for _, s := range stories {
		if s.name == "as-a-pod" {
			t.Error("A story that needs a node is told without.")
		}
	}
	if stories, err := (&run{Options: Options{Root: root, On: OnControlPlane, Selected: "package/as-a-pod"}}).choose(); err == nil {
		t.Errorf("got %v, want a story that needs a node to be refused", stories)
	}
	const ours = "finops/first-bill"
	if stories, err := (&run{Options: Options{Root: root, On: OnNamed, Selected: ours}}).choose(); err == nil || !strings.Contains(err.Error(), ours+": it knows") {
		t.Errorf("got %v, %v, want to be told why %s needs a cluster of our own", stories, err, ours)
	}
	var said strings.Builder
	stories, err = (&run{Options: Options{Root: root, On: OnNamed, Selected: "finops", Out: &said}}).choose()
	if err != nil || len(stories) == 0 || !strings.Contains(said.String(), ours+": it knows") {
		t.Errorf("got %v, %v and %q, want the suite without %s", stories, err, &said, ours)
	}
	if _, err := (&run{Options: Options{Root: root, On: "elsewhere"}}).choose(); err == nil {
		t.Error("want a place that is not there to be refused")
	}
}

// TestGuide holds what the guide says of a user's cluster against the stories.
func TestGuide(t *testing.T) {
	root, err := toolbox.ProjectRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile(filepath.Join(root, "docs", "guides", "test-in-ci.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(guide), "| Stories of `finops` |")
	said := map[string]bool{}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if strings.TrimSpace(line) == "" {
			break
		}
		for _, name := range regexp.MustCompile("`([a-z-]+)`").FindAllStringSubmatch(cells[1], -1) {
			said[name[1]] = strings.HasPrefix(cells[len(cells)-2], " yes")
		}
	}
	stories, err := findStories(root, "finops")
	if err != nil {
		t.Fatal(err)
	}
	are := map[string]bool{}
	for _, s := range stories {
		w, err := worldOf(root, s)
		if err != nil {
			t.Fatal(err)
		}
		are[s.name] = possible(OnNamed, w)
	}
	if diff := cmp.Diff(are, said); diff != "" {
		t.Errorf("stories that can be told in a user's cluster: -are, +said:\n%s", diff)
	}
}

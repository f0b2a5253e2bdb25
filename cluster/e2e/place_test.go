package e2e

import (
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
	if _, err := (&run{Options: Options{Root: root, On: "elsewhere"}}).choose(); err == nil {
		t.Error("want a place that is not there to be refused")
	}
}

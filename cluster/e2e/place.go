package e2e

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// The places in which stories are told.
const (
	// OnControlPlane gives each story a control plane of its own; controller and
	// collectors are processes beside it.
	OnControlPlane = "controlplane"

	// OnNode gives each story a cluster of its own with a node that runs pods, the
	// product among them, installed from the plain manifests. It needs root.
	OnNode = "node"

	// OnNamed tells stories in a cluster that the user has named for it and that
	// the product is installed in.
	OnNamed = "named"
)

// Places are all of them.
var Places = []string{OnControlPlane, OnNode, OnNamed}

// nodeSuite is about pods: nowhere else do they run.
const nodeSuite = "node"

// anywhereSuite is about nothing that a cluster has only one of, and needs no
// moved time: its stories may be told in somebody's cluster, beside whatever is
// there. All others are told there only when they are asked for.
const anywhereSuite = "anywhere"

// hoursSuite needs hours to pass, and nothing else.
const hoursSuite = "hours"

// suits says whether a story is told at the place if nobody asks for one.
func suits(place string, s story, w world) bool {
	switch place {
	case OnNamed:
		return s.suite == anywhereSuite && possible(place, w)
	case OnNode:
		return possible(place, w)
	default:
		return s.suite != nodeSuite && possible(place, w)
	}
}

// possible says whether a story can be told at the place at all.
func possible(place string, w world) bool {
	switch place {
	case OnNamed:
		return !w.Crossplane && w.Own == ""
	case OnNode:
		return !w.Crossplane || w.Pods != ""
	default:
		return w.Pods != onlyAsPods
	}
}

// choose finds the stories to tell.
func (r *run) choose() ([]story, error) {
	if !slices.Contains(Places, r.On) {
		return nil, fmt.Errorf("there is no place %q to tell stories in; there are %q", r.On, Places)
	}
	if r.Stories != "" {
		var err error
		if r.Stories, err = filepath.Abs(r.Stories); err != nil {
			return nil, fmt.Errorf("cannot find the stories: %w", err)
		}
	}
	found, err := findIn(r.folder(), r.Selected)
	longestFirst(found)
	if err != nil || r.Stories != "" {
		return found, err
	}
	var chosen []story
	var left strings.Builder
	for _, s := range found {
		w, err := worldOf(r.Root, s)
		if err != nil {
			return nil, err
		}
		switch {
		case possible(r.On, w) && (r.Selected != "" || suits(r.On, s, w)):
			chosen = append(chosen, s)
		case r.On == OnNamed && w.Own != "":
			_, _ = fmt.Fprintf(&left, "\n  %s: %s", s, w.Own)
		}
	}
	switch {
	case len(chosen) == 0:
		return nil, fmt.Errorf("what is selected cannot be told here: choose another place with --on, of %q%s", Places, &left)
	case left.Len() > 0 && r.Selected != "":
		_, _ = fmt.Fprintf(r.Out, "These cannot be told in a cluster of yours, and are left out:%s\n", &left)
	}
	return chosen, nil
}

// longestFirst puts those that wait for minutes to pass before those that do not.
func longestFirst(stories []story) {
	rank := func(s story) int {
		if s.suite == nodeSuite {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(stories, func(a, b story) int { return rank(a) - rank(b) })
}

// tellThere tells the story where it is to be told.
func (r *run) tellThere(ctx context.Context, s story, dir string, out io.Writer) error {
	switch r.On {
	case OnNode:
		if err := r.buildFor(ctx, s, out); err != nil {
			return err
		}
		return r.tellOnNode(ctx, s, dir, out)
	case OnNamed:
		return r.tellNamed(ctx, s, dir, out)
	default:
		return r.tell(ctx, s, dir, out)
	}
}

// buildFor makes what Crossplane's part of a story needs while there is a network:
// in a realm there is none.
func (r *run) buildFor(ctx context.Context, s story, out io.Writer) error {
	w, err := worldOf(r.Root, s)
	if err != nil || !w.Crossplane {
		return err
	}
	return w.build(ctx, r.Root, out)
}

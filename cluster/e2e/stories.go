package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// suites is where the stories are: a folder per suite, in it a folder per story.
const suites = "kuttl-tests"

// A story is one kuttl test.
type story struct{ suite, name string }

func (s story) String() string { return s.suite + "/" + s.name }

// findStories lists the stories in order. Selected may be the name of a suite, of a
// story, or both with a slash between; empty selects all.
func findStories(root, selected string) ([]story, error) {
	entries, err := filepath.Glob(filepath.Join(root, suites, "*", "*", "00-*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("cannot list the stories: %w", err)
	}
	var found []story
	for _, entry := range entries {
		dir := filepath.Dir(entry)
		s := story{suite: filepath.Base(filepath.Dir(dir)), name: filepath.Base(dir)}
		if !slices.Contains(found, s) && (selected == "" || slices.Contains([]string{s.suite, s.name, s.String()}, selected)) {
			found = append(found, s)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("there is no story %q in %s", selected, suites)
	}
	slices.SortFunc(found, func(a, b story) int { return strings.Compare(a.String(), b.String()) })
	return found, nil
}

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

// is says whether the story is called that, or its suite.
func (s story) is(selected string) bool {
	return slices.Contains([]string{s.suite, s.name, s.String()}, selected)
}

// findStories lists the stories in order. Selected are names of suites, of stories,
// or both with a slash between, parted by commas; empty selects all.
func findStories(root, selected string) ([]story, error) {
	return findIn(filepath.Join(root, suites), selected)
}

// findIn is findStories for any folder of suites.
func findIn(folder, selected string) ([]story, error) {
	entries, err := filepath.Glob(filepath.Join(folder, "*", "*", "00-*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("cannot list the stories: %w", err)
	}
	var all, found []story
	for _, entry := range entries {
		dir := filepath.Dir(entry)
		s := story{suite: filepath.Base(filepath.Dir(dir)), name: filepath.Base(dir)}
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b story) int { return strings.Compare(a.String(), b.String()) })
	if len(all) == 0 {
		return nil, fmt.Errorf("there is no story in %s: want a folder per suite, in it one per story, with files 00-….yaml for its first step", folder)
	}
	if selected == "" {
		return all, nil
	}
	names := strings.Split(selected, ",")
	for _, name := range names { // One of several that is not there would be passed over.
		if !slices.ContainsFunc(all, func(s story) bool { return s.is(name) }) {
			return nil, fmt.Errorf("there is no suite and no story %q in %s; there are:%s", name, folder, list(all))
		}
	}
	for _, s := range all {
		if slices.ContainsFunc(names, s.is) {
			found = append(found, s)
		}
	}
	return found, nil
}

func list(stories []story) string {
	var text strings.Builder
	for _, s := range stories {
		text.WriteString("\n  " + s.String())
	}
	return text.String()
}

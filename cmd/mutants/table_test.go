package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// least is how many mutants there have to be.
const least = 40

// TestMutants keeps the table from rotting: what is to be changed stands in the
// code, and the change is one.
func TestMutants(t *testing.T) {
	root := filepath.Join("..", "..")
	all := mutants()
	if len(all) < least {
		t.Errorf("there are %d mutants, want %d at least", len(all), least)
	}
	names := map[string]bool{}
	for _, m := range all {
		if names[m.name+m.file] {
			t.Errorf("%q is there twice", m.name)
		}
		names[m.name+m.file] = true
		if m.old == m.new {
			t.Errorf("%q changes nothing", m.name)
		}
		if _, err := m.changed(root); err != nil {
			t.Errorf("%q: %v", m.name, err)
		}
		if names := testsOf(t, filepath.Join(root, m.test)); !slices.ContainsFunc(names, regexp.MustCompile(m.run).MatchString) {
			t.Errorf("%q has no tests: none of %q in %s matches %q", m.name, names, m.test, m.run)
		}
	}
}

var declared = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// testsOf are the names of a package's tests.
func testsOf(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			names = append(names, m[1])
		}
	}
	return names
}

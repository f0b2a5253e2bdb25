package main

import (
	"os"
	"path/filepath"
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
		if _, err := os.Stat(filepath.Join(root, m.test)); err != nil {
			t.Errorf("%q has no tests: %v", m.name, err)
		}
	}
}

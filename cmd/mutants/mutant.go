package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A mutant is one wrong change.
type mutant struct {
	name string // What is wrong now.
	file string // From the root of the repository.
	old  string // Stands in the file once.
	new  string

	// test is the package whose tests have to notice, from the root, and run, if
	// it is not empty, those of its tests that do.
	test string
	run  string
}

// changed is the text of the file with the change.
func (m mutant) changed(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, m.file)) //nolint:gosec // Files of our own.
	if err != nil {
		return "", fmt.Errorf("cannot read %s: %w", m.file, err)
	}
	if n := strings.Count(string(text), m.old); n != 1 {
		return "", fmt.Errorf("%s has %d times %q, want once", m.file, n, m.old)
	}
	return strings.Replace(string(text), m.old, m.new, 1), nil
}

// sound runs the tests on the product as it is: tests that fail anyway would
// catch everything.
func sound(ctx context.Context, all []mutant) error {
	packages := map[string]bool{}
	for _, m := range all {
		packages["./"+m.test] = true
	}
	fmt.Fprintf(os.Stderr, "the tests of %d packages have to pass without any of the %d mutants first\n", len(packages), len(all))
	args := append([]string{"test"}, slices.Sorted(maps.Keys(packages))...)
	if out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil { //nolint:gosec // Packages of our own.
		return fmt.Errorf("the tests fail without any mutant: %w\n%s", err, out)
	}
	return nil
}

var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// try runs the tests with the change and returns which of them failed, nothing
// if none did.
func try(ctx context.Context, m mutant) (_ string, err error) {
	root, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("cannot tell where the repository is: %w", err)
	}
	text, err := m.changed(root)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return "", fmt.Errorf("cannot make a folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	other, overlay := filepath.Join(dir, filepath.Base(m.file)), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, m.file): other}})
	if err != nil {
		return "", fmt.Errorf("cannot write the overlay: %w", err)
	}
	if err := errors.Join(os.WriteFile(other, []byte(text), 0o600), os.WriteFile(overlay, replace, 0o600)); err != nil {
		return "", fmt.Errorf("cannot write the overlay: %w", err)
	}

	args := []string{"test", "-overlay=" + overlay, "-failfast", "-count=1", "-timeout=5m"}
	if m.run != "" {
		args = append(args, "-run="+m.run)
	}
	out, err := exec.CommandContext(ctx, "go", append(args, "./"+m.test)...).CombinedOutput() //nolint:gosec // As above.
	if err == nil {
		return "", nil
	}
	if strings.Contains(string(out), "[build failed]") || strings.Contains(string(out), "[setup failed]") {
		return "", fmt.Errorf("it does not compile, and so it proves nothing:\n%s", out)
	}
	if test := failed.FindSubmatch(out); test != nil {
		return string(test[1]), nil
	}
	if strings.Contains(string(out), "panic: ") {
		return "a panic in " + m.test, nil
	}
	return "", fmt.Errorf("the tests ended without saying what failed: %w\n%s", err, out)
}

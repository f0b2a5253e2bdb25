package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sources are the Go files of the product below some folders, tests excluded.
func sources(t *testing.T, folders ...string) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testkit") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			files[path] = file
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// words are the string literals of files that match, without duplicates.
func words(files map[string]*ast.File, form *regexp.Regexp) []string {
	found := map[string]bool{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil && form.MatchString(text) {
					found[text] = true
				}
			}
			return true
		})
	}
	return slices.Sorted(maps.Keys(found))
}

// constants are the values of string constants whose name begins with a prefix.
func constants(files map[string]*ast.File, prefix string) []string {
	found := map[string]bool{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			for i, name := range spec.Names {
				if !strings.HasPrefix(name.Name, prefix) || i >= len(spec.Values) {
					continue
				}
				if lit, ok := spec.Values[i].(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if text, err := strconv.Unquote(lit.Value); err == nil {
						found[text] = true
					}
				}
			}
			return true
		})
	}
	return slices.Sorted(maps.Keys(found))
}

// missing are the words that a page does not hold in code style.
func missing(page string, words []string) []string {
	var lacking []string
	for _, w := range words {
		if !strings.Contains(page, "`"+w+"`") && !strings.Contains(page, "`"+w+"=") && !strings.Contains(page, "="+w+"`") {
			lacking = append(lacking, w)
		}
	}
	return lacking
}

func TestConditions(t *testing.T) {
	page := read(t, "reference/conditions.md")
	api := sources(t, "../apis")
	for _, prefix := range []string{"Reason", "Type"} {
		all := constants(api, prefix)
		if len(all) < 5 {
			t.Fatalf("only %d constants begin with %s", len(all), prefix)
		}
		if diff := cmp.Diff([]string(nil), missing(page, all)); diff != "" {
			t.Errorf("%s words that are not explained: -want, +got:\n%s", prefix, diff)
		}
	}
	shells := sources(t, "../internal/controller", "../internal/jobs")
	events := append(constants(shells, "reason"), constants(shells, "Reason")...)
	if len(events) < 10 {
		t.Fatalf("only %d events", len(events))
	}
	if diff := cmp.Diff([]string(nil), missing(page, events)); diff != "" {
		t.Errorf("events that are not explained: -want, +got:\n%s", diff)
	}
}

func TestFlags(t *testing.T) {
	page := read(t, "reference/configuration.md")
	var flags []string
	for _, file := range sources(t, "../cmd/provider") {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 4 {
				return true
			}
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok && strings.HasSuffix(sel.Sel.Name, "Var") {
				if lit, ok := call.Args[1].(*ast.BasicLit); ok {
					if name, err := strconv.Unquote(lit.Value); err == nil {
						flags = append(flags, "--"+name)
					}
				}
			}
			return true
		})
	}
	if len(flags) < 10 {
		t.Fatalf("only %d flags", len(flags))
	}
	if diff := cmp.Diff([]string(nil), missing(page, flags)); diff != "" {
		t.Errorf("flags that are not explained: -want, +got:\n%s", diff)
	}
	for _, name := range regexp.MustCompile("`(--[a-zA-Z-]+)`").FindAllStringSubmatch(page, -1) {
		if !slices.Contains(flags, name[1]) && !strings.HasPrefix(name[1], "--zap-") {
			t.Errorf("flag %s is explained and does not exist", name[1])
		}
	}
}

func TestVariables(t *testing.T) {
	page := read(t, "reference/configuration.md")
	form := regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$`)
	used := words(sources(t, "../cmd/provider", "../internal/jobs"), form)
	if len(used) < 20 {
		t.Fatalf("only %d variables", len(used))
	}
	if diff := cmp.Diff([]string(nil), missing(page, used)); diff != "" {
		t.Errorf("variables that are not explained: -want, +got:\n%s", diff)
	}
}

func TestMetrics(t *testing.T) {
	page := read(t, "reference/metrics.md")
	files := sources(t, "../internal/controller", "../cmd/provider")
	exist := words(files, regexp.MustCompile(`^finops_[a-z_]+$`))
	explained := map[string]bool{}
	for _, name := range regexp.MustCompile("`(finops_[a-z_]+)`").FindAllStringSubmatch(page, -1) {
		explained[name[1]] = true
	}
	if diff := cmp.Diff(exist, slices.Sorted(maps.Keys(explained))); diff != "" {
		t.Errorf("metrics: -existing, +explained:\n%s", diff)
	}
}

// TestAdditions looks for what other pages mark as ours.
func TestAdditions(t *testing.T) {
	page := read(t, "reference/additions.md")
	marked := regexp.MustCompile("`([^`]+)`(?: †)? \\*ours\\*")
	var ours []string
	for _, other := range []string{"reference/conditions.md", "reference/configuration.md"} {
		for _, m := range marked.FindAllStringSubmatch(read(t, other), -1) {
			_, condition, found := strings.Cut(m[1], "=")
			if !found {
				ours = append(ours, m[1])
				continue
			}
			ours = append(ours, strings.TrimSuffix(m[1], "="+condition))
		}
	}
	if len(ours) < 20 {
		t.Fatalf("only %d words are marked", len(ours))
	}
	if diff := cmp.Diff([]string(nil), missing(page, ours)); diff != "" {
		t.Errorf("additions that are not listed: -want, +got:\n%s", diff)
	}
}

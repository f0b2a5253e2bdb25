package toolbox

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func newModule(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module m", 0o644)
	write(t, filepath.Join(dir, "go.sum"), "sums", 0o644)
	write(t, filepath.Join(dir, "cmd/kubebox/main.go"), "package main", 0o644)
	return dir
}

func TestCacheKey(t *testing.T) {
	const version = "go version go1.26 linux/amd64"
	flags := []string{"-some"}
	module := newModule(t)
	base, err := cacheKey(module, version, flags)
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason  string
		change  func(t *testing.T, module string)
		version string
		flags   []string
		same    bool
	}{
		"Nothing":    {reason: "Another copy of the module is the same module.", same: true},
		"OtherFile":  {reason: "What is not compiled does not matter.", same: true, change: edit("README.md")},
		"Versions":   {reason: "Other versions are another build.", change: edit("go.mod")},
		"Sums":       {reason: "So are other sums.", change: edit("go.sum")},
		"Program":    {reason: "So is another program.", change: edit("cmd/kubebox/main.go")},
		"NewProgram": {reason: "So is one more file of it.", change: edit("cmd/kubebox/more.go")},
		"Compiler":   {reason: "Another compiler may need other caches.", version: "go version go1.27 linux/amd64"},
		"Flags":      {reason: "Other flags are another build.", flags: []string{"-some", "-more"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			module := newModule(t)
			if tc.change != nil {
				tc.change(t, module)
			}
			v, f := version, flags
			if tc.version != "" {
				v = tc.version
			}
			if tc.flags != nil {
				f = tc.flags
			}
			got, err := cacheKey(module, v, f)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.same, got == base); diff != "" {
				t.Errorf("%s\nsame key: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func edit(name string) func(*testing.T, string) {
	return func(t *testing.T, module string) { write(t, filepath.Join(module, name), "changed", 0o644) }
}

func TestOpenNamedFolder(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "etcd"), "", 0o755)
	write(t, filepath.Join(dir, "kubectl"), "", 0o644) // Not to be run.
	t.Setenv(AssetsVariable, dir)

	box, err := Open(t.Context(), "", io.Discard, "etcd")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(filepath.Join(dir, "etcd"), box.Path("etcd")); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	_, err = Open(t.Context(), "", io.Discard, "etcd", "kubectl", "kube-apiserver")
	if err == nil || !strings.Contains(err.Error(), "it lacks kubectl, kube-apiserver;") {
		t.Errorf("got error %v, want one that names the two missing programs", err)
	}
}

func TestProjectRoot(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, modulePath, "go.mod"), "module m", 0o644)
	deep := filepath.Join(root, "cluster/cmd/harness")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	got, err := ProjectRoot(deep)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(root, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if got, err := ProjectRoot(t.TempDir()); err == nil {
		t.Errorf("got %q for a folder outside any project, want an error", got)
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lock(t.Context(), path, io.Discard)
	if err != nil {
		t.Fatal(err)
	}

	impatient, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	var told strings.Builder
	if _, err := lock(impatient, path, &told); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v for a lock that is held, want to run out of time", err)
	}
	if diff := cmp.Diff(1, strings.Count(told.String(), "waiting")); diff != "" {
		t.Errorf("times told to wait: -want, +got:\n%s", diff)
	}

	unlock()
	again, err := lock(t.Context(), path, io.Discard)
	if err != nil {
		t.Fatalf("cannot take a lock that was given back: %v", err)
	}
	again()
}

// What go build -v says about packages is counted; the rest is for the error.
func TestFollowBuild(t *testing.T) {
	const output = "go.etcd.io/bbolt\nk8s.io/api/core/v1\n# example.com/broken\n./broken.go:3:1: syntax error\nexample.com/last\n"
	var n atomic.Int64
	got := follow(strings.NewReader(output), &n)
	if diff := cmp.Diff([]string{"# example.com/broken", "./broken.go:3:1: syntax error"}, got); diff != "" {
		t.Errorf("complaints: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(int64(3), n.Load()); diff != "" {
		t.Errorf("packages: -want, +got:\n%s", diff)
	}
}

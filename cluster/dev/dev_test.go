package dev

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/stay"
	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

// Somebody works on a copy of the project: what he saves runs, what he breaks
// does not replace what runs, and when he leaves everything is gone.
func TestRun(t *testing.T) {
	root := projectCopy(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var said transcript
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, Options{Root: root, Out: &said}) }()

	said.wait(t, "To stop and remove everything", ended)
	attached := attach(t, root)
	attached("kubectl get crd costjobs.finops.stakater.com")

	// A program that says more than the one before it.
	write(t, root, "cmd/provider/zz.go", "package main\n\nimport \"os\"\n\nfunc init() { _, _ = os.Stderr.WriteString(\"built anew\\n\") }\n")
	said.wait(t, "controller built and started again", ended)
	attached(`grep -q "built anew" "$LOGS"`)

	write(t, root, "cmd/provider/zz.go", "package main\n\nbroken\n")
	said.wait(t, "waiting for the next change", ended)
	attached("kubectl apply -f examples/quickstart") // The webhooks of the one before answer.
	attached("kubectl wait --for=condition=Active subscriptions.finops.stakater.com --all -n acme --timeout=240s")

	crd := filepath.Join(root, "package/crds/finops.stakater.com_costjobs.yaml")
	text, err := os.ReadFile(crd)
	if err != nil {
		t.Fatal(err)
	}
	write(t, root, "package/crds/finops.stakater.com_costjobs.yaml", strings.Replace(string(text), "annotations:\n", "annotations:\n    finops.test/changed: \"true\"\n", 1))
	said.wait(t, "definitions and rights applied", ended)
	attached("kubectl get crd costjobs.finops.stakater.com -o yaml | grep -q finops.test/changed")

	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	left, err := filepath.Glob(filepath.Join(root, "_output", "dev-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("there is %v (%v), want nothing", left, err)
	}
}

// attach returns somebody in another terminal, who fails the test if a command does.
func attach(t *testing.T, root string) func(script string) {
	t.Helper()
	text, err := stay.Attach(root, "")
	if err != nil {
		t.Fatal(err)
	}
	logs, err := filepath.Glob(filepath.Join(root, "_output", "dev-*", "controller.log"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("got logs %q and error %v, want one", logs, err)
	}
	return func(script string) {
		cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", text+script)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "LOGS="+logs[0])
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
	}
}

// projectCopy is what the product is built from, and what says how its tools are.
func projectCopy(t *testing.T) string {
	t.Helper()
	from, err := toolbox.ProjectRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for _, name := range append([]string{"cluster/tools", "examples"}, watched...) {
		info, err := os.Stat(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.IsDir() {
			err = os.CopyFS(filepath.Join(root, name), os.DirFS(filepath.Join(from, name)))
		} else {
			var text []byte
			if text, err = os.ReadFile(filepath.Join(from, name)); err == nil {
				write(t, root, name, string(text))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// A transcript is what the loop says, for somebody who waits for it.
type transcript struct {
	one  sync.Mutex
	text strings.Builder
	seen int // How much of it was waited for.
}

func (s *transcript) Write(p []byte) (int, error) {
	s.one.Lock()
	defer s.one.Unlock()
	return s.text.Write(p)
}

// wait waits for a text after what was waited for before.
func (s *transcript) wait(t *testing.T, want string, ended <-chan error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	err := process.WaitFor(ctx, want, func(context.Context) error {
		s.one.Lock()
		defer s.one.Unlock()
		select {
		case err := <-ended:
			t.Fatalf("it has ended: %v\n%s", err, s.text.String())
		default:
		}
		at := strings.Index(s.text.String()[s.seen:], want)
		if at < 0 {
			return errors.New("it says: " + s.text.String()[s.seen:])
		}
		s.seen += at + len(want)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

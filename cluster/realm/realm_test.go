package realm

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// root says whether there can be a realm. Whoever is not root is told so, and
// that is all there is to see.
func root(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() == 0 {
		return true
	}
	if err := Run(t.Context(), nil, io.Discard, io.Discard); !errors.Is(err, ErrNotRoot) {
		t.Errorf("got error %v, want %v", err, ErrNotRoot)
	}
	return false
}

func enter(t *testing.T, do string, stdout io.Writer) error {
	t.Helper()
	t.Setenv(doVariable, do)
	return Run(t.Context(), nil, stdout, os.Stderr)
}

func TestInside(t *testing.T) {
	if !root(t) {
		return
	}
	var said strings.Builder
	before := settings(t)
	if err := enter(t, "look", &said); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, settings(t)); diff != "" {
		t.Errorf("the machine's settings: -before, +after:\n%s", diff)
	}
	want := []string{
		"link lo", "process 1", "process", "entries /var/lib/kubelet 0", "entries /var/lib/cni 0", "entries /var/log/pods 0",
		"entries /var/log/containers 0", "entries /run 1", "entries /dev/shm 0", "entries /run/finops/tmp 0",
	}
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "process ") && line != "process 1" {
			lines[i] = "process" // Its number is the kernel's to choose.
		}
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	nothingLeft(t, os.Getpid())
}

// settings are those of the machine that a kubelet would change.
func settings(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for name := range shaded {
		text, err := os.ReadFile(filepath.Join("/proc/sys", name))
		if err != nil {
			t.Fatal(err)
		}
		found[name] = strings.TrimSpace(string(text))
	}
	return found
}

func TestExitCode(t *testing.T) {
	if !root(t) {
		return
	}
	var exit *exec.ExitError
	if err := enter(t, "fail", io.Discard); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("got %v, want exit code 7", err)
	}
	nothingLeft(t, os.Getpid())
}

func TestExpose(t *testing.T) {
	if !root(t) {
		return
	}
	read, write := io.Pipe()
	ended := make(chan error, 1)
	t.Setenv(doVariable, "echo")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		ended <- Run(ctx, nil, write, os.Stderr)
		_ = write.Close()
	}()
	address, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	connection, err := net.Dial("tcp", strings.TrimSpace(address))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := connection.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := connection.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(connection)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("hello", string(got)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", strings.TrimSpace(address)); err == nil {
		t.Error("the way in is still open")
	}
}

// Runs of one process have nothing to do with each other.
func TestTwoAtOnce(t *testing.T) {
	if !root(t) {
		return
	}
	t.Setenv(doVariable, "wait")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	read, write := io.Pipe()
	first := make(chan error, 1)
	go func() { first <- Run(ctx, nil, write, os.Stderr) }()
	if _, err := bufio.NewReader(read).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	theirs := groups(t, os.Getpid())
	if err := enter(t, "look", io.Discard); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(theirs, groups(t, os.Getpid())); diff != "" {
		t.Errorf("control groups of the first run: -before, +after the second:\n%s", diff)
	}
	go func() { _, _ = io.Copy(io.Discard, read) }()
	stop()
	if err := <-first; err != nil {
		t.Error(err)
	}
	nothingLeft(t, os.Getpid())
}

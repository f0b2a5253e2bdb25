package realm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/cluster/process"
)

// However a run ends, nobody of it lives on; what the kernel leaves is removed
// by the run itself, or by its first process; or, at the latest, by the next run.
func TestEnds(t *testing.T) {
	if !root(t) {
		return
	}
	cases := map[string]struct {
		reason string
		end    func(t *testing.T, harness int)
		said   string
		next   bool // The next run removes what is left, whoever's it is.
	}{
		"Asked": {
			reason: "The inside is asked, and everything is removed.",
			end:    func(t *testing.T, harness int) { send(t, harness, syscall.SIGTERM) },
			said:   "told to stop\n",
		},
		"Killed": {
			reason: "Process 1 inside sees to it.",
			end:    func(t *testing.T, harness int) { send(t, harness, syscall.SIGKILL) },
		},
		"BothKilled": {
			reason: "Control groups are left to the next run.",
			end: func(t *testing.T, harness int) {
				first := onlyChild(t, harness)
				send(t, first, syscall.SIGSTOP) // It must not come to it.
				send(t, harness, syscall.SIGKILL)
				send(t, first, syscall.SIGKILL)
			},
			next: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cmd, said := startRun(t)
			pid := cmd.Process.Pid
			if err := Clean(t.Context()); err != nil {
				t.Fatal(err)
			}
			if len(groups(t, pid)) == 0 {
				t.Fatal("what still runs has lost its control groups")
			}
			tc.end(t, pid)
			rest, err := io.ReadAll(said) // Ends when nobody of them holds it any more.
			if err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // How it ended is seen below.
			if diff := cmp.Diff(tc.said, string(rest)); diff != "" {
				t.Errorf("%s\nsaid: -want, +got:\n%s", tc.reason, diff)
			}
			waitUntilGone(t, pid)
			if tc.next {
				if err := Clean(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			nothingLeft(t, pid)
		})
	}
}

func send(t *testing.T, pid int, signal syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, signal); err != nil {
		t.Fatal(err)
	}
}

// onlyChild is that of a process.
func onlyChild(t *testing.T, pid int) int {
	t.Helper()
	var found []int
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range files {
		text, _ := os.ReadFile(file) // A thread may have ended.
		for field := range strings.FieldsSeq(string(text)) {
			child, failed := strconv.Atoi(field)
			err = errors.Join(err, failed)
			found = append(found, child)
		}
	}
	if err != nil || len(found) != 1 {
		t.Fatalf("process %d has children %v, want one; error %v", pid, found, err)
	}
	return found[0]
}

// startRun starts another process that makes a realm, as the harness would,
// and waits until it is full of life.
func startRun(t *testing.T) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), doVariable+"=run wait")
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(stdout)
	if line, err := said.ReadString('\n'); err != nil || line != "waiting\n" {
		t.Fatalf("got %q and error %v, want it to wait", line, err)
	}
	return cmd, said
}

// waitUntilGone waits for all processes of the run to be gone; they carry the
// name of its control groups.
func waitUntilGone(t *testing.T, pid int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	mark := fmt.Sprintf("%s=%s%d-", groupVariable, groupPrefix, pid)
	err := process.WaitFor(ctx, "everybody to be gone", func(context.Context) error {
		var left []string
		environments, err := filepath.Glob("/proc/[0-9]*/environ")
		for _, file := range environments {
			if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), mark) {
				left = append(left, file)
			}
		}
		if len(left) > 0 {
			return fmt.Errorf("there are %v", left)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// groups are the control groups of the runs of a process.
func groups(t *testing.T, pid int) []string {
	t.Helper()
	var found []string
	for _, hierarchy := range hierarchies() {
		dirs, err := filepath.Glob(filepath.Join(hierarchy, fmt.Sprintf("%s%d-*", groupPrefix, pid)))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, dirs...)
	}
	return found
}

func nothingLeft(t *testing.T, pid int) {
	t.Helper()
	if left := groups(t, pid); len(left) > 0 {
		t.Errorf("control groups are left: %v", left)
	}
}

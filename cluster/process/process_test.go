package process

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func shell(t *testing.T, script string) *Process {
	t.Helper()
	p, err := Start(Spec{Name: "script", Path: "/bin/sh", Args: []string{"-c", script}, LogDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(0) })
	return p
}

// logged waits until the program has said something.
func logged(t *testing.T, p *Process, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := WaitFor(ctx, "the log", func(context.Context) error {
		if !strings.Contains(Tail(p.Log(), 100), text) {
			return errors.New("not there yet")
		}
		return nil
	}, p)
	if err != nil {
		t.Fatal(err)
	}
}

func TestStop(t *testing.T) {
	cases := map[string]struct {
		reason string
		script string
		grace  time.Duration
		want   string
	}{
		"Asked": {
			reason: "A program that ends when asked has the time to tidy up.",
			script: `trap 'echo tidied; exit 0' TERM; echo started; while :; do sleep 0.05; done`,
			grace:  time.Minute,
			want:   "    started\n    tidied",
		},
		"Killed": {
			reason: "A program that does not is killed.",
			script: `trap '' TERM; echo started; while :; do sleep 0.05; done`,
			grace:  50 * time.Millisecond,
			want:   "    started",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := shell(t, tc.script)
			logged(t, p, "started")
			p.Stop(tc.grace)
			if err := syscall.Kill(p.PID(), 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("%s\nthe process is still there: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, Tail(p.Log(), 10)); diff != "" {
				t.Errorf("%s\nlog: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestWaitForEndedProcess(t *testing.T) {
	p := shell(t, `echo cannot bind; exit 3`)
	err := WaitFor(t.Context(), "the server", func(context.Context) error { return errors.New("no answer") }, p)
	for _, want := range []string{"cannot wait for the server", "script ended by itself", "exit status 3", "cannot bind"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want it to say %q", err, want)
		}
	}
}

func TestWaitForGivesUp(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrToldToStop)
	last := errors.New("no answer")
	err := WaitFor(ctx, "the server", func(context.Context) error { return last })
	if !errors.Is(err, ErrToldToStop) || !errors.Is(err, last) {
		t.Errorf("got %v, want the reason to give up and the last answer", err)
	}
}

func TestLifetimeEndsWithStdin(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := Lifetime(t.Context(), read)
	defer cancel()
	if err := ctx.Err(); err != nil {
		t.Fatalf("the context has ended before stdin: %v", err)
	}
	if err := write.Close(); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if diff := cmp.Diff(ErrToldToStop.Error(), context.Cause(ctx).Error()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestLifetimeIgnoresOtherStdin(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "empty"))
	if err != nil {
		t.Fatal(err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []*os.File{file, null, nil} {
		if isPipe(f) {
			t.Errorf("%v counts as a pipe, and would end the harness at once", f)
		}
	}
}

func TestFreePorts(t *testing.T) {
	ports, err := FreePorts(20)
	if err != nil {
		t.Fatal(err)
	}
	different := map[int]bool{}
	for _, port := range ports {
		different[port] = true
	}
	if diff := cmp.Diff(20, len(different)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

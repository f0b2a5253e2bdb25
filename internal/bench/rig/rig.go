// Package rig is what the goals about processes share: the product's binary as it
// is shipped, a folder and databases to use up, and a look at what a run of it
// took.
package rig

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/provider-finops/provider-finops/internal/bench"
)

// A Rig is the product's binary and a folder to work in.
type Rig struct {
	Env    *bench.Env
	Folder string

	binary string
	name   string
}

// New builds the binary. The name is for what is left behind should the machine
// fail.
func New(ctx context.Context, env *bench.Env, name string) (*Rig, error) {
	folder, err := os.MkdirTemp("", "bench-"+name+"-")
	if err != nil {
		return nil, fmt.Errorf("cannot make a folder: %w", err)
	}
	r := &Rig{Env: env, Folder: folder, name: name, binary: filepath.Join(folder, "provider-finops")}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", r.binary, "./cmd/provider") //nolint:gosec // Our own.
	build.Env = append(os.Environ(), "CGO_ENABLED=0")                                                                 // As it is shipped.
	if out, err := build.CombinedOutput(); err != nil {
		r.Close()
		return nil, fmt.Errorf("cannot build the product: %w\n%s", err, out)
	}
	return r, nil
}

// Close removes the folder.
func (r *Rig) Close() {
	if err := os.RemoveAll(r.Folder); err != nil {
		r.Env.Logf("cannot remove %s: %v", r.Folder, err)
	}
}

// Kubeconfig writes how an API server without any authentication is reached, and
// returns the name of the file.
func (r *Rig) Kubeconfig(url string) (string, error) {
	file := filepath.Join(r.Folder, "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"bench","contexts":[{"name":"bench","context":{"cluster":"bench","user":"bench"}}],`+
		`"clusters":[{"name":"bench","cluster":{"server":%q}}],"users":[{"name":"bench","user":{}}]}`, url)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("cannot write the kubeconfig: %w", err)
	}
	return file, nil
}

// A Pass is one run of the process.
type Pass struct {
	Wall, CPU time.Duration // CPU of the process alone.
	Memory    int64         // The most it ever had, in bytes.
}

// Run runs the binary with some arguments, and variables beside those of this
// process.
func (r *Rig) Run(ctx context.Context, args []string, variables ...string) (Pass, error) {
	cmd := exec.CommandContext(ctx, r.binary, args...) //nolint:gosec // Our own.
	cmd.Env = append(os.Environ(), variables...)
	var log strings.Builder
	cmd.Stdout, cmd.Stderr = &log, &log

	began := time.Now()
	if err := cmd.Start(); err != nil {
		return Pass{}, fmt.Errorf("cannot start the process: %w", err)
	}
	peak := watchMemory(cmd.Process.Pid)
	if err := cmd.Wait(); err != nil {
		return Pass{}, fmt.Errorf("the process failed: %w\n%s", err, log.String())
	}
	wall := time.Since(began)
	return Pass{Wall: wall, CPU: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), Memory: <-peak}, nil
}

// watchMemory tells the most memory that a process ever had, once it is gone.
// The kernel keeps that figure for it, so none is missed between two looks; the
// one it hands to the parent would count what the parent had when it forked.
func watchMemory(pid int) <-chan int64 {
	peak := make(chan int64, 1)
	go func() {
		var most int64
		for tick := time.NewTicker(5 * time.Millisecond); ; <-tick.C {
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			_, after, found := strings.Cut(string(status), "VmHWM:")
			if err != nil || !found {
				peak <- most // It has ended, or is a name that waits to be collected.
				tick.Stop()
				return
			}
			var kilobytes int64
			if _, err := fmt.Sscanf(after, "%d kB", &kilobytes); err == nil {
				most = max(most, kilobytes<<10)
			}
		}
	}()
	return peak
}

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/realm"
	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

// A harness with a node may be killed while pods run: what the machine sees is
// gone with it, but for a folder, which the next start removes.
func TestNodeKilled(t *testing.T) {
	if os.Geteuid() != 0 {
		out, err := harness(t, nodeCommand.name).CombinedOutput()
		if err == nil || !strings.Contains(string(out), realm.ErrNotRoot.Error()) {
			t.Errorf("got error %v and %s, want to be told that a node needs root", err, out)
		}
		return
	}
	before := survey(t)
	killed := startNode(t)
	killed.kubectl(t, "run", "sleeper", "--image=finops.test/pause:1")
	killed.kubectl(t, "wait", "--for=condition=Ready", "pod/sleeper", "--timeout=240s")
	if err := killed.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.cmd.Wait() // It was killed.
	waitFor(t, "everybody to be gone", func() error { return gone(killed.cmd.Process.Pid) })
	asBefore(t, killed.cmd.Process.Pid, before)

	again := startNode(t)
	again.kubectl(t, "get", "node", "finops-node")
	if err := again.stdin.Close(); err != nil { // As Ctrl-C, it asks.
		t.Fatal(err)
	}
	if err := again.cmd.Wait(); err != nil {
		t.Errorf("the second harness was not killed, and failed: %v", err)
	}
	asBefore(t, again.cmd.Process.Pid, before)
	for _, run := range []*nodeRun{killed, again} {
		kubeconfig, _ := strings.CutPrefix(run.env[0], "KUBECONFIG=")
		if _, err := os.Stat(filepath.Dir(kubeconfig)); err == nil {
			t.Errorf("there is still %s", filepath.Dir(kubeconfig))
		}
	}
}

// A nodeRun is a harness that runs a node.
type nodeRun struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	env   []string // What it has printed.
}

func startNode(t *testing.T) *nodeRun {
	t.Helper()
	r := &nodeRun{cmd: harness(t, nodeCommand.name)}
	var err error
	if r.stdin, err = r.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.cmd.Stderr = os.Stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		r.env = append(r.env, lines.Text())
		if strings.HasPrefix(lines.Text(), "POD_OPENCOST=") {
			return r // That is the last.
		}
	}
	t.Fatalf("the harness has ended, having said %q", r.env)
	return nil
}

func (r *nodeRun) kubectl(t *testing.T, args ...string) {
	t.Helper()
	root, err := toolbox.ProjectRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	tools, err := toolbox.Open(t.Context(), root, os.Stderr, toolbox.Envtest...)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), tools.Path("kubectl"), args...)
	cmd.Env = append(os.Environ(), r.env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("kubectl %q: %v\n%s", args, err, out)
	}
}

// asBefore says that no control group of the run is left, nor anything else that
// the machine had not.
func asBefore(t *testing.T, pid int, before map[string][]string) {
	t.Helper()
	for _, pattern := range []string{"/sys/fs/cgroup/finops-%d-*", "/sys/fs/cgroup/*/finops-%d-*"} {
		left, err := filepath.Glob(fmt.Sprintf(pattern, pid))
		if err != nil || len(left) > 0 {
			t.Errorf("there is still %v; error %v", left, err)
		}
	}
	waitFor(t, "the machine to be as it was", func() error {
		if diff := cmp.Diff(before, survey(t)); diff != "" {
			return fmt.Errorf("-before, +after:\n%s", diff)
		}
		return nil
	})
}

// survey is what the machine has that a node makes more of.
func survey(t *testing.T) map[string][]string {
	t.Helper()
	seen := map[string][]string{}
	text, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		seen["mounts"] = append(seen["mounts"], strings.Fields(line)[1])
	}
	links, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		seen["links"] = append(seen["links"], link.Name)
	}
	for _, name := range []string{"kernel/panic", "kernel/panic_on_oops", "vm/overcommit_memory"} {
		text, err := os.ReadFile(filepath.Join("/proc/sys", name)) // A kubelet would set them.
		if err != nil {
			t.Fatal(err)
		}
		seen["settings"] = append(seen["settings"], name+" "+strings.TrimSpace(string(text)))
	}
	for _, pattern := range []string{"/var/lib/kubelet*", "/var/lib/cni*", "/var/log/pods*", "/var/log/containers*", "/run/netns*", "/run/containerd*", "/run/finops*"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		seen["files"] = append(seen["files"], found...)
	}
	return seen
}

// gone is nil once no process of the run is left; each carries its name.
func gone(pid int) error {
	mark := fmt.Sprintf("FINOPS_TEST_CGROUP=finops-%d-", pid)
	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range environments {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), mark) {
			return fmt.Errorf("%s is there", filepath.Dir(file))
		}
	}
	return err
}

func waitFor(t *testing.T, what string, done func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := process.WaitFor(ctx, what, func(context.Context) error { return done() }); err != nil {
		t.Fatal(err)
	}
}

package realm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/cluster/process"
)

// What the test program does inside, or, as "run", as the one that makes a realm.
const doVariable = "FINOPS_TEST_REALM_DO"

func TestMain(m *testing.M) {
	Begin()
	switch do := os.Getenv(doVariable); {
	case Inside():
		os.Exit(inside(do))
	case strings.HasPrefix(do, "run "):
		_ = os.Setenv(doVariable, strings.TrimPrefix(do, "run "))
		ctx, cancel := process.Lifetime(context.Background(), nil)
		err := Run(ctx, nil, os.Stdout, os.Stderr)
		cancel()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	default:
		os.Exit(m.Run())
	}
}

// inside is what happens in the realm.
func inside(do string) int {
	var err error
	switch do {
	case "look":
		err = look()
	case "wait":
		err = wait()
	case "echo":
		err = echo()
	case "fail":
		return 7
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// look says what is different here.
func look() error {
	links, err := net.Interfaces()
	if err != nil {
		return err
	}
	for _, l := range links {
		fmt.Println("link", l.Name)
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.Trim(e.Name(), "0123456789") == "" {
			fmt.Println("process", e.Name())
		}
	}
	for _, dir := range []string{"/var/lib/kubelet", "/var/lib/cni", "/var/log/pods", "/var/log/containers", "/run", "/dev/shm", os.TempDir()} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		fmt.Println("entries", dir, len(entries))
	}
	for name, value := range shaded {
		if err := os.WriteFile(filepath.Join("/proc/sys", name), []byte(value), 0o600); err != nil {
			return err
		}
	}
	if err := os.WriteFile("/proc/sys/vm/overcommit_memory", []byte("2"), 0o600); err != nil {
		return err
	}
	if _, err := os.Stat("/var/lib/dpkg/status"); err != nil {
		return fmt.Errorf("what lies beside a node's folders is gone: %w", err)
	}
	if Group() == "/" {
		return errors.New("it has no control groups")
	}
	if connection, err := net.Dial("tcp", "192.0.2.1:80"); err == nil {
		return fmt.Errorf("there is a way out, to %s", connection.RemoteAddr())
	}
	return nil
}

// wait starts somebody who ignores every request, takes a place in a control
// group as a pod would, and waits to be told to stop.
func wait() error {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	for _, hierarchy := range hierarchies() {
		if err := os.MkdirAll(filepath.Join(hierarchy, Group(), "pods", "one"), 0o755); err != nil {
			return err
		}
	}
	cmd := exec.Command("sh", "-c", "trap '' TERM INT HUP; while :; do sleep 1; done")
	if err := cmd.Start(); err != nil {
		return err
	}
	procs := filepath.Join(hierarchies()[0], Group(), "pods", "one", "cgroup.procs")
	if err := os.WriteFile(procs, fmt.Appendf(nil, "%d", cmd.Process.Pid), 0o600); err != nil {
		return err
	}
	fmt.Println("waiting")
	<-told
	fmt.Println("told to stop")
	return nil
}

// echo answers one connection from outside.
func echo() error {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	listener, err := net.Listen("tcp", "127.0.0.1:80")
	if err != nil {
		return err
	}
	exposed, err := Expose("127.0.0.1:80")
	if err != nil {
		return err
	}
	fmt.Println(exposed.Address)
	connection, err := listener.Accept()
	if err != nil {
		return err
	}
	if _, err := io.Copy(connection, connection); err != nil {
		return err
	}
	if err := connection.Close(); err != nil {
		return err
	}
	<-told // Whoever is outside has read it all.
	exposed.Stop()
	return nil
}

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

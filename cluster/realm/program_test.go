package realm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

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

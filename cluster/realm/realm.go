// Package realm runs the harness in namespaces of its own: processes,
// mounts, network and shared memory. A node in there may use fixed addresses
// and mount what it likes; parallel runs do not meet; and when the first
// process ends, by whatever hand, the kernel takes away all the others with
// their mounts, links and addresses. What the kernel does not take away are
// control groups: these are removed by Run; where Run was killed, by the first
// process inside; and where that was killed too, by Clean.
//
// It needs root. Nothing inside reaches the world, nor the other way round;
// what has to be reached from outside is let out by Expose.
package realm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// stopGrace is how long the inside may take to end once it is asked to.
const stopGrace = 90 * time.Second

// roleVariable tells a process which part it has; groupVariable the name of
// the control groups.
const (
	roleVariable  = "FINOPS_TEST_REALM"
	groupVariable = "FINOPS_TEST_CGROUP"

	roleFirst  = "first"  // Process 1: prepares, starts the next, reaps.
	roleInside = "inside" // The harness itself.
)

// Inside says whether this process is in namespaces that Run has made.
func Inside() bool { return os.Getenv(roleVariable) == roleInside }

// ErrNotRoot says that somebody else than root has asked.
var ErrNotRoot = errors.New("a node needs root: it mounts, makes links and control groups; run the command with sudo, or without the node")

// Run runs this program once more, with the arguments, in namespaces of its
// own, and waits for its end. When the context ends the inside is asked to end
// too. An end with another code than 0 is an *exec.ExitError. The program has to
// call Begin before it does anything else.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if os.Geteuid() != 0 {
		return ErrNotRoot
	}
	if err := Clean(ctx); err != nil {
		return err
	}
	group, err := newGroup()
	if err != nil {
		return err
	}
	err = run(ctx, args, group, stdout, stderr)
	return errors.Join(err, group.remove(ctx))
}

func run(ctx context.Context, args []string, g group, stdout, stderr io.Writer) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot find the harness's own program: %w", err)
	}
	network, err := os.Open("/proc/self/ns/net")
	if err != nil {
		return fmt.Errorf("cannot hold on to the machine's network: %w", err)
	}
	defer func() { _ = network.Close() }() // The inside has its own copy.
	life, held, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("cannot make a pipe for the inside: %w", err)
	}
	defer func() { _ = held.Close() }() // The kernel does, if we are killed; process 1 hears of it.

	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), roleVariable+"="+roleFirst, groupVariable+"="+string(g))
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.ExtraFiles = []*os.File{network, life} // Become outsideNetwork and outsideLife.
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC,
		Setpgid:    true, // A Ctrl-C in the terminal reaches us alone, and we ask.
	}
	err = cmd.Start()
	_ = life.Close() // The inside has its own copy.
	if err != nil {
		return fmt.Errorf("cannot make namespaces, which in a container takes a privileged one: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	_ = cmd.Process.Signal(syscall.SIGTERM) // An error means that it has just ended.
	select {
	case err := <-ended:
		return err
	case <-time.After(stopGrace):
		_ = cmd.Process.Kill()
		return errors.Join(fmt.Errorf("cannot wait any longer than %s for the inside to end", stopGrace), <-ended)
	}
}

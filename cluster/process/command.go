package process

import (
	"context"
	"os/exec"
	"syscall"
	"time"
)

// commandGrace is how long a command may take to end once it is asked to.
const commandGrace = 20 * time.Second

// Command is a program that is run to its end. It has a process group of its
// own, so that a Ctrl-C in the terminal reaches the harness alone: a program
// that the terminal ends looks as if it had failed. When the context ends the
// whole group is asked to end too, and with the harness the program dies.
func Command(ctx context.Context, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = commandGrace
	return cmd
}

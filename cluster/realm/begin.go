package realm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// folder is where everything temporary lies inside; it is memory, and goes
// with the namespaces.
const (
	folder    = "/run/finops"
	temporary = folder + "/tmp"
)

// Descriptors that are handed in: the machine's network, in all processes that
// are started here; and, in the first one, a pipe that is closed when the process
// that has called Run is no more.
const (
	outsideNetwork = 3
	outsideLife    = 4
)

// Begin has to be called before anything else by a program that calls Run. In
// most processes it does nothing. In the first one of new namespaces it
// prepares them, starts the program once more and does not return.
func Begin() {
	if os.Getenv(roleVariable) == roleInside {
		syscall.CloseOnExec(outsideNetwork) // It is for the harness, not for what it starts.
	}
	if os.Getenv(roleVariable) != roleFirst {
		return
	}
	code, err := first()
	if err != nil {
		fmt.Fprintf(os.Stderr, "harness: cannot prepare the namespaces: %v\n", err)
		code = 1
	}
	os.Exit(code)
}

// first is what process 1 does.
func first() (code int, err error) {
	if os.Getpid() != 1 {
		return 0, errors.New("this is not their first process: unset " + roleVariable)
	}
	syscall.CloseOnExec(outsideLife)
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	if err := prepareMounts(); err != nil {
		return 0, err
	}
	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("cannot bring the loopback interface up: %w\n%s", err, out)
	}
	program, err := os.Executable()
	if err != nil {
		return 0, err
	}
	child, err := os.StartProcess(program, os.Args, &os.ProcAttr{
		Env:   insideEnvironment(),
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr, os.NewFile(outsideNetwork, "network")},
	})
	if err != nil {
		return 0, err
	}
	go func() {
		for s := range signals {
			_ = child.Signal(s) // An error means that it has just ended.
		}
	}()
	alone := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.NewFile(outsideLife, "life")) // However it ends, nobody holds it any more.
		close(alone)
		_ = syscall.Kill(everybody, syscall.SIGKILL)
	}()
	status, err := reap(child.Pid)
	select {
	case <-alone:
		return 0, tidy()
	default: // Whoever has called Run sees to it.
	}
	if status.Signaled() {
		fmt.Fprintf(os.Stderr, "harness: it was ended by a signal: %v\n", status.Signal())
		return 128 + int(status.Signal()), err
	}
	return status.ExitStatus(), err
}

// everybody is all the other processes here.
const everybody = -1

// tidy does what is left to Run, where that was killed: once all the others are
// gone their control groups go.
func tidy() error {
	for {
		if _, err := syscall.Wait4(everybody, nil, 0, nil); err != nil && !errors.Is(err, syscall.EINTR) {
			break // There are no others.
		}
	}
	return group(os.Getenv(groupVariable)).remove(context.Background())
}

// reap waits for all children, those that others have left behind too, until
// the one has ended.
func reap(child int) (status syscall.WaitStatus, err error) {
	for {
		switch pid, err := syscall.Wait4(everybody, &status, 0, nil); {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return status, fmt.Errorf("cannot wait for the harness: %w", err)
		case pid == child:
			return status, nil
		}
	}
}

func insideEnvironment() []string {
	env := make([]string, 0, len(os.Environ()))
	for _, variable := range os.Environ() {
		if variable != roleVariable+"="+roleFirst {
			env = append(env, variable)
		}
	}
	return append(env, roleVariable+"="+roleInside, "TMPDIR="+temporary)
}

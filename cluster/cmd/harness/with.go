package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/provider-finops/provider-finops/cluster/testbed"
)

var withCommand = command{
	name:    "with",
	args:    "-- PROGRAM [ARGUMENT]...",
	summary: "Run one program with a test cluster around it.",
	details: `The program, and nobody else, gets the variables that name the parts:
KUBEBUILDER_ASSETS, FINOPS_TEST_POSTGRES, FINOPS_TEST_KUBECONFIG, KUBECONFIG,
FINOPS_TEST_OPENCOST. Its exit status is the harness's. For example:

  harness with --assets --postgres -- go test ./...`,
	define: func(flags *flag.FlagSet) func(context.Context, []string) error {
		parts := defineParts(flags, false)
		dir := flags.String("dir", "", "run the program in this `folder`")
		return func(ctx context.Context, args []string) error {
			if len(args) == 0 {
				return errors.New("no program is named; harness with --help says more")
			}
			// The program has the terminal; a signal meant for us is meant for it.
			signals := make(chan os.Signal, 8)
			signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
			defer signal.Stop(signals)

			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			bed, err := startUnlessTold(ctx, cancel, parts(), signals)
			if err != nil {
				return err
			}
			defer bed.Stop()
			return runProgram(args, *dir, bed.Environment(), signals)
		}
	},
}

// startUnlessTold starts the test cluster and gives up on a signal.
func startUnlessTold(ctx context.Context, cancel context.CancelFunc, parts testbed.Parts, signals <-chan os.Signal) (*testbed.Testbed, error) {
	type result struct {
		bed *testbed.Testbed
		err error
	}
	started := make(chan result, 1)
	go func() {
		bed, err := startTestbed(ctx, parts)
		started <- result{bed, err}
	}()
	select {
	case r := <-started:
		return r.bed, r.err
	case s := <-signals:
		cancel()
		if r := <-started; r.bed != nil {
			r.bed.Stop()
		}
		return nil, endedBy(s)
	}
}

// runProgram runs it to its end, handing on signals, and returns its exit code.
func runProgram(args []string, dir string, env []string, signals <-chan os.Signal) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot run %q: %w", args[0], err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			_ = cmd.Process.Signal(s) // An error means that it has just ended.
		case err := <-ended:
			return programError(args[0], err)
		}
	}
}

// endedBy is the exit code that a shell gives to what a signal has ended.
func endedBy(s os.Signal) error {
	number, ok := s.(syscall.Signal)
	if !ok {
		return exitError(1)
	}
	return exitError(128 + int(number))
}

func programError(name string, err error) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		fmt.Fprintf(os.Stderr, "harness: %s was ended by a signal: %v\n", name, status.Signal())
		return endedBy(status.Signal())
	}
	return exitError(exit.ExitCode())
}

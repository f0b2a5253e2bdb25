// Command provider is the one binary of provider-finops: the controllers of all
// kinds, or one run of a collector. It turns flags and environment into
// dependencies and starts one mode; it decides nothing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// gracePeriod is how long a process may take to end once it was told to. What
// waits even then waits for somebody who does not answer, and being cut off there
// is no worse than being killed, which is safe at any moment.
const gracePeriod = 9 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() { time.AfterFunc(gracePeriod, cutOff) })
	code := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// cutOff ends the process, whatever it waits for.
func cutOff() {
	_, _ = fmt.Fprintf(os.Stderr, "provider-finops: cannot end within %s of being told to: somebody does not answer; what was not committed is undone, and the next run does it\n", gracePeriod)
	os.Exit(1)
}

// run returns the exit code: 0 for success, 1 for a mode that failed, 2 for
// flags or variables it cannot start with.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	if len(args) > 0 && commands[args[0]] != nil {
		return commands[args[0]](ctx, args[1:], getenv, stdout, stderr)
	}

	f, err := parse(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return refuse(stderr, err)
	case f.version:
		_, _ = fmt.Fprintln(stdout, "provider-finops", version())
		return 0
	}

	start := map[string]func(context.Context, *flags, func(string) string) error{
		modeController: runController,
		modeAllocation: runAllocation,
		modeCharge:     runCharge,
	}[f.mode]

	err = start(ctx, f, getenv)
	var setting *settingError
	switch {
	case errors.As(err, &setting):
		_, _ = fmt.Fprintf(stderr, "provider-finops: %v\n", err)
		return 2
	case err != nil:
		_, _ = fmt.Fprintf(stderr, "provider-finops: %v\n", err)
		return 1
	}
	return 0
}

// A settingError is a variable that a mode cannot start with.
type settingError struct{ err error }

func (e *settingError) Error() string { return e.err.Error() }
func (e *settingError) Unwrap() error { return e.err }

// Command harness makes a test cluster out of a bare machine and takes it down
// again: PostgreSQL, a Kubernetes control plane, replayed OpenCost answers. It
// listens on the loopback interface only, picks free ports, and touches no
// cluster and no database that it has not started itself or been named.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/realm"
)

// A command is one thing that the harness does.
type command struct {
	name    string
	args    string // As the usage line shows them.
	summary string // One line.
	details string // What --help says beyond that.

	// define registers the flags and returns what to do once they are parsed.
	define func(*flag.FlagSet) func(context.Context, []string) error
}

// commands is filled in main, because help lists it.
func commands() []command {
	return []command{assetsCommand, postgresCommand, replayCommand, upCommand, nodeCommand, withCommand, demoCommand, devCommand, attachCommand, e2eCommand, nodeStoryCommand, imageCommand, packageCommand, benchCommand, timeCommand, nextHourCommand, costJobCommand, jobCommand, controllerCommand, functionCommand, crossplaneCommand, storyCommand, getCommand, cleanCommand}
}

// interrupted is the exit code of what a shell ends with Ctrl-C.
const interrupted = 130

// An exitError is the code of a command that was run for the user; it has said
// itself what went wrong.
type exitError int

func (c exitError) Error() string { return fmt.Sprintf("exit status %d", int(c)) }

func main() {
	realm.Begin()
	process.EndWithGoRun()
	err := run(context.Background(), os.Args[1:])
	var code exitError
	switch {
	case err == nil:
	case errors.Is(err, process.ErrToldToStop):
		fmt.Fprintln(os.Stderr, "harness: told to stop before it was done; everything it had started is gone")
		os.Exit(interrupted)
	case errors.As(err, &code):
		os.Exit(int(code))
	default:
		fmt.Fprintf(os.Stderr, "harness: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		usage(os.Stderr)
		return exitError(2)
	}
	if name := strings.TrimLeft(args[0], "-"); name == "help" || name == "h" {
		usage(os.Stdout)
		return nil
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return c.run(ctx, args[1:])
		}
	}
	return fmt.Errorf("there is no command %q; harness --help lists them", args[0])
}

func (c command) run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // It would say what is wrong twice.
	flags.Usage = func() {}
	do := c.define(flags)
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		c.usage(os.Stdout, flags)
		return nil
	case err != nil:
		fmt.Fprintf(os.Stderr, "harness %s: %v; --help says more\n", c.name, err)
		return exitError(2)
	}
	if flags.NArg() > 0 && c.args == "" {
		return fmt.Errorf("%s takes no arguments, got %q; harness %s --help says more", c.name, flags.Args(), c.name)
	}
	return do(ctx, flags.Args())
}

func (c command) usage(w io.Writer, flags *flag.FlagSet) {
	flags.SetOutput(w)
	words := []string{c.name, "[flags]", c.args}
	some := false
	flags.VisitAll(func(*flag.Flag) { some = true })
	if !some {
		words = []string{c.name, c.args}
	}
	_, _ = fmt.Fprintf(w, "usage: harness %s\n\n%s\n", strings.TrimSpace(strings.Join(words, " ")), c.summary)
	if c.details != "" {
		_, _ = fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(c.details))
	}
	if some {
		_, _ = fmt.Fprintln(w, "\nflags:")
		flags.PrintDefaults()
	}
}

func usage(w io.Writer) {
	_, _ = fmt.Fprint(w, "usage: harness COMMAND [flags]\n\nMakes a test cluster out of a bare machine and takes it down again.\n\ncommands:\n")
	for _, c := range commands() {
		_, _ = fmt.Fprintf(w, "  %-10s %s\n", c.name, c.summary)
	}
	_, _ = fmt.Fprint(w, "\nharness COMMAND --help says more about one of them.\n")
}

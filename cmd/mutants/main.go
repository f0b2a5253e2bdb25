// Command mutants makes small wrong changes to the product, one at a time, and
// runs the tests that have to notice. One that nobody notices is a missing test.
//
// Nothing is copied or changed on disk: the compiler is given another text for
// one file (-overlay). `make mutants` runs it with a PostgreSQL and the parts of
// an API server.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "mutants: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	set := flag.NewFlagSet("mutants", flag.ContinueOnError)
	only := set.String("only", "", "run those whose name or file contains this text")
	list := set.Bool("list", false, "print the mutants and run none")
	if err := set.Parse(args); err != nil {
		return err
	}
	chosen := slices.DeleteFunc(mutants(), func(m mutant) bool { return !strings.Contains(m.name+" "+m.file, *only) })
	if len(chosen) == 0 {
		return fmt.Errorf("no mutant has %q in its name or file; --list shows all of them", *only)
	}
	if *list {
		for _, m := range chosen {
			fmt.Fprintf(out, "%s\n    %s: %s -> %s\n", m.name, m.file, oneLine(m.old), oneLine(m.new))
		}
		return nil
	}

	if err := sound(ctx, chosen); err != nil {
		return err
	}
	var missed []string
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "MUTANT\tFILE\tCAUGHT BY\tTOOK")
	for i, m := range chosen {
		began := time.Now()
		by, err := try(ctx, m)
		switch {
		case err != nil && ctx.Err() != nil:
			return err
		case err != nil: // The others are still worth trying.
			by = err.Error()
			missed = append(missed, m.name)
		case by == "":
			by = "NOBODY"
			missed = append(missed, m.name)
		}
		took := time.Since(began).Round(100 * time.Millisecond)
		fmt.Fprintf(os.Stderr, "%d of %d: %s: %s (%s)\n", i+1, len(chosen), m.name, by, took)
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", m.name, m.file, by, took)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%d of %d were caught.\n", len(chosen)-len(missed), len(chosen))
	if len(missed) > 0 {
		return fmt.Errorf("no test noticed: %s", strings.Join(missed, "; "))
	}
	return nil
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

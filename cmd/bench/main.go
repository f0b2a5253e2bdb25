// Command bench measures the product against limits measured in the same run
// and prints which goals are met. `make bench` runs it on servers of its own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/provider-finops/provider-finops/internal/bench"
	"github.com/provider-finops/provider-finops/internal/bench/charging"
	"github.com/provider-finops/provider-finops/internal/bench/collect"
	"github.com/provider-finops/provider-finops/internal/bench/growth"
	"github.com/provider-finops/provider-finops/internal/bench/lifecycle"
)

// goals are all there are, in the order in which they are measured.
func goals() []bench.Goal {
	return slices.Concat[[]bench.Goal](
		collect.Goals(),
		charging.Goals(),
		lifecycle.Goals(),
		lifecycle.StatusSize(),
		growth.Goals(),
		charging.Growth(),
		collect.Growth(),
	)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

// options are what the command is told.
type options struct {
	list     bool
	only     string
	scale    float64
	out      string
	document string
}

func parse(args []string) (options, error) {
	var o options
	set := flag.NewFlagSet("bench", flag.ContinueOnError)
	set.BoolVar(&o.list, "list", false, "print the goals and measure none")
	set.StringVar(&o.only, "only", "", "comma-separated goals to measure, such as P1,P3; empty: all")
	set.Float64Var(&o.scale, "scale", 1, "multiplies the sizes; 1 fits ten minutes on two cores")
	set.StringVar(&o.out, "out", "_output", "folder that the report is written to, as bench.json and bench.svg")
	set.StringVar(&o.document, "document", "", "measure nothing, but put the last report into this document, and its picture and data beside it")
	return o, set.Parse(args)
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	selected, err := choose(goals(), o.only)
	if err != nil {
		return err
	}
	switch {
	case o.list:
		return list(os.Stdout, selected)
	case o.document != "":
		return document(o)
	}
	return measure(ctx, o, selected)
}

func list(w io.Writer, goals []bench.Goal) error {
	for _, g := range goals {
		if _, err := fmt.Fprintf(w, "%-5s %s: %s\n", g.ID, g.Title, g.Ratio); err != nil {
			return err
		}
	}
	return nil
}

func measure(ctx context.Context, o options, selected []bench.Goal) error {
	log.SetLogger(logr.Discard()) // What is measured has logs of its own; the libraries would complain of none.
	dsn := os.Getenv("FINOPS_TEST_POSTGRES")
	if dsn == "" {
		return errors.New("FINOPS_TEST_POSTGRES must name a PostgreSQL server to measure on; make bench starts one")
	}
	machine, err := bench.ThisMachine(ctx, dsn)
	if err != nil {
		return err
	}
	report := &bench.Report{Began: time.Now().UTC().Truncate(time.Second), Scale: o.scale, Machine: machine}
	report.Results = bench.Run(ctx, &bench.Env{PostgresDSN: dsn, Scale: o.scale, Progress: os.Stderr}, selected, time.Now)
	report.Took = time.Since(report.Began)
	if err := bench.Table(os.Stdout, report); err != nil {
		return err
	}
	if err := writeAll(filepath.Join(o.out, "bench"), report); err != nil {
		return err
	}
	if n := report.Short(); n > 0 {
		return fmt.Errorf("%d of %d goals are short", n, len(report.Results))
	}
	return nil
}

// document puts the last report into a document.
func document(o options) error {
	file, err := os.Open(filepath.Join(o.out, "bench.json"))
	if err != nil {
		return fmt.Errorf("cannot read the last report, make bench writes one: %w", err)
	}
	defer file.Close() //nolint:errcheck // It was only read.
	report, err := bench.Read(file)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(o.document)
	if err != nil {
		return fmt.Errorf("cannot read the document: %w", err)
	}
	if text, err = bench.Rewrite(text, report); err != nil {
		return fmt.Errorf("cannot write %s: %w", o.document, err)
	}
	if err := os.WriteFile(o.document, text, 0o644); err != nil { //nolint:gosec // Everybody may read it.
		return fmt.Errorf("cannot write the document: %w", err)
	}
	return writeAll(strings.TrimSuffix(o.document, filepath.Ext(o.document)), report)
}

// writeAll writes the data and the picture.
func writeAll(base string, report *bench.Report) error {
	return errors.Join(
		write(base+".json", func(w io.Writer) error { return bench.JSON(w, report) }),
		write(base+".svg", func(w io.Writer) error { return bench.Picture(w, report) }))
}

func ids(goals []bench.Goal) []string {
	all := make([]string, 0, len(goals))
	for _, g := range goals {
		all = append(all, g.ID)
	}
	return all
}

func choose(all []bench.Goal, only string) ([]bench.Goal, error) {
	if only == "" {
		return all, nil
	}
	var chosen []bench.Goal
	for id := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(all, func(g bench.Goal) bool { return g.ID == strings.TrimSpace(id) })
		if i < 0 {
			return nil, fmt.Errorf("there is no goal %q; there are %s", id, strings.Join(ids(all), ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

func write(path string, content func(io.Writer) error) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return fmt.Errorf("cannot make the report's folder: %w", err)
	}
	file, err := os.Create(path) //nolint:gosec // The path is the caller's own choice.
	if err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return content(file)
}

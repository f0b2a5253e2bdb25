// Command bench measures the product against limits measured in the same run
// and prints which goals are met. `make bench` runs it on servers of its own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/provider-finops/provider-finops/internal/bench"
	"github.com/provider-finops/provider-finops/internal/bench/charging"
	"github.com/provider-finops/provider-finops/internal/bench/collect"
	"github.com/provider-finops/provider-finops/internal/bench/lifecycle"
)

// goals are all there are, in the order in which they are measured.
func goals() []bench.Goal {
	return slices.Concat[[]bench.Goal](
		collect.Goals(),
		charging.Goals(),
		lifecycle.Goals(),
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

func run(ctx context.Context, args []string) error {
	set := flag.NewFlagSet("bench", flag.ContinueOnError)
	only := set.String("only", "", "comma-separated goals to measure, such as P1,P3; empty: all")
	scale := set.Float64("scale", 1, "multiplies the sizes; 1 fits ten minutes on two cores")
	out := set.String("out", "_output", "folder that the report is written to, as bench.json")
	if err := set.Parse(args); err != nil {
		return err
	}
	dsn := os.Getenv("FINOPS_TEST_POSTGRES")
	if dsn == "" {
		return errors.New("FINOPS_TEST_POSTGRES must name a PostgreSQL server to measure on; make bench starts one")
	}
	selected, err := choose(goals(), *only)
	if err != nil {
		return err
	}

	results := bench.Run(ctx, &bench.Env{PostgresDSN: dsn, Scale: *scale, Progress: os.Stderr}, selected, time.Now)
	if err := bench.Table(os.Stdout, results); err != nil {
		return err
	}
	if err := write(filepath.Join(*out, "bench.json"), results); err != nil {
		return err
	}
	if short := slices.DeleteFunc(slices.Clone(results), func(r bench.Result) bool { return r.Pass }); len(short) > 0 {
		return fmt.Errorf("%d of %d goals are short", len(short), len(results))
	}
	return nil
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

func write(path string, results []bench.Result) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return fmt.Errorf("cannot make the report's folder: %w", err)
	}
	file, err := os.Create(path) //nolint:gosec // The path is the caller's own choice.
	if err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return bench.JSON(file, results)
}

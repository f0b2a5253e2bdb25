// Package bench measures what the collectors take on a large hour: it runs both
// against a test cluster of their own, for hours with any number of containers.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/provider-finops/provider-finops/cluster/installation"
	"github.com/provider-finops/provider-finops/cluster/product"
)

// Options of a measurement.
type Options struct {
	Root        string // Of the repository.
	Items       int    // Containers in each hour.
	MemoryLimit int64  // Bytes that no run may pass.
	Out         io.Writer
}

const (
	namespace     = "finops-operator-system"
	allocationJob = "allocations-hourly"
	chargeJob     = "charges-hourly"
)

// A measurement is one run and what it took.
type measurement struct {
	job, what string
	hour      time.Time
	usage     product.Usage
}

// begin is in the middle of a month, so that hours before it are in the same one.
var begin = time.Date(2031, time.March, 3, 8, 20, 0, 0, time.UTC)

// Run measures, prints, and fails if a run has held more than the limit. What
// ran stays to be looked at only if something fails.
func Run(ctx context.Context, o Options) error {
	output := filepath.Join(o.Root, "_output")
	if err := os.MkdirAll(output, 0o755); err != nil {
		return fmt.Errorf("cannot make the output folder: %w", err)
	}
	dir, err := os.MkdirTemp(output, "bench-")
	if err != nil {
		return fmt.Errorf("cannot make a folder for the measurement: %w", err)
	}
	if err := measure(ctx, o, dir); err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w\nthe logs of everything that ran are in %s", err, dir)
	}
	_ = os.RemoveAll(dir) // It lies in the folder that "make clean" removes.
	return context.Cause(ctx)
}

func measure(ctx context.Context, o Options, dir string) error {
	world, err := installation.Start(ctx, installation.Options{Root: o.Root, Dir: dir, Anchor: begin, Items: o.Items, Progress: o.Out})
	if err != nil {
		return err
	}
	defer world.Stop()
	if err := subscribe(ctx, world); err != nil {
		return err
	}
	first := begin.Truncate(time.Hour).Add(time.Hour)
	steps := []measurement{
		{job: allocationJob, hour: first, what: "six hours at once"},
		{job: chargeJob, hour: first, what: "the first hour"},
		{job: allocationJob, hour: first.Add(time.Hour), what: "the closed hour and the new one"},
		{job: chargeJob, hour: first.Add(time.Hour), what: "the next hour"},
		{job: allocationJob, hour: first.Add(time.Hour), what: "the same again"},
		{job: chargeJob, hour: first.Add(time.Hour), what: "the same again"},
	}
	for i, step := range steps {
		if err := world.Product.MoveTo(ctx, step.hour.Add(time.Minute)); err != nil {
			return err
		}
		if steps[i].usage, err = world.Product.RunCostJob(ctx, namespace, step.job, step.hour); err != nil {
			return err
		}
	}
	return report(o, steps)
}

// subscribe applies the quickstart, with a parent that is charged for all that was made up too.
func subscribe(ctx context.Context, world *installation.Installation) error {
	if err := world.InstallDefinitions(ctx); err != nil {
		return err
	}
	if err := world.Product.MoveTo(ctx, begin); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"apply", "-f", "examples/quickstart"},
		{"patch", "subscriptions.finops.stakater.com", "acme-platform", "-n", "acme", "--type=merge", "--patch", `{"spec":{"usageSources":[{"resourceType":"Deployment"}]}}`},
		{"wait", "--for=condition=Active", "subscriptions.finops.stakater.com", "--all", "-n", "acme", "--timeout=180s"},
		{"wait", "--for=create", "cronjobs/" + allocationJob + "-cronjob", "cronjobs/" + chargeJob + "-cronjob", "-n", namespace, "--timeout=180s"},
	} {
		if _, err := world.Product.Kubectl.Run(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

func report(o Options, steps []measurement) error {
	const mebi = 1 << 20
	var tooMuch []error
	_, _ = fmt.Fprintf(o.Out, "\n%d containers in each hour:\n\n", o.Items)
	table := tabwriter.NewWriter(o.Out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "JOB\tHOUR\tWHAT\tWALL\tCPU\tMEMORY")
	for _, m := range steps {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%.1f MiB\n", m.job, m.hour.Format("15:04"), m.what,
			m.usage.Wall.Round(10*time.Millisecond), m.usage.CPU.Round(10*time.Millisecond), float64(m.usage.MemoryBytes)/mebi)
		if m.usage.MemoryBytes > o.MemoryLimit {
			tooMuch = append(tooMuch, fmt.Errorf("%s, %s, held %.1f MiB at once, more than %d",
				m.job, m.what, float64(m.usage.MemoryBytes)/mebi, o.MemoryLimit/mebi))
		}
	}
	return errors.Join(table.Flush(), errors.Join(tooMuch...))
}

// Package dev keeps a cluster with the product in it while somebody works on
// the product: what changes is built and started again in the same cluster, with
// the same objects and the same database, at the same business time.
package dev

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/provider-finops/provider-finops/cluster/control"
	"github.com/provider-finops/provider-finops/cluster/installation"
	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/product"
	"github.com/provider-finops/provider-finops/cluster/stay"
)

// lookInterval is how often files are looked at. A change is acted upon once
// two looks in a row see the same: who saves a dozen files is built for once.
const lookInterval = 300 * time.Millisecond

// recordedBefore is how long before now the first recorded hour is.
const recordedBefore = 24 * time.Hour

// Options of a loop.
type Options struct {
	Root string // Of the repository.
	Out  io.Writer
}

// A loop is one running.
type loop struct {
	*installation.Installation

	options Options
	dir     string
	builds  int
	one     sync.Mutex // Held by whoever changes the controller or the clock.
}

// Run brings up the cluster, says how to use it, and follows changes until the
// context ends. Then everything goes.
func Run(ctx context.Context, o Options) error {
	if err := stay.Clean(o.Root, "dev"); err != nil {
		return err
	}
	owner, err := process.Self()
	if err != nil {
		return err
	}
	l := &loop{options: o}
	if l.dir, err = stay.Folder(o.Root, "dev", owner.String()); err != nil {
		return err
	}
	err = l.run(ctx)
	switch {
	case ctx.Err() != nil:
		err = nil // Whatever failed, failed of that.
	case err != nil:
		return fmt.Errorf("%w; the logs of everything that ran are in %s", err, l.dir)
	}
	_ = os.RemoveAll(l.dir) // It lies in the folder that "make clean" removes.
	_, _ = fmt.Fprintln(o.Out, "\nStopped; everything is removed.")
	return err
}

func (l *loop) run(ctx context.Context) (err error) {
	before, err := look(l.options.Root) // What changes from here on is followed.
	if err != nil {
		return err
	}
	now := time.Now()
	l.Installation, err = installation.Start(ctx, installation.Options{
		Root: l.options.Root, Dir: l.dir, Anchor: now.Truncate(time.Hour).Add(-recordedBefore), Progress: l.options.Out,
	})
	if err != nil {
		return err
	}
	defer l.Stop()
	if err := l.InstallDefinitions(ctx); err != nil {
		return err
	}
	if err := l.Product.MoveTo(ctx, now); err != nil {
		return err
	}
	if err := l.RegisterWebhooks(ctx); err != nil {
		return err
	}
	server, err := control.Serve(exclusive{l.Product, &l.one})
	if err != nil {
		return err
	}
	defer server.Stop()
	if err := l.offer(server.URL); err != nil {
		return err
	}
	return l.follow(ctx, before)
}

// around is what somebody needs who works here.
var around = template.Must(template.New("around").Parse(`
The cluster runs; the controller is built and started again whenever you save. In another terminal:

  cd {{.Root}}
  eval "$(_output/harness attach)"

  kubectl apply -f examples/quickstart
  kubectl get finops -A
  harness next-hour     # to the next full hour, and every CostJob runs for it
  harness time +30m     # business time alone
  psql "$DSN" -c 'SELECT window_start, charge_source, amount_micros FROM subscription_charges ORDER BY 1'
  tail -f {{.Logs}}/controller.log

There is no node: pods exist and do not run; the CronJobs' runs are what next-hour makes. "make node" has one.
To stop and remove everything: Ctrl-C here, or kill {{.PID}}

`))

// offer says how to get at the cluster, here and to those who attach.
func (l *loop) offer(controlURL string) error {
	harness, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot find the harness's own program: %w", err)
	}
	err = stay.Offer(l.dir, []string{
		"KUBECONFIG=" + l.Testbed.Kubeconfig, "KUBECACHEDIR=" + l.Product.Kubectl.Cache,
		"DSN=" + l.Psql.DSN, "OPENCOST=" + l.Testbed.OpenCost, control.Variable + "=" + controlURL,
	}, []string{l.Testbed.Tools.Dir, filepath.Dir(l.Psql.Path), filepath.Dir(harness)})
	if err != nil {
		return err
	}
	if err := around.Execute(l.options.Out, map[string]any{"Root": l.options.Root, "Logs": l.dir, "PID": os.Getpid()}); err != nil {
		return fmt.Errorf("cannot say how to use the cluster: %w", err)
	}
	return nil
}

// follow acts upon changes until the context ends, or a part that is not
// rebuilt does. A controller that ends by itself is told of: the next change may
// be its cure.
func (l *loop) follow(ctx context.Context, before tree) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- l.Testbed.Wait(ctx) }()
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	last := before
	for {
		select {
		case err := <-ended:
			return err
		case err := <-l.Product.Failed():
			l.sayf("%v\nwaiting for a change", err)
		case <-tick.C:
			now, err := look(l.options.Root)
			if err != nil {
				return err
			}
			settled := len(last.changed(now)) == 0
			last = now
			names := before.changed(now)
			if !settled || len(names) == 0 {
				continue
			}
			before = now
			l.act(ctx, names)
		}
	}
}

// act does what the changes ask for. What fails is told, and everything is left
// as it runs: whoever has changed it changes it again.
func (l *loop) act(ctx context.Context, names []string) {
	began := time.Now()
	l.sayf("changed: %s", short(names))
	l.one.Lock()
	defer l.one.Unlock()
	w := workFor(names)
	var failed error
	if w.definitions {
		failed = l.InstallDefinitions(ctx)
	}
	if w.webhooks && failed == nil {
		failed = l.RegisterWebhooks(ctx)
	}
	if w.program && failed == nil {
		failed = l.rebuild(ctx)
	}
	switch {
	case ctx.Err() != nil:
	case failed != nil:
		l.sayf("%v\nwaiting for the next change", failed)
	default:
		l.sayf("%s after %s", w, time.Since(began).Round(100*time.Millisecond))
	}
}

// rebuild builds the program beside the one that runs, and then replaces it.
func (l *loop) rebuild(ctx context.Context) error {
	l.builds++
	dir := filepath.Join(l.dir, fmt.Sprintf("build-%d", l.builds))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("cannot make a folder for a build: %w", err)
	}
	binary, err := product.Build(ctx, l.options.Root, dir, io.Discard)
	if err != nil {
		return errors.Join(err, os.Remove(dir))
	}
	old := l.Product.Binary
	l.Product.Binary = binary
	err = l.Product.MoveTo(ctx, l.Product.Now())
	return errors.Join(err, os.Remove(old)) // Whoever still runs it holds it open.
}

func (l *loop) sayf(format string, values ...any) {
	_, _ = fmt.Fprintf(l.options.Out, "%s %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, values...))
}

// String says what was done.
func (w work) String() string {
	var done []string
	if w.definitions {
		done = append(done, "definitions and rights applied")
	}
	if w.webhooks {
		done = append(done, "webhooks registered")
	}
	if w.program {
		done = append(done, "controller built and started again")
	}
	return strings.Join(done, ", ")
}

// short names the first few.
func short(names []string) string {
	const shown = 3
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

// exclusive is the product, for those who move time while it may be rebuilt.
type exclusive struct {
	product *product.Product
	one     *sync.Mutex
}

// Now implements control.Product.
func (e exclusive) Now() time.Time { return e.product.Now() }

// MoveTo implements control.Product.
func (e exclusive) MoveTo(ctx context.Context, at time.Time) error {
	e.one.Lock()
	defer e.one.Unlock()
	return e.product.MoveTo(ctx, at)
}

// Configure implements control.Product.
func (e exclusive) Configure(ctx context.Context, settings []string) error {
	e.one.Lock()
	defer e.one.Unlock()
	return e.product.Configure(ctx, settings)
}

// RunCostJob implements control.Product.
func (e exclusive) RunCostJob(ctx context.Context, namespace, name string, hour time.Time) (product.Usage, error) {
	e.one.Lock()
	defer e.one.Unlock()
	return e.product.RunCostJob(ctx, namespace, name, hour)
}

// NextHour implements control.Product.
func (e exclusive) NextHour(ctx context.Context) (time.Time, []string, error) {
	e.one.Lock()
	defer e.one.Unlock()
	return e.product.NextHour(ctx)
}

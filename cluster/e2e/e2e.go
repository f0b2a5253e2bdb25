// Package e2e runs the kuttl stories against the real thing: each story has a
// control plane, a database and a controller of its own, so no story sees what
// another one has billed, elected or deleted.
//
// A story may need hours to pass. Its steps call the harness for that (see
// package control): "$HARNESS" time, "$HARNESS" costjob.
package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/provider-finops/provider-finops/cluster/control"
	"github.com/provider-finops/provider-finops/cluster/controlplane"
	"github.com/provider-finops/provider-finops/cluster/installation"
	"github.com/provider-finops/provider-finops/cluster/isolation"
	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/product"
	"github.com/provider-finops/provider-finops/cluster/stay"
	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

// begin is the business time at which every story begins, so that stories can
// name hours and figures. The first recorded hour tells about it.
var begin = time.Date(2031, time.March, 3, 8, 20, 0, 0, time.UTC)

// kind is what the folders of runs are called by; see package stay.
const kind = "e2e"

// Options of a run.
type Options struct {
	Root     string // Of the repository.
	On       string // One of Places.
	Stories  string // Folder of suites; empty: the project's own.
	Selected string // A suite or a story; empty: all that suit the place.
	Parallel int    // How many stories at once; each has a cluster of its own.
	Image    Image  // Of the product, where pods run.
	Out      io.Writer
}

// folder is where the suites are.
func (o Options) folder() string {
	if o.Stories != "" {
		return o.Stories
	}
	return filepath.Join(o.Root, suites)
}

// complete says whether the run asks for every right that the product has: only
// all of the project's own stories together do.
func (o Options) complete() bool {
	return o.On == OnControlPlane && o.Stories == "" && o.Selected == ""
}

// A run tells stories about one binary.
type run struct {
	Options

	dir, harness, binary string

	asked asked
}

// Run runs the stories and fails if one of them does. What a failed one has
// left stays.
func Run(ctx context.Context, o Options) error {
	r := run{Options: o}
	stories, err := r.choose()
	if err != nil {
		return err
	}
	if err := r.prepare(ctx); err != nil {
		return err
	}
	failed := r.all(ctx, stories)
	if failed == nil && r.complete() {
		failed = r.asked.unused()
	}
	switch {
	case ctx.Err() != nil:
		failed = context.Cause(ctx) // Whatever failed, failed of that.
	case failed != nil:
		return failed
	}
	_ = os.RemoveAll(r.dir) // It lies in the folder that "make clean" removes.
	return failed
}

func (r *run) prepare(ctx context.Context) (err error) {
	if err := os.RemoveAll(r.reports()); err != nil { // Those of an earlier run say nothing of this one.
		return fmt.Errorf("cannot remove old reports: %w", err)
	}
	if err := os.MkdirAll(r.reports(), 0o755); err != nil {
		return fmt.Errorf("cannot make the folder for reports: %w", err)
	}
	if err := stay.Clean(r.Root, kind); err != nil {
		return err
	}
	owner, err := process.Self()
	if err != nil {
		return err
	}
	if r.dir, err = stay.Folder(r.Root, kind, owner.String()); err != nil {
		return err
	}
	if r.harness, err = os.Executable(); err != nil {
		return fmt.Errorf("cannot find the harness's own program: %w", err)
	}
	r.binary, err = product.Build(ctx, r.Root, r.dir, r.Out)
	return err
}

// all tells the stories, so many at once as asked for. What each says is shown
// in one piece when it has ended.
func (r *run) all(ctx context.Context, stories []story) error {
	var (
		failed  = make([]error, len(stories))
		running sync.WaitGroup
		places  = make(chan struct{}, max(1, r.Parallel))
		show    sync.Mutex
	)
	for i, s := range stories {
		places <- struct{}{}
		running.Go(func() {
			defer func() { <-places }()
			if ctx.Err() != nil {
				return
			}
			var said bytes.Buffer
			began := time.Now()
			failed[i] = r.story(ctx, s, &said)
			show.Lock()
			defer show.Unlock()
			_, _ = fmt.Fprintf(r.Out, "=== %s\n%s--- %s %s  %s\n", s, &said, outcome(failed[i]), s, time.Since(began).Round(time.Second))
		})
	}
	running.Wait()
	bad := slices.DeleteFunc(failed, func(err error) bool { return err == nil })
	_, _ = fmt.Fprintf(r.Out, "%s, %d failed; reports are in %s\n", count(len(stories)), len(bad), r.reports())
	return errors.Join(bad...)
}

func count(stories int) string {
	if stories == 1 {
		return "1 story"
	}
	return fmt.Sprintf("%d stories", stories)
}

func outcome(err error) string {
	if err != nil {
		return "FAILED"
	}
	return "passed"
}

// reports is the folder of the reports of the place.
func (r *run) reports() string { return filepath.Join(r.Root, "_output", "reports", r.On) }

// story gives the story a world and lets kuttl tell it.
func (r *run) story(ctx context.Context, s story, out io.Writer) error {
	dir := filepath.Join(r.dir, s.suite+"-"+s.name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("cannot make a folder for story %s: %w", s, err)
	}
	if err := r.tellThere(ctx, s, dir, out); err != nil {
		return fmt.Errorf("story %s: %w; the logs of everything that ran are in %s", s, err, dir)
	}
	_ = os.RemoveAll(dir) // Nobody misses the logs of what went well.
	return nil
}

func (r *run) tell(ctx context.Context, s story, dir string, out io.Writer) error {
	begins, err := worldOf(r.Root, s)
	if err != nil {
		return err
	}
	if begins.Crossplane && !isolation.Inside() {
		return r.tellApart(ctx, s, begins, dir, out)
	}
	world, err := installation.Start(ctx, installation.Options{
		Root: r.Root, Dir: dir, Programs: toolbox.Kuttl, Anchor: begin, Binary: r.binary, Progress: out,
	})
	if err != nil {
		return err
	}
	defer world.Stop()
	if err := begins.prepare(ctx, r.Root, dir, world, out); err != nil {
		return err
	}
	more, err := begins.variables(ctx, r.Root, out)
	if err != nil {
		return err
	}
	env := slices.Concat(world.Testbed.Environment(), databaseVariables(world.Psql), more)
	told := r.serve(ctx, s, dir, out, world.Commanded(), world.Testbed.Tools, env)
	return errors.Join(told, r.asked.look(ctx, world.Product.Kubectl, filepath.Join(dir, controlplane.AuditLog)))
}

// serve lets kuttl tell the story, whose steps reach the product by way of the
// harness.
func (r *run) serve(ctx context.Context, s story, dir string, out io.Writer, p control.Product, tools toolbox.Toolbox, env []string, flags ...string) error {
	server, err := control.Serve(p)
	if err != nil {
		return err
	}
	defer server.Stop()
	return r.kuttl(ctx, s, dir, out, tools, append(env,
		"HARNESS="+r.harness, "PROVIDER="+r.binary,
		control.Variable+"="+server.URL,
		"LOGS="+dir, "STORY="+filepath.Join(r.folder(), s.suite, s.name),
		"ASSERTIONS="+filepath.Join(r.Root, suites, "assertions.sh"),
	), flags...)
}

func databaseVariables(p product.Psql) []string { return []string{"DSN=" + p.DSN, "PSQL=" + p.Path} }

// kuttl runs in the story's own folder, because kuttl writes a kubeconfig
// with an administrator's key to where it runs.
func (r *run) kuttl(ctx context.Context, s story, dir string, out io.Writer, tools toolbox.Toolbox, env []string, flags ...string) error {
	args := append([]string{
		"test", filepath.Join(r.folder(), s.suite),
		"--config=" + filepath.Join(r.Root, suites, "kuttl-test.yaml"), "--test=" + s.name,
		"--skip-delete", // The cluster goes anyway, or waits for a run.
		"--artifacts-dir=" + r.reports(), "--report=xml", "--report-name=" + s.suite + "-" + s.name,
	}, flags...)
	cmd := process.Command(ctx, tools.Path("kubectl-kuttl"), args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), env...), "PATH="+tools.Dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("kuttl: %w", err)
	}
	return nil
}

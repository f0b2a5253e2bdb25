// Package e2e runs the kuttl stories against the real thing: each story has a
// control plane, a database and a controller of its own, so no story sees what
// another one has billed, elected or deleted.
//
// A story may need hours to pass. Its steps call the harness for that (see
// package control): "$HARNESS" time, "$HARNESS" costjob.
package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/provider-finops/provider-finops/cluster/control"
	"github.com/provider-finops/provider-finops/cluster/installation"
	"github.com/provider-finops/provider-finops/cluster/product"
	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

// begin is the business time at which every story begins, so that stories can
// name hours and figures. The first recorded hour tells about it.
var begin = time.Date(2031, time.March, 3, 8, 20, 0, 0, time.UTC)

// Options of a run.
type Options struct {
	Root     string // Of the repository.
	Selected string // A suite or a story; empty: all.
	Out      io.Writer
}

// A run tells stories, one after the other, about one binary.
type run struct {
	Options

	dir, harness, binary string
}

// Run runs the stories and fails if one of them does. What a failed one has
// left stays.
func Run(ctx context.Context, o Options) error {
	stories, err := findStories(o.Root, o.Selected)
	if err != nil {
		return err
	}
	r := run{Options: o}
	if err := r.prepare(ctx); err != nil {
		return err
	}
	failed := r.all(ctx, stories)
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
	if err := os.MkdirAll(reports(r.Root), 0o755); err != nil {
		return fmt.Errorf("cannot make the folder for reports: %w", err)
	}
	if r.dir, err = os.MkdirTemp(filepath.Join(r.Root, "_output"), "e2e-"); err != nil {
		return fmt.Errorf("cannot make a folder for the stories: %w", err)
	}
	if r.harness, err = os.Executable(); err != nil {
		return fmt.Errorf("cannot find the harness's own program: %w", err)
	}
	r.binary, err = product.Build(ctx, r.Root, r.dir, r.Out)
	return err
}

func (r *run) all(ctx context.Context, stories []story) error {
	var failed []error
	for _, s := range stories {
		began := time.Now()
		_, _ = fmt.Fprintf(r.Out, "=== %s\n", s)
		outcome := "passed"
		if err := r.story(ctx, s); err != nil {
			failed = append(failed, fmt.Errorf("story %s: %w", s, err))
			outcome = "FAILED"
		}
		if ctx.Err() != nil {
			return errors.Join(failed...)
		}
		_, _ = fmt.Fprintf(r.Out, "--- %s %s  %s\n", outcome, s, time.Since(began).Round(time.Second))
	}
	_, _ = fmt.Fprintf(r.Out, "%d stories, %d failed; reports are in %s\n", len(stories), len(failed), reports(r.Root))
	return errors.Join(failed...)
}

func reports(root string) string { return filepath.Join(root, "_output", "reports") }

// story gives the story a world and lets kuttl tell it.
func (r *run) story(ctx context.Context, s story) error {
	dir := filepath.Join(r.dir, s.suite+"-"+s.name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("cannot make a folder for it: %w", err)
	}
	if err := r.tell(ctx, s, dir); err != nil {
		return fmt.Errorf("%w; the logs of everything that ran are in %s", err, dir)
	}
	_ = os.RemoveAll(dir) // Nobody misses the logs of what went well.
	return nil
}

func (r *run) tell(ctx context.Context, s story, dir string) error {
	world, err := installation.Start(ctx, installation.Options{
		Root: r.Root, Dir: dir, Programs: toolbox.Kuttl, Anchor: begin, Binary: r.binary, Progress: r.Out,
	})
	if err != nil {
		return err
	}
	defer world.Stop()
	if err := world.InstallDefinitions(ctx); err != nil {
		return err
	}
	if err := world.Product.MoveTo(ctx, begin); err != nil {
		return err
	}
	if err := world.RegisterWebhooks(ctx); err != nil {
		return err
	}
	server, err := control.Serve(world.Product)
	if err != nil {
		return err
	}
	defer server.Stop()
	return r.kuttl(ctx, s, dir, world.Testbed.Tools, append(world.Testbed.Environment(),
		"HARNESS="+r.harness,
		control.Variable+"="+server.URL,
		"DSN="+world.Psql.DSN, "PSQL="+world.Psql.Path,
		"LOGS="+dir, "STORY="+filepath.Join(r.Root, suites, s.suite, s.name),
	))
}

// kuttl runs in the story's own folder, because kuttl writes a kubeconfig
// with an administrator's key to where it runs.
func (r *run) kuttl(ctx context.Context, s story, dir string, tools toolbox.Toolbox, env []string) error {
	cmd := exec.CommandContext(ctx, tools.Path("kubectl-kuttl"), "test", filepath.Join(r.Root, suites, s.suite),
		"--config="+filepath.Join(r.Root, suites, "kuttl-test.yaml"), "--test="+s.name,
		"--skip-delete", // The cluster goes anyway.
		"--artifacts-dir="+reports(r.Root), "--report=xml", "--report-name="+s.suite+"-"+s.name)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), env...), "PATH="+tools.Dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.Stdout, cmd.Stderr = r.Out, r.Out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("kuttl: %w", err)
	}
	return nil
}

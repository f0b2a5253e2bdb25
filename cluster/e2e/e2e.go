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

// Run runs the stories one after the other and fails if one of them does.
func Run(ctx context.Context, o Options) error {
	stories, err := findStories(o.Root, o.Selected)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(reports(o.Root), 0o755); err != nil {
		return fmt.Errorf("cannot make the folder for reports: %w", err)
	}
	harness, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot find the harness's own program: %w", err)
	}
	var failed []error
	for _, s := range stories {
		began := time.Now()
		_, _ = fmt.Fprintf(o.Out, "=== %s\n", s)
		err := runStory(ctx, o, harness, s)
		if ctx.Err() != nil {
			return context.Cause(ctx) // Whatever failed, failed of that.
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("story %s: %w", s, err))
			_, _ = fmt.Fprintf(o.Out, "--- FAILED %s  %s\n", s, time.Since(began).Round(time.Second))
			continue
		}
		_, _ = fmt.Fprintf(o.Out, "--- passed %s  %s\n", s, time.Since(began).Round(time.Second))
	}
	_, _ = fmt.Fprintf(o.Out, "%d stories, %d failed; reports are in %s\n", len(stories), len(failed), reports(o.Root))
	return errors.Join(failed...)
}

func reports(root string) string { return filepath.Join(root, "_output", "reports") }

// runStory gives the story a world and lets kuttl tell it. The world's folder
// stays if it ends badly.
func runStory(ctx context.Context, o Options, harness string, s story) error {
	dir, err := os.MkdirTemp(filepath.Join(o.Root, "_output"), "e2e-"+s.name+"-")
	if err != nil {
		return fmt.Errorf("cannot make a folder for it: %w", err)
	}
	if err := tell(ctx, o, harness, s, dir); err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w; the logs of everything that ran are in %s", err, dir)
	}
	_ = os.RemoveAll(dir) // It lies in the folder that "make clean" removes.
	return nil
}

func tell(ctx context.Context, o Options, harness string, s story, dir string) error {
	world, err := installation.Start(ctx, installation.Options{
		Root: o.Root, Dir: dir, Programs: toolbox.Kuttl, Anchor: begin, Progress: o.Out,
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
	return runKuttl(ctx, o, s, dir, world.Testbed.Tools, append(world.Testbed.Environment(),
		"HARNESS="+harness,
		control.Variable+"="+server.URL,
		"DSN="+world.Psql.DSN, "PSQL="+world.Psql.Path,
		"LOGS="+dir, "STORY="+filepath.Join(o.Root, suites, s.suite, s.name),
	))
}

// runKuttl runs in the story's own folder, because kuttl writes a kubeconfig
// with an administrator's key to where it runs.
func runKuttl(ctx context.Context, o Options, s story, dir string, tools toolbox.Toolbox, env []string) error {
	cmd := exec.CommandContext(ctx, tools.Path("kubectl-kuttl"), "test", filepath.Join(o.Root, suites, s.suite),
		"--config="+filepath.Join(o.Root, suites, "kuttl-test.yaml"), "--test="+s.name,
		"--skip-delete", // The cluster goes anyway.
		"--artifacts-dir="+reports(o.Root), "--report=xml", "--report-name="+s.suite+"-"+s.name)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), env...), "PATH="+tools.Dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.Stdout, cmd.Stderr = o.Out, o.Out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("kuttl: %w", err)
	}
	return nil
}

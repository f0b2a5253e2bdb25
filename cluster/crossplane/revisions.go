package crossplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/provider-finops/provider-finops/cluster/process"
)

// retryInterval is how soon a watch that has ended is begun again.
const retryInterval = time.Second

// A revision is what is read of a ProviderRevision.
type revision struct {
	Metadata struct {
		Name              string            `json:"name"`
		DeletionTimestamp string            `json:"deletionTimestamp"`
		Labels            map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		DesiredState string `json:"desiredState"`
	} `json:"spec"`
}

// A change is an event of a watch, as kubectl prints it.
type change struct {
	Type   string   `json:"type"`
	Object revision `json:"object"`
}

const packageLabel = "pkg.crossplane.io/package"

func (r revision) active() bool {
	return r.Spec.DesiredState == "Active" && r.Metadata.DeletionTimestamp == ""
}

// A Runner is told which revision of a package is to run, as a node is by the
// Deployment that it would have: one at a time.
type Runner interface {
	// Run starts the named revision and stops the one before.
	Run(ctx context.Context, revision string) error

	// Stop stops whatever runs.
	Stop()
}

// Follow lets the runner run what the package manager wants of a Provider, until
// the context ends. What goes wrong is reported.
func (c *Crossplane) Follow(ctx context.Context, pkg string, runner Runner, report func(error)) {
	f := &follower{pkg: pkg, runner: runner, certificates: c.Certificates(pkg), known: map[string]revision{}}
	for ctx.Err() == nil {
		if err := c.watch(ctx, func(event string, r revision) error { return f.see(ctx, event, r) }); err != nil && ctx.Err() == nil {
			report(fmt.Errorf("cannot run package %q: %w", pkg, err))
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryInterval):
		}
	}
}

// watch hands on every event of a ProviderRevision.
func (c *Crossplane) watch(ctx context.Context, see func(event string, r revision) error) error {
	k := c.options.Kubectl
	cmd := process.Command(ctx, k.Path, "get", "providerrevisions.pkg.crossplane.io", "--watch", "--output-watch-events", "--output=json")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+k.Kubeconfig, "KUBECACHEDIR="+k.Cache)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() { _ = cmd.Wait() }() // It ends with its output, or with the context.
	for events := json.NewDecoder(out); ; {
		var event change
		switch err := events.Decode(&event); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			_ = cmd.Cancel() // It would go on writing.
			return err
		}
		if err := see(event.Type, event.Object); err != nil {
			_ = cmd.Cancel()
			return err
		}
	}
}

// A follower knows the revisions of one package and which of them runs.
type follower struct {
	pkg, certificates string
	runner            Runner
	known             map[string]revision
	running           string
}

func (f *follower) see(ctx context.Context, event string, r revision) error {
	if r.Metadata.Labels[packageLabel] != f.pkg {
		return nil
	}
	f.known[r.Metadata.Name] = r
	if event == "DELETED" {
		delete(f.known, r.Metadata.Name)
	}
	wanted := ""
	for name, r := range f.known {
		if r.active() {
			wanted = name
		}
	}
	switch wanted {
	case f.running:
		return nil
	case "":
		f.runner.Stop()
		f.running = ""
		return nil
	}
	if err := f.certified(ctx); err != nil {
		return err
	}
	if err := f.runner.Run(ctx, wanted); err != nil {
		return err
	}
	f.running = wanted
	return nil
}

// certified waits for the certificate, as a pod waits for a Secret it mounts.
func (f *follower) certified(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, installTimeout)
	defer cancel()
	return process.WaitFor(ctx, "the certificate of package "+f.pkg, func(context.Context) error {
		for _, file := range []string{"tls.crt", "tls.key"} {
			if _, err := os.Stat(f.certificates + "/" + file); err != nil {
				return err
			}
		}
		return nil
	})
}

// Package product builds provider-finops and runs it against a test cluster as
// a cluster would: the controller as a process that stays, a collector as one
// run with the arguments and variables of the CronJob that its CostJob became.
//
// Business time is the harness's to choose. Moving it restarts the controller
// with another --clock-offset and gives later runs the same; the replayer asks
// this package for the time.
package product

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/provider-finops/provider-finops/cluster/process"
)

const (
	readyTimeout = 3 * time.Minute
	stopGrace    = 20 * time.Second
)

// Where OpenCost lives in the cluster, as far as the controller is concerned.
const (
	OpenCostNamespace  = "opencost"
	OpenCostDeployment = "opencost"
	image              = "provider-finops:test" // No node runs it; a CronJob only has to name one.
)

// Where and as whom the plain manifests install the controller.
const (
	Namespace = "finops-operator-system"
	account   = "finops-operator-controller-manager"
)

// A Product is provider-finops, built, and where it finds its cluster. New
// makes one.
type Product struct {
	Binary   string
	DSN      string  // Of the product's own database.
	OpenCost string  // Base URL.
	Kubectl  Kubectl // As administrator.
	Logs     string  // Folder for the logs of the controller and of each run.
	Webhooks *Webhooks

	// Credentials returns a file with those of a ServiceAccount. Whatever runs of
	// the product has its own account's rights, and no others.
	Credentials func(ctx context.Context, namespace, account string) (string, error)

	// Namespace and Account are where and as whom the controller runs.
	Namespace, Account string

	one    sync.Mutex // Held while the controller is stopped and started.
	absent bool       // Not installed: time moves, and nothing is started.

	flags      []string     // Of the controller, beside those that it always has.
	variables  []string     // As "NAME=value"; of a name that it always has, this value counts.
	offset     atomic.Int64 // Nanoseconds of business time ahead of the machine's.
	controller *process.Process
	stopping   chan struct{} // Closed before the controller is stopped.
	failed     chan error
}

// New returns a Product that writes its logs into the folder.
func New(logs string) *Product {
	return &Product{Logs: logs, Namespace: Namespace, Account: account, failed: make(chan error, 1)}
}

// Build compiles the binary and returns its name in the folder. What is up to
// date is not linked again; but the folder's stays as it is if somebody builds
// anew while it runs.
func Build(ctx context.Context, root, dir string, progress io.Writer) (string, error) {
	began := time.Now()
	shared := filepath.Join(root, "_output", "test", "provider-finops")
	cmd := process.Command(ctx, "go", "build", "-buildvcs=false", "-o", shared, "./cmd/provider")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOWORK=off", "PWD="+root)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build provider-finops: %w\n%s", err, out)
	}
	binary := filepath.Join(dir, filepath.Base(shared))
	if err := os.Link(shared, binary); err != nil {
		return "", fmt.Errorf("cannot keep the binary: %w", err)
	}
	_, _ = fmt.Fprintf(progress, "provider-finops built after %s\n", time.Since(began).Round(100*time.Millisecond))
	return binary, nil
}

// Now is business time.
func (p *Product) Now() time.Time { return time.Now().UTC().Add(p.clockOffset()) }

// MoveTo sets business time and starts the controller there, stopping the one
// that ran before.
func (p *Product) MoveTo(ctx context.Context, at time.Time) error {
	p.one.Lock()
	defer p.one.Unlock()
	p.stop()
	p.offset.Store(int64(time.Until(at)))
	if p.absent {
		return nil
	}
	return p.start(ctx)
}

// Install starts the controller at the present business time, and lets it start
// whenever time moves.
func (p *Product) Install(ctx context.Context) error {
	p.one.Lock()
	defer p.one.Unlock()
	p.stop()
	p.absent = false
	return p.start(ctx)
}

// Uninstall stops the controller, and lets nothing but Install start it.
func (p *Product) Uninstall() {
	p.one.Lock()
	defer p.one.Unlock()
	p.stop()
	p.absent = true
}

func (p *Product) start(ctx context.Context) error {
	ports, err := process.FreePorts(1)
	if err != nil {
		return err
	}
	kubeconfig, err := p.Credentials(ctx, p.Namespace, p.Account)
	if err != nil {
		return err
	}
	probe := fmt.Sprintf("127.0.0.1:%d", ports[0])
	p.controller, err = process.Start(process.Spec{
		Name: "controller", Path: p.Binary, LogDir: p.Logs,
		Args: slices.Concat([]string{"--leader-elect", "--health-probe-bind-address=" + probe, p.clockFlag()}, p.Webhooks.arguments(), p.flags),
		Env:  p.controllerEnvironment(kubeconfig),
	})
	if err != nil {
		return err
	}
	p.stopping = make(chan struct{})
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	err = process.WaitFor(ctx, "the controller to be ready", func(ctx context.Context) error {
		return errors.Join(process.Answers(ctx, "http://"+probe+"/readyz"), p.Webhooks.ready(ctx))
	}, p.controller)
	if err != nil {
		return fmt.Errorf("%w; its log is %s", err, p.controller.Log())
	}
	go p.watch(p.controller, p.stopping) // Before it was ready, its end is the caller's to hear of.
	return nil
}

// Configure restarts the controller with these flags and variables, each in one
// word, instead of those of an earlier call. They stay when time moves.
func (p *Product) Configure(ctx context.Context, settings []string) error {
	p.flags, p.variables = nil, nil
	for _, s := range settings {
		switch {
		case strings.HasPrefix(s, "--"):
			p.flags = append(p.flags, s)
		case strings.Contains(s, "="):
			p.variables = append(p.variables, s)
		default:
			return fmt.Errorf("%q is neither a flag nor a variable with its value", s)
		}
	}
	return p.MoveTo(ctx, p.Now())
}

// Failed tells of a controller that was ready and has ended though nobody had
// stopped it.
func (p *Product) Failed() <-chan error { return p.failed }

func (p *Product) watch(controller *process.Process, stopping <-chan struct{}) {
	<-controller.Done()
	select {
	case <-stopping:
	default:
		select {
		case p.failed <- controller.Ended():
		default: // Somebody has yet to hear of an earlier one.
		}
	}
}

// Stop stops the controller, if it runs.
func (p *Product) Stop() {
	p.one.Lock()
	defer p.one.Unlock()
	p.stop()
}

func (p *Product) stop() {
	if p.controller != nil {
		close(p.stopping)
		p.controller.Stop(stopGrace)
		p.controller = nil
	}
}

func (p *Product) clockOffset() time.Duration { return time.Duration(p.offset.Load()) }

const clockFlag = "--clock-offset="

func (p *Product) clockFlag() string { return clockFlag + p.clockOffset().String() }

// clocked are the arguments of a run. The controller has given it its own offset,
// which may be that of a moment ago.
func (p *Product) clocked(args []string) []string {
	args = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.HasPrefix(a, clockFlag) })
	return append(args, p.clockFlag())
}

func (p *Product) controllerEnvironment(kubeconfig string) []string {
	always := append(cleanEnvironment(),
		p.Webhooks.variable(),
		"KUBECONFIG="+kubeconfig,
		"POD_NAMESPACE="+p.Namespace,
		"POSTGRES_CONNECTION_STRING="+p.DSN,
		"OPENCOST_CONNECTION_STRING="+p.OpenCost,
		"OPENCOST_DEPLOYMENT_NAME="+OpenCostDeployment,
		"OPENCOST_DEPLOYMENT_NAMESPACE="+OpenCostNamespace,
		"OPERATOR_IMAGE="+image,
	)
	return append(always, p.variables...) // Of several values a process has the last.
}

// cleanEnvironment is what a container has: hardly anything. So nothing that
// the developer has set leads the product elsewhere.
func cleanEnvironment() []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "GOCOVERDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

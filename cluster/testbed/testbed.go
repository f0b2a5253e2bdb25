// Package testbed puts the parts of a test cluster together: the programs,
// PostgreSQL, a control plane and replayed OpenCost answers. It starts what is
// asked for, says in environment variables where it is, and takes it down.
//
// Something of the user's is taken instead only if it is named for this
// purpose, because tests migrate databases down and elect price books: an
// ambient KUBECONFIG or connection string is never looked at.
package testbed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/provider-finops/provider-finops/cluster/controlplane"
	"github.com/provider-finops/provider-finops/cluster/node"
	"github.com/provider-finops/provider-finops/cluster/postgres"
	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/replay"
	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

// The variables that name a part, for the user to set and for tests to read.
const (
	PostgresVariable   = "FINOPS_TEST_POSTGRES"   // DSN of a superuser.
	KubeconfigVariable = "FINOPS_TEST_KUBECONFIG" // File with an administrator's credentials.
	OpenCostVariable   = "FINOPS_TEST_OPENCOST"   // Base URL.
)

// Parts says what is wanted.
type Parts struct {
	Programs     []string // Of the toolbox; see the sets there.
	Postgres     *postgres.Options
	ControlPlane bool
	Replay       *replay.Options

	// Node adds a node that runs pods. It works in a realm only (package realm), and
	// as if Fresh; database and replayer listen where pods reach them.
	Node bool

	// Still says that no CronJob fires: with a node their pods would run, at the
	// machine's time.
	Still bool

	// Fresh starts every part, whatever the user has named.
	Fresh bool

	Logs string // Folder for the logs of control plane and node; empty: they go when it goes.
}

// A Testbed is what was asked for, running. What was not is empty.
type Testbed struct {
	Tools      toolbox.Toolbox
	Kubeconfig string
	DSN        string
	OpenCost   string // Base URL of the replayer.
	Psql       string // PostgreSQL's client, with a server of our own.

	Node *node.Node // Takes images.

	progress     io.Writer
	postgres     *postgres.Server
	controlPlane *controlplane.ControlPlane
	replay       *replay.Server
}

// Start finds the programs first, and then brings up everything at once.
func Start(ctx context.Context, root string, parts Parts, progress io.Writer) (*Testbed, error) {
	began := time.Now()
	b := &Testbed{progress: progress}
	if !parts.Fresh && !parts.Node {
		b.DSN, b.Kubeconfig = os.Getenv(PostgresVariable), os.Getenv(KubeconfigVariable)
	}
	if parts.ControlPlane && b.Kubeconfig == "" {
		parts.Programs = append(parts.Programs, toolbox.ControlPlane...)
	}
	if parts.Node {
		parts.Programs = append(parts.Programs, toolbox.Node...)
	}
	if len(parts.Programs) > 0 {
		var err error
		if b.Tools, err = toolbox.Open(ctx, root, progress, parts.Programs...); err != nil {
			return nil, err
		}
	}
	if err := process.CleanFolders(); err != nil {
		return nil, err
	}
	if parts.Node {
		if err := node.OpenNetwork(ctx); err != nil {
			return nil, err
		}
	}
	if err := atOnce(
		func() error { return b.startPostgres(ctx, parts) },
		func() error { return b.startCluster(ctx, root, parts, progress) },
		func() error { return b.startReplay(parts) },
	); err != nil {
		b.Stop()
		return nil, err
	}
	_, _ = fmt.Fprintf(progress, "test cluster ready after %s\n", time.Since(began).Round(time.Millisecond))
	return b, nil
}

// Environment is what a program needs to find the parts.
func (b *Testbed) Environment() []string {
	var env []string
	set := func(variable, value string) {
		if value != "" {
			env = append(env, variable+"="+value)
		}
	}
	set(toolbox.AssetsVariable, b.Tools.Dir)
	set(PostgresVariable, b.DSN)
	set(KubeconfigVariable, b.Kubeconfig)
	set("KUBECONFIG", b.Kubeconfig)
	if b.controlPlane != nil {
		set("KUBECACHEDIR", KubectlCache(b.Kubeconfig))
	}
	set(OpenCostVariable, b.OpenCost)
	return env
}

// ServingCertificate is for a webhook server; see the control plane's.
func (b *Testbed) ServingCertificate(dir string) ([]byte, error) {
	if b.controlPlane == nil {
		return nil, errors.New("cannot issue a serving certificate: the control plane is not ours")
	}
	return b.controlPlane.ServingCertificate(dir)
}

// AccountKubeconfig returns a file with a token of a ServiceAccount; see the
// control plane's.
func (b *Testbed) AccountKubeconfig(ctx context.Context, namespace, name string) (string, error) {
	if b.controlPlane == nil {
		return "", errors.New("cannot get a token of a ServiceAccount: the control plane is not ours")
	}
	return b.controlPlane.AccountKubeconfig(ctx, namespace, name)
}

// KubeconfigAt is the kubeconfig with another address of the API server; see the
// control plane's.
func (b *Testbed) KubeconfigAt(dir, address string) (string, error) {
	if b.controlPlane == nil {
		return "", errors.New("cannot write a kubeconfig: the control plane is not ours")
	}
	return b.controlPlane.KubeconfigAt(dir, address)
}

// APIServer is the address of the API server, without a scheme; empty if it is
// not ours.
func (b *Testbed) APIServer() string {
	if b.controlPlane == nil {
		return ""
	}
	return strings.TrimPrefix(b.controlPlane.URL(), "https://")
}

// KubectlCache is the folder in which kubectl may remember what the control
// plane of that kubeconfig serves. In the user's own cache it would remember by
// address, and an address of today was another cluster's yesterday.
func KubectlCache(kubeconfig string) string {
	return filepath.Join(filepath.Dir(kubeconfig), "kubectl-cache")
}

// Wait returns when the context ends, with nil, or when a part does.
func (b *Testbed) Wait(ctx context.Context) error {
	var postgresDone, controlPlaneDone, nodeDone <-chan struct{}
	var replayFailed <-chan error
	if b.postgres != nil {
		postgresDone = b.postgres.Done()
	}
	if b.controlPlane != nil {
		controlPlaneDone = b.controlPlane.Done()
	}
	if b.Node != nil {
		nodeDone = b.Node.Done()
	}
	if b.replay != nil {
		replayFailed = b.replay.Failed()
	}
	select {
	case <-ctx.Done():
		return nil
	case <-postgresDone:
		return b.postgres.Ended()
	case <-controlPlaneDone:
		return b.controlPlane.Ended()
	case <-nodeDone:
		return b.Node.Ended()
	case err := <-replayFailed:
		return err
	}
}

// Stop takes down what Start has brought up, and leaves the user's alone.
func (b *Testbed) Stop() {
	var stops sync.WaitGroup
	if b.replay != nil {
		stops.Go(b.replay.Stop)
	}
	stops.Go(b.stopCluster)
	if b.postgres != nil {
		stops.Go(b.postgres.Stop)
	}
	stops.Wait()
}

func (b *Testbed) startPostgres(ctx context.Context, parts Parts) (err error) {
	if parts.Postgres == nil || b.DSN != "" {
		return nil
	}
	options := *parts.Postgres
	if parts.Node {
		options.Address = node.Network
	}
	if b.postgres, err = postgres.Start(ctx, options); err == nil {
		b.DSN, b.Psql = b.postgres.DSN(), b.postgres.Binaries.Path("psql")
	}
	return err
}

func (b *Testbed) startCluster(ctx context.Context, root string, parts Parts, progress io.Writer) (err error) {
	if !parts.ControlPlane || b.Kubeconfig != "" {
		return nil
	}
	if parts.Node {
		b.controlPlane, err = controlplane.StartForNode(ctx, b.Tools, parts.Logs, controlplane.Host{Address: node.Address, Still: parts.Still})
	} else {
		b.controlPlane, err = controlplane.Start(ctx, b.Tools, parts.Logs)
	}
	if err != nil {
		return err
	}
	b.Kubeconfig = b.controlPlane.Kubeconfig()
	if parts.Node {
		b.Node, err = node.Start(ctx, b.controlPlane, node.Options{Root: root, Tools: b.Tools, Logs: parts.Logs, Progress: progress})
	}
	return err
}

// stopCluster stops the node first: its pods are the control plane's clients.
func (b *Testbed) stopCluster() {
	if b.Node != nil {
		if err := b.Node.Stop(context.Background()); err != nil {
			_, _ = fmt.Fprintf(b.progress, "the node has left something behind: %v\n", err)
		}
	}
	if b.controlPlane != nil {
		b.controlPlane.Stop()
	}
}

func (b *Testbed) startReplay(parts Parts) error {
	if parts.Replay == nil {
		return nil
	}
	handler, err := replay.New(*parts.Replay)
	if err != nil {
		return err
	}
	host := "127.0.0.1"
	if parts.Node {
		host = node.Address
	}
	if b.replay, err = replay.Serve(net.JoinHostPort(host, "0"), handler); err == nil {
		b.OpenCost = b.replay.URL
	}
	return err
}

// atOnce runs all functions side by side and joins their errors.
func atOnce(functions ...func() error) error {
	failed := make([]error, len(functions))
	var running sync.WaitGroup
	for i, f := range functions {
		running.Go(func() { failed[i] = f() })
	}
	running.Wait()
	return errors.Join(failed...)
}

// Package node runs a real node: containerd, runc and the network plug-ins of
// the machine's distribution, and Kubernetes' own kubelet. Its pods have a
// network of their own on a bridge; they reach the API server at the address of
// its Service, and whatever else listens at Address. Names are not resolved, and
// of Services only that of the API server leads anywhere.
//
// It needs root, and namespaces of its own (package realm): its addresses, ports
// and folders are fixed.
package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/provider-finops/provider-finops/cluster/controlplane"
	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/realm"
	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

// Name is what the node is called.
const Name = "finops-node"

// folder is everything that the node writes, but for what its programs write to
// places of their own choice; package realm has put memory there.
const folder = "/run/finops/node"

const (
	startTimeout = 5 * time.Minute
	stopGrace    = 20 * time.Second
)

// Options of a node.
type Options struct {
	Root     string          // Of the repository.
	Tools    toolbox.Toolbox // With toolbox.Node.
	Logs     string          // Folder for the logs of the node's programs; empty: they go when it goes.
	Progress io.Writer
}

// A Node is running.
type Node struct {
	programs   Programs
	containerd *process.Process
	kubelet    *process.Process
	ended      chan struct{}
	first      *process.Process // The first that ended; valid once ended is closed.
}

// Start joins a node to a control plane that was started for one at Address,
// and waits until it takes pods. OpenNetwork has to come first.
func Start(ctx context.Context, c *controlplane.ControlPlane, o Options) (*Node, error) {
	if !realm.Inside() {
		return nil, errors.New("cannot start a node: it needs namespaces of its own, see package realm")
	}
	if o.Logs == "" {
		o.Logs = file("logs")
	}
	began := time.Now()
	n := &Node{ended: make(chan struct{})}
	if err := n.start(ctx, c, o); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot start the node: %w", err), n.Stop(ctx))
	}
	go n.watch()
	_, _ = fmt.Fprintf(o.Progress, "node ready after %s\n", time.Since(began).Round(time.Millisecond))
	return n, nil
}

func (n *Node) start(ctx context.Context, c *controlplane.ControlPlane, o Options) (err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if n.programs, err = Find(ctx, o.Progress); err != nil {
		return err
	}
	join, err := c.JoinNode(Name)
	if err != nil {
		return err
	}
	if err := n.writeFiles(join); err != nil {
		return err
	}
	n.containerd, err = process.Start(process.Spec{
		Name: "containerd", Path: n.programs.Containerd, Args: []string{"--config=" + file("containerd.toml")}, Dir: folder, LogDir: o.Logs,
	})
	if err != nil {
		return err
	}
	if err := n.importPause(ctx, o.Root); err != nil {
		return err
	}
	n.kubelet, err = startKubelet(ctx, process.Spec{
		Name: "kubelet", Path: o.Tools.Path("kubelet"), Dir: folder, LogDir: o.Logs,
		Args: []string{
			"--config=" + file("kubelet.yaml"), "--kubeconfig=" + join.Kubeconfig, "--root-dir=" + file("kubelet"), "--cert-dir=" + file("pki"),
			"--hostname-override=" + Name, "--node-ip=" + Address,
		},
	}, func(ctx context.Context) error { return ready(ctx, c) }, n.containerd)
	return err
}

// ready is nil once the node takes pods.
func ready(ctx context.Context, c *controlplane.ControlPlane) error {
	var object struct {
		Status struct {
			Conditions []struct{ Type, Status, Message string }
		}
	}
	if err := c.Read(ctx, "/api/v1/nodes/"+Name, &object); err != nil {
		return err
	}
	for _, condition := range object.Status.Conditions {
		if condition.Type == "Ready" && condition.Status != "True" {
			return fmt.Errorf("it is not: %s", condition.Message)
		}
	}
	if len(object.Status.Conditions) == 0 {
		return errors.New("it has not said anything yet")
	}
	return nil
}

// Done is closed when a part of it has ended.
func (n *Node) Done() <-chan struct{} { return n.ended }

// Ended explains an end that nobody asked for.
func (n *Node) Ended() error {
	<-n.ended
	return n.first.Ended()
}

func (n *Node) watch() {
	n.first = n.containerd
	select {
	case <-n.containerd.Done():
	case <-n.kubelet.Done():
		n.first = n.kubelet
	}
	close(n.ended)
}

func file(name string) string { return filepath.Join(folder, name) }

func (n *Node) writeFiles(join controlplane.Join) error {
	for name, text := range map[string]string{
		"containerd.toml":         n.containerdConfig(),
		"network/finops.conflist": networkConfig,
		"kubelet.yaml":            kubeletConfig(join),
		"resolv.conf":             "", // There is no server of names.
	} {
		if err := os.MkdirAll(filepath.Dir(file(name)), 0o755); err != nil {
			return fmt.Errorf("cannot make a folder for the node: %w", err)
		}
		if err := os.WriteFile(file(name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("cannot write the node's configuration: %w", err)
		}
	}
	return nil
}

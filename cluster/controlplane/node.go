package controlplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

// servicePort is what pods connect to: the port of the API server's Service. As
// its server has the same one, nothing has to translate it.
const servicePort = 443

// ServiceAddress is where pods find the API server. Somebody has to give it to
// an interface of the network that StartForNode is called in.
const ServiceAddress = serviceAddress

// A Host is a node that a control plane is started for.
type Host struct {
	Address string

	// Still says that CronJobs do not fire: they would at the machine's time.
	Still bool
}

// StartForNode is Start for a node: with a scheduler, and an API server that pods
// reach. It listens on all interfaces, at a fixed port, so it is for a network of
// its own.
func StartForNode(ctx context.Context, tools toolbox.Toolbox, logs string, host Host) (*ControlPlane, error) {
	if host.Address == "" {
		return nil, errors.New("cannot start a control plane for a node without an address")
	}
	return startFor(ctx, tools, logs, host)
}

// nodeArguments come after those of an API server without a node, and replace
// them.
func (c *ControlPlane) nodeArguments() []string {
	if c.host.Address == "" {
		return nil
	}
	return []string{
		"--bind-address=0.0.0.0",
		"--advertise-address=" + c.host.Address,
		"--endpoint-reconciler-type=lease", // The Service of the API server has an endpoint.
		// Webhooks are reached at the addresses of their pods: nothing makes the
		// addresses of Services lead anywhere.
		"--enable-aggregator-routing=true",
		"--allow-privileged=true",
		"--kubelet-client-certificate=" + c.file("kubelet-client.crt"),
		"--kubelet-client-key=" + c.file("kubelet-client.key"),
		"--kubelet-certificate-authority=" + c.file("ca.crt"),
		"--kubelet-preferred-address-types=InternalIP",
	}
}

func (c *ControlPlane) writeNodeCredentials() error {
	if c.host.Address == "" {
		return nil
	}
	if _, err := c.authority.issue("kubelet-client", "kube-apiserver-kubelet-client", []string{adminGroup}, nil); err != nil {
		return err
	}
	return c.authority.kubeconfig("scheduler", c.URL(), "system:kube-scheduler")
}

func (c *ControlPlane) runScheduler() error {
	if c.host.Address == "" {
		return nil
	}
	return c.run("kube-scheduler", []string{
		"--kubeconfig=" + c.file("scheduler.kubeconfig"),
		"--secure-port=0", // Whether it works shows in the pods that it places.
		"--leader-elect=false",
	})
}

// A Join is what a node's kubelet needs: names of files.
type Join struct{ CA, Kubeconfig, Certificate, Key string }

// JoinNode writes credentials for the node of that name, at the address that
// the control plane was started for.
func (c *ControlPlane) JoinNode(name string) (Join, error) {
	if c.host.Address == "" {
		return Join{}, errors.New("cannot join a node: the control plane was started without one")
	}
	if err := c.authority.kubeconfig("kubelet", c.URL(), "system:node:"+name, "system:nodes"); err != nil {
		return Join{}, err
	}
	if _, err := c.authority.issue("kubelet-serving", "kubelet", nil, []string{c.host.Address, name}); err != nil {
		return Join{}, err
	}
	return Join{
		CA: c.file("ca.crt"), Kubeconfig: c.file("kubelet.kubeconfig"),
		Certificate: c.file("kubelet-serving.crt"), Key: c.file("kubelet-serving.key"),
	}, nil
}

// Read reads one object of the API, by its path, as administrator.
func (c *ControlPlane) Read(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL()+path, nil)
	if err != nil {
		return err
	}
	response, err := c.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusOK {
		return errors.Join(fmt.Errorf("%s answers %s: %s", path, response.Status, text), err)
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("cannot read what %s answers: %w", path, err)
	}
	return nil
}

// KubeconfigAt writes a copy of the administrator's kubeconfig into the folder
// that names another address of the API server, on loopback.
func (c *ControlPlane) KubeconfigAt(dir, address string) (string, error) {
	file := filepath.Join(dir, "kubeconfig")
	text, err := c.authority.kubeconfigText("admin-outside", "https://"+address, "finops-test-admin", adminGroup)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("cannot write a kubeconfig: %w", err)
	}
	return file, nil
}

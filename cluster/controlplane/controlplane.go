// Package controlplane runs a Kubernetes control plane (etcd, kube-apiserver,
// kube-controller-manager) from local binaries: on free loopback ports, with
// certificates of its own, in a temporary folder that goes when it goes. Unless
// a node is to join there is no scheduler: pods exist but never run.
package controlplane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

const (
	startTimeout = 5 * time.Minute
	stopGrace    = 20 * time.Second
	attempts     = 3 // A free port may be taken before its server binds it.
	adminGroup   = "system:masters"
)

// A ControlPlane is a running one.
type ControlPlane struct {
	dir       string
	logs      string
	tools     toolbox.Toolbox
	authority *authority
	ports     ports
	client    *http.Client
	processes []*process.Process // In the order of their start.
	ended     chan struct{}
	first     *process.Process // The first that ended; valid once ended is closed.
	host      Host             // Without an address no node joins.
}

// Start brings a control plane up and waits until it works. The logs go to the
// folder logs, or, if that is empty, to the one that Stop removes.
func Start(ctx context.Context, tools toolbox.Toolbox, logs string) (*ControlPlane, error) {
	return startFor(ctx, tools, logs, Host{})
}

func startFor(ctx context.Context, tools toolbox.Toolbox, logs string, host Host) (*ControlPlane, error) {
	var err error
	for range attempts {
		var c *ControlPlane
		if c, err = startOnce(ctx, tools, logs, host); err == nil {
			return c, nil
		}
		if !strings.Contains(err.Error(), "address already in use") {
			break
		}
	}
	return nil, fmt.Errorf("cannot start the control plane: %w", err)
}

// Kubeconfig is the file with the administrator's credentials.
func (c *ControlPlane) Kubeconfig() string { return c.file("admin.kubeconfig") }

// URL is the API server's address.
func (c *ControlPlane) URL() string { return c.ports.apiServerURL() }

// ServingCertificate writes tls.crt and tls.key for a server on loopback into
// the folder, and returns the authority that a client has to trust.
func (c *ControlPlane) ServingCertificate(dir string) ([]byte, error) {
	p, err := c.authority.sign("webhooks", "webhooks", nil, []string{loopback})
	if err != nil {
		return nil, err
	}
	for name, text := range map[string][]byte{"tls.crt": p.cert, "tls.key": p.key} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return nil, fmt.Errorf("cannot write a serving certificate: %w", err)
		}
	}
	return c.authority.pem, nil
}

// Done is closed when a part of it has ended.
func (c *ControlPlane) Done() <-chan struct{} { return c.ended }

// Ended explains an end that nobody asked for.
func (c *ControlPlane) Ended() error {
	<-c.ended
	return c.first.Ended()
}

// Stop ends all parts, those that depend on others first, and removes the folder.
func (c *ControlPlane) Stop() {
	for _, p := range slices.Backward(c.processes) {
		p.Stop(stopGrace)
	}
	if c.client != nil {
		c.client.CloseIdleConnections()
	}
	_ = os.RemoveAll(c.dir) // A folder under the temporary one is no harm.
}

func startOnce(ctx context.Context, tools toolbox.Toolbox, logs string, host Host) (*ControlPlane, error) {
	dir, err := process.Folder("controlplane")
	if err != nil {
		return nil, err
	}
	c := &ControlPlane{dir: dir, logs: logs, tools: tools, host: host, ended: make(chan struct{})}
	if c.logs == "" {
		c.logs = dir
	}
	if err := c.start(ctx); err != nil {
		c.Stop()
		return nil, err
	}
	go c.watch()
	return c, nil
}

func (c *ControlPlane) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	free, err := process.FreePorts(3)
	if err != nil {
		return err
	}
	c.ports = ports{etcd: free[0], etcdPeer: free[1], apiServer: free[2]}
	if c.host.Address != "" {
		c.ports.apiServer = servicePort
	}
	if err := c.writeCredentials(); err != nil {
		return err
	}
	if err := c.run("etcd", etcdArguments(c.dir, c.ports)); err != nil {
		return err
	}
	if err := c.run("kube-apiserver", append(apiServerArguments(c.dir, c.logs, c.ports), c.nodeArguments()...)); err != nil {
		return err
	}
	if err := c.wait(ctx, "the API server", "/readyz"); err != nil {
		return err
	}
	if err := c.run("kube-controller-manager", controllerManagerArguments(c.dir, c.host.Still)); err != nil {
		return err
	}
	if err := c.runScheduler(); err != nil {
		return err
	}
	// That the controllers work shows in the first thing they make.
	return c.wait(ctx, "the default service account", "/api/v1/namespaces/default/serviceaccounts/default")
}

func (c *ControlPlane) writeCredentials() (err error) {
	if c.authority, err = newAuthority(c.dir); err != nil {
		return err
	}
	if _, err := c.authority.issue("apiserver", "kube-apiserver", nil, servingHosts); err != nil {
		return err
	}
	if _, err := c.authority.issue("front-proxy-client", "front-proxy-client", nil, nil); err != nil {
		return err
	}
	if err := c.authority.serviceAccountKeys(); err != nil {
		return err
	}
	if err := c.authority.writeFile("audit.yaml", []byte(auditPolicy)); err != nil {
		return err
	}
	if err := c.authority.kubeconfig("controller-manager", c.URL(), "system:kube-controller-manager"); err != nil {
		return err
	}
	if err := c.authority.kubeconfig("admin", c.URL(), "finops-test-admin", adminGroup); err != nil {
		return err
	}
	if err := c.writeNodeCredentials(); err != nil {
		return err
	}
	return c.newClient()
}

// newClient makes the client that readiness is asked with.
func (c *ControlPlane) newClient() error {
	admin, err := tls.LoadX509KeyPair(c.file("admin.crt"), c.file("admin.key"))
	if err != nil {
		return fmt.Errorf("cannot load the administrator's certificate: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(c.authority.cert)
	c.client = &http.Client{
		Timeout:   20 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{admin}, MinVersion: tls.VersionTLS12}},
	}
	return nil
}

func (c *ControlPlane) run(program string, args []string) error {
	p, err := process.Start(process.Spec{Name: program, Path: c.tools.Path(program), Args: args, Dir: c.dir, LogDir: c.logs})
	if err != nil {
		return err
	}
	c.processes = append(c.processes, p)
	return nil
}

func (c *ControlPlane) wait(ctx context.Context, what, path string) error {
	return process.WaitFor(ctx, what, func(ctx context.Context) error { return c.get(ctx, path) }, c.processes...)
}

func (c *ControlPlane) get(ctx context.Context, path string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL()+path, nil)
	if err != nil {
		return err
	}
	response, err := c.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusOK {
		_, err = io.Copy(io.Discard, response.Body) // So that the connection is used again.
		return err
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, 500))
	return errors.Join(fmt.Errorf("%s answers %s: %s", path, response.Status, text), err)
}

// watch closes ended when the first of the parts ends.
func (c *ControlPlane) watch() {
	first := make(chan *process.Process, len(c.processes))
	for _, p := range c.processes {
		go func() {
			<-p.Done()
			first <- p
		}()
	}
	c.first = <-first
	close(c.ended)
}

func (c *ControlPlane) file(name string) string { return filepath.Join(c.dir, name) }

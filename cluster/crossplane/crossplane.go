// Package crossplane runs real Crossplane in a test cluster: its core, a
// registry with packages, and what Crossplane calls an external package runtime,
// which stands for the nodes that are not there.
//
// Core and a provider's webhooks listen on every interface at fixed ports, so
// all of this runs in a network of its own (package isolation).
package crossplane

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/product"
	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

// Namespace is where Crossplane lives and packages run.
const Namespace = "crossplane-system"

// What may run packages.
const (
	External   = "External"
	Deployment = "Deployment"
)

// ServiceNetwork has to be the loopback interface's, for webhooks to be reached.
const ServiceNetwork = "10.96.0.1/24"

// What core's ports are in its network.
const (
	coreHealth      = "http://127.0.0.1:8081"
	coreMetricsPort = 8082 // The RBAC manager has the usual one.
	registryAddress = "127.0.0.1:5000"
)

const (
	startTimeout   = 5 * time.Minute
	installTimeout = 5 * time.Minute
	stopGrace      = 20 * time.Second
)

// Tools are the programs that Crossplane's part of a cluster consists of.
type Tools struct{ Core, Pkgtool toolbox.Toolbox }

// FindTools returns them, built if they are missing. That needs the network, so
// it has to be done before there is none.
func FindTools(ctx context.Context, root string, progress io.Writer) (t Tools, err error) {
	if t.Core, err = toolbox.Crossplane(ctx, root, progress); err != nil {
		return t, err
	}
	t.Pkgtool, err = toolbox.Pkgtool(ctx, root, progress)
	return t, err
}

// Options of a Crossplane.
type Options struct {
	Root    string // Of the repository.
	Dir     string // For logs, certificates and packages.
	Kubectl product.Kubectl

	// Credentials returns a file with those of a ServiceAccount: Crossplane has
	// the rights that its chart gives it, and no others.
	Credentials func(ctx context.Context, namespace, account string) (string, error)

	// Runtime of Providers: Deployment, on a node; empty: External, where nobody but
	// us starts processes. Functions always are such processes.
	Runtime string

	// Activate says which kinds of packages exist from the start, such as "*";
	// empty: none until a ManagedResourceActivationPolicy says so.
	Activate string

	// Functions are the addresses that the processes of composition functions
	// listen on, by the names of their packages.
	Functions map[string]string

	Progress io.Writer
}

// A Crossplane is running.
type Crossplane struct {
	options   Options
	tools     Tools
	accounts  map[string]string // Files with credentials.
	processes []*process.Process
}

// Start brings up core and what it needs.
func Start(ctx context.Context, o Options) (*Crossplane, error) {
	if o.Runtime == "" {
		o.Runtime = External
	}
	c := &Crossplane{options: o, accounts: map[string]string{}}
	began := time.Now()
	if err := c.start(ctx); err != nil {
		c.Stop()
		return nil, fmt.Errorf("cannot start Crossplane: %w", err)
	}
	_, _ = fmt.Fprintf(o.Progress, "Crossplane ready after %s\n", time.Since(began).Round(time.Millisecond))
	return c, nil
}

// Stop ends what Start has started.
func (c *Crossplane) Stop() {
	for _, p := range slices.Backward(c.processes) {
		p.Stop(stopGrace)
	}
}

// Certificates is the folder with tls.crt and tls.key of a package, once the
// External runtime has taken care of it.
func (c *Crossplane) Certificates(pkg string) string { return c.file("certificates", pkg) }

func (c *Crossplane) start(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if c.tools, err = FindTools(ctx, c.options.Root, c.options.Progress); err != nil {
		return err
	}
	if err := c.grant(ctx); err != nil {
		return err
	}
	if err := c.initialize(ctx); err != nil {
		return err
	}
	if err := c.run("", "registry", c.tools.Pkgtool.Path("pkgtool"), []string{"serve", "--address=" + registryAddress}); err != nil {
		return err
	}
	if err := c.startCore(ctx); err != nil {
		return err
	}
	if err := c.startRBACManager(); err != nil {
		return err
	}
	runtime := []string{
		"run", "--namespace=" + Namespace, "--certificates=" + c.file("certificates"),
		fmt.Sprintf("--providers=%t", c.options.Runtime == External), // Otherwise core does it.
	}
	for pkg, address := range c.options.Functions {
		runtime = append(runtime, "--function="+pkg+"="+address)
	}
	return c.run("", "package-runtime", c.tools.Pkgtool.Path("pkgtool"), runtime)
}

// roles are the chart's templates that say who may do what.
var roles = []string{
	"serviceaccount.yaml", "clusterrole.yaml", "clusterrolebinding.yaml",
	"rbac-manager-serviceaccount.yaml", "rbac-manager-clusterrole.yaml", "rbac-manager-clusterrolebinding.yaml",
	"rbac-manager-managed-clusterroles.yaml", "rbac-manager-allowed-provider-permissions.yaml",
}

// grant applies what the chart says about rights, and gets the credentials of
// the two programs.
func (c *Crossplane) grant(ctx context.Context) error {
	if _, err := c.options.Kubectl.Run(ctx, "create", "namespace", Namespace); err != nil {
		return err
	}
	args := append([]string{"chart", "--namespace=" + Namespace, c.tools.Core.Path(toolbox.CrossplaneChart)}, roles...)
	manifests, err := output(process.Command(ctx, c.tools.Pkgtool.Path("pkgtool"), args...))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.file(), 0o700); err != nil {
		return fmt.Errorf("cannot make a folder for Crossplane: %w", err)
	}
	file := c.file("roles.yaml")
	if err := os.WriteFile(file, []byte(manifests), 0o600); err != nil {
		return fmt.Errorf("cannot write a manifest: %w", err)
	}
	if _, err := c.options.Kubectl.Run(ctx, "apply", "--namespace="+Namespace, "-f", file); err != nil {
		return err
	}
	for _, account := range []string{"crossplane", "rbac-manager"} {
		if c.accounts[account], err = c.options.Credentials(ctx, Namespace, account); err != nil {
			return err
		}
	}
	return nil
}

func (c *Crossplane) startRBACManager() error {
	return c.run("rbac-manager", "rbac-manager", c.tools.Core.Path("crossplane"), []string{
		"--debug", "rbac", "start", "--provider-clusterrole=crossplane:allowed-provider-permissions",
	})
}

// initialize does what core's init container does. It fails the first time,
// because definitions are not served at once, and is run again, as there.
func (c *Crossplane) initialize(ctx context.Context) error {
	args := []string{"core", "init"}
	if c.options.Activate != "" {
		args = append(args, "--activation="+c.options.Activate)
	}
	return process.WaitFor(ctx, "Crossplane's own definitions", func(ctx context.Context) error {
		cmd := process.Command(ctx, c.tools.Core.Path("crossplane"), args...)
		cmd.Env = c.environment("crossplane",
			"CRDS_PATH="+c.tools.Core.Path(toolbox.CrossplaneCRDs),
			"TLS_CA_SECRET_NAME=crossplane-root-ca", "TLS_CLIENT_SECRET_NAME=crossplane-tls-client", "TLS_SERVER_SECRET_NAME=crossplane-tls-server",
		)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
}

func (c *Crossplane) startCore(ctx context.Context) error {
	certificates, cache := c.file("tls-client"), c.file("xpkg-cache")
	for _, dir := range []string{certificates, cache} { // Without its cache core says of every package that a pipe is closed.
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("cannot make a folder for core: %w", err)
		}
	}
	if err := c.writeSecret(ctx, "crossplane-tls-client", certificates); err != nil {
		return err
	}
	if err := c.run("crossplane", "crossplane", c.tools.Core.Path("crossplane"), []string{
		"--debug", "core", "start", "--package-runtime=Provider=" + c.options.Runtime + ";Function=" + External,
		"--xpkg-cache-dir=" + cache, "--tls-client-certs-dir=" + certificates,
		"--poll-interval=10s", "--max-reconcile-rate=10", fmt.Sprintf("--metrics-port=%d", coreMetricsPort),
		"--circuit-breaker-burst=1000", // What happens here in a minute takes hours elsewhere.
	}); err != nil {
		return err
	}
	return process.WaitFor(ctx, "Crossplane to be ready", func(ctx context.Context) error {
		return process.Answers(ctx, coreHealth+"/readyz")
	}, c.processes...)
}

// writeSecret writes the values of a Secret to files.
func (c *Crossplane) writeSecret(ctx context.Context, name, dir string) error {
	var secret struct{ Data map[string][]byte }
	if err := c.options.Kubectl.Get(ctx, &secret, "secret", name, "--namespace="+Namespace); err != nil {
		return err
	}
	for file, text := range secret.Data {
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
			return fmt.Errorf("cannot write a certificate: %w", err)
		}
	}
	return nil
}

// run starts a program with the credentials of an account of Crossplane's; none
// is the administrator.
func (c *Crossplane) run(account, name, path string, args []string) error {
	p, err := process.Start(process.Spec{Name: name, Path: path, Args: args, LogDir: c.options.Dir, Env: c.environment(account)})
	if err == nil {
		c.processes = append(c.processes, p)
	}
	return err
}

func (c *Crossplane) environment(account string, more ...string) []string {
	kubeconfig := c.options.Kubectl.Kubeconfig
	if account != "" {
		kubeconfig = c.accounts[account]
	}
	return append(append(os.Environ(), more...),
		"KUBECONFIG="+kubeconfig,
		"POD_NAMESPACE="+Namespace, "POD_SERVICE_ACCOUNT=crossplane",
		"ENABLE_WEBHOOKS=false", // They protect what Usages name; nobody here uses them.
	)
}

func (c *Crossplane) file(names ...string) string {
	return filepath.Join(append([]string{c.options.Dir, "crossplane"}, names...)...)
}

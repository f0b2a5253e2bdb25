package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/bench"
)

const (
	// patience bounds each wait of a measurement.
	patience = 10 * time.Minute

	// look is how often a wait looks.
	look = 500 * time.Millisecond

	// clientRate leaves the client of the measurement without a limit that would
	// matter.
	clientRate = 10_000
)

// A world is an API server, a database, and the product as a process with the
// defaults of all its flags.
type world struct {
	client.Client

	env      *bench.Env
	clock    clock.PassiveClock
	server   *envtest.Environment
	dir      string
	database string // Its name.
	dsn      string
	binary   string
	provider *provider
}

// newWorld starts everything but the product.
func newWorld(ctx context.Context, env *bench.Env) (w *world, err error) {
	w = &world{env: env, clock: clock.RealClock{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.stop(ctx))
		}
	}()
	if w.dir, err = os.MkdirTemp("", "finops-bench-"); err != nil {
		return w, fmt.Errorf("cannot make a folder: %w", err)
	}
	w.binary = filepath.Join(w.dir, "provider-finops")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", w.binary, "./cmd/provider").CombinedOutput(); err != nil { //nolint:gosec // A path of our own.
		return w, fmt.Errorf("cannot build the product: %w: %s", err, out)
	}
	if err := w.startServer(); err != nil {
		return w, err
	}
	return w, w.createDatabase(ctx)
}

func (w *world) startServer() error {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return err
	}
	never := false
	w.server = &envtest.Environment{
		UseExistingCluster:    &never,
		CRDDirectoryPaths:     []string{filepath.Join("package", "crds")},
		ErrorIfCRDPathMissing: true,
		Scheme:                scheme,
	}
	cfg, err := w.server.Start()
	if err != nil {
		return fmt.Errorf("cannot start an API server: %w", err)
	}
	cfg.QPS, cfg.Burst = clientRate, clientRate
	if w.Client, err = client.New(cfg, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("cannot make a client: %w", err)
	}
	user, err := w.server.AddUser(envtest.User{Name: "provider", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		return fmt.Errorf("cannot add a user: %w", err)
	}
	kubeconfig, err := user.KubeConfig()
	if err != nil {
		return fmt.Errorf("cannot write a kubeconfig: %w", err)
	}
	return os.WriteFile(w.kubeconfig(), kubeconfig, 0o600)
}

func (w *world) kubeconfig() string { return filepath.Join(w.dir, "kubeconfig") }

func (w *world) createDatabase(ctx context.Context) error {
	w.database = strings.ToLower(strings.ReplaceAll(filepath.Base(w.dir), "-", "_"))
	err := w.query(ctx, func(c *pgx.Conn) error {
		_, err := c.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{w.database}.Sanitize())
		return err
	})
	if err != nil {
		return err
	}
	cfg, err := pgx.ParseConfig(w.env.PostgresDSN)
	if err != nil {
		return errors.New("cannot read the DSN of the server")
	}
	w.dsn = fmt.Sprintf("host=%s port=%d user=%s password='%s' dbname=%s", cfg.Host, cfg.Port, cfg.User, cfg.Password, w.database)
	return nil
}

// query uses a connection of its own to the server's own database, so that it
// leaves no trace in the one that is measured.
func (w *world) query(ctx context.Context, f func(*pgx.Conn) error) error {
	c, err := pgx.Connect(ctx, w.env.PostgresDSN)
	if err != nil {
		return errors.New("cannot connect to the server")
	}
	return errors.Join(f(c), c.Close(ctx))
}

// stop ends everything that was started.
func (w *world) stop(ctx context.Context) error {
	var failed []error
	failed = append(failed, w.stopProvider())
	if w.server != nil {
		failed = append(failed, w.server.Stop())
	}
	if w.database != "" {
		ctx := context.WithoutCancel(ctx) // Also after the measurement was given up.
		failed = append(failed, w.query(ctx, func(c *pgx.Conn) error {
			_, err := c.Exec(ctx, "DROP DATABASE IF EXISTS "+pgx.Identifier{w.database}.Sanitize()+" WITH (FORCE)")
			return err
		}))
	}
	return errors.Join(append(failed, os.RemoveAll(w.dir))...)
}

// A provider is the running product.
type provider struct {
	cmd     *exec.Cmd
	done    chan error
	metrics string
}

// startProvider runs the product, which begins with what is there.
func (w *world) startProvider(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("cannot find a port: %w", err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, w.binary, "--metrics-bind-address="+address, "--metrics-secure=false", "--health-probe-bind-address=0") //nolint:gosec // A path of our own.
	cmd.Env = append(os.Environ(), "KUBECONFIG="+w.kubeconfig(), "POSTGRES_CONNECTION_STRING="+w.dsn,
		"OPENCOST_CONNECTION_STRING=http://127.0.0.1:1", "OPENCOST_DEPLOYMENT_NAME=opencost", "OPENCOST_DEPLOYMENT_NAMESPACE=opencost",
		"POD_NAMESPACE=default", "ENABLE_WEBHOOKS=false")
	log, err := os.Create(filepath.Join(w.dir, "provider.log"))
	if err != nil {
		return fmt.Errorf("cannot open a log: %w", err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot start the product: %w", err)
	}
	w.provider = &provider{cmd: cmd, done: make(chan error, 1), metrics: "http://" + address + "/metrics"}
	go func(p *provider) { p.done <- errors.Join(cmd.Wait(), log.Close()) }(w.provider)
	return w.wait(ctx, "the product's metrics", func(ctx context.Context) (bool, error) {
		_, err := w.reconciles(ctx)
		return err == nil, nil
	})
}

func (w *world) stopProvider() error {
	if w.provider == nil {
		return nil
	}
	p := w.provider
	w.provider = nil
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("cannot stop the product: %w", err)
	}
	<-p.done // It was told to stop, so how it ended says nothing.
	return nil
}

// wait looks until a condition holds.
func (w *world) wait(ctx context.Context, what string, holds func(context.Context) (bool, error)) error {
	err := wait.PollUntilContextTimeout(ctx, look, patience, true, holds)
	if err != nil {
		return fmt.Errorf("waiting for %s: %w", what, err)
	}
	return nil
}

package growth

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/bench"
	"github.com/provider-finops/provider-finops/internal/bench/memapi"
)

const (
	// patience bounds each wait of a measurement.
	patience = 3 * time.Minute

	// look is how often a wait looks.
	look = 20 * time.Millisecond
)

// resources are what the product asks an API server for.
var resources = []memapi.Resource{
	{Group: "finops.stakater.com", Version: "v1alpha1", Plural: "subscriptions", Kind: "Subscription"},
	{Group: "finops.stakater.com", Version: "v1alpha1", Plural: "offerings", Kind: "Offering"},
	{Group: "finops.stakater.com", Version: "v1alpha1", Plural: "pricebooks", Kind: "PriceBook"},
	{Group: "finops.stakater.com", Version: "v1alpha1", Plural: "costjobs", Kind: "CostJob"},
	{Group: "finops.stakater.com", Version: "v1alpha1", Plural: "finopsproviders", Kind: "FinOpsProvider"},
	{Version: "v1", Plural: "namespaces", Kind: "Namespace", ClusterWide: true},
	{Version: "v1", Plural: "configmaps", Kind: "ConfigMap"},
	{Version: "v1", Plural: "secrets", Kind: "Secret"},
	{Version: "v1", Plural: "events", Kind: "Event"},
	{Version: "v1", Plural: "pods", Kind: "Pod"},
	{Group: "apps", Version: "v1", Plural: "deployments", Kind: "Deployment"},
	{Group: "batch", Version: "v1", Plural: "cronjobs", Kind: "CronJob"},
	{Group: "apiextensions.k8s.io", Version: "v1", Plural: "customresourcedefinitions", Kind: "CustomResourceDefinition", ClusterWide: true},
	{Group: "batch", Version: "v1", Plural: "jobs", Kind: "Job"},
}

// A world is an API server in memory, a real database, and the product as a
// process with the defaults of all its flags.
type world struct {
	client.Client

	env      *bench.Env
	api      *memapi.Server
	dir      string
	database string
	metrics  string
	product  *exec.Cmd
	ended    chan error
}

// build makes the product once for all worlds.
func build(ctx context.Context, dir string) (string, error) {
	binary := filepath.Join(dir, "provider-finops")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", binary, "./cmd/provider") //nolint:gosec // A path of our own.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build the product: %w: %s", err, out)
	}
	return binary, nil
}

func newWorld(ctx context.Context, env *bench.Env, dir, binary string) (w *world, err error) {
	w = &world{env: env, dir: dir, api: memapi.Start(resources...), database: fmt.Sprintf("bench_growth_%d_%d", os.Getpid(), time.Now().UnixNano())}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.stop(ctx))
		}
	}()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return w, fmt.Errorf("cannot register the API's types: %w", err)
	}
	if w.Client, err = client.New(&rest.Config{Host: w.api.URL(), QPS: -1}, client.Options{Scheme: scheme}); err != nil {
		return w, fmt.Errorf("cannot make a client: %w", err)
	}
	if err := w.administer(ctx, "CREATE DATABASE "+w.database); err != nil {
		return w, err
	}
	return w, w.start(ctx, binary)
}

// administer sends a statement to the server's own database.
func (w *world) administer(ctx context.Context, sql string) error {
	c, err := pgx.Connect(ctx, w.env.PostgresDSN)
	if err != nil {
		return errors.New("cannot connect to the server")
	}
	_, err = c.Exec(ctx, sql)
	return errors.Join(err, c.Close(ctx))
}

// start runs the product until it has looked at the API server.
func (w *world) start(ctx context.Context, binary string) error {
	kubeconfig := filepath.Join(w.dir, "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"bench","contexts":[{"name":"bench","context":{"cluster":"bench","user":"bench"}}],`+
		`"clusters":[{"name":"bench","cluster":{"server":%q}}],"users":[{"name":"bench","user":{}}]}`, w.api.URL())
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		return fmt.Errorf("cannot write the kubeconfig: %w", err)
	}
	cfg, err := pgx.ParseConfig(w.env.PostgresDSN)
	if err != nil {
		return errors.New("cannot read the DSN of the server")
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("cannot find a port: %w", err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return fmt.Errorf("cannot free a port: %w", err)
	}
	w.metrics = "http://" + address + "/metrics"
	log, err := os.Create(filepath.Join(w.dir, "provider.log"))
	if err != nil {
		return fmt.Errorf("cannot open a log: %w", err)
	}
	cmd := exec.CommandContext(ctx, binary, "--metrics-bind-address="+address, "--metrics-secure=false", "--health-probe-bind-address=0") //nolint:gosec // A path of our own.
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "POD_NAMESPACE=default", "ENABLE_WEBHOOKS=false",
		fmt.Sprintf("POSTGRES_CONNECTION_STRING=host=%s port=%d user=%s password='%s' dbname=%s", cfg.Host, cfg.Port, cfg.User, cfg.Password, w.database),
		"OPENCOST_CONNECTION_STRING=http://127.0.0.1:1", "OPENCOST_DEPLOYMENT_NAME=opencost", "OPENCOST_DEPLOYMENT_NAMESPACE=opencost")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot start the product: %w", err)
	}
	w.product, w.ended = cmd, make(chan error, 1)
	go func() { w.ended <- errors.Join(cmd.Wait(), log.Close()) }()
	return w.wait(ctx, "the product's metrics", func(ctx context.Context) bool { _, err := w.read(ctx); return err == nil })
}

// stop ends everything.
func (w *world) stop(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx) // Also after the measurement was given up.
	if w.product != nil {
		if err := w.product.Process.Signal(syscall.SIGTERM); err != nil {
			return fmt.Errorf("cannot stop the product: %w", err)
		}
		<-w.ended // It was told to stop, so how it ended says nothing.
	}
	w.api.Close()
	return w.administer(ctx, "DROP DATABASE IF EXISTS "+w.database+" WITH (FORCE)")
}

// wait looks until a condition holds.
func (w *world) wait(ctx context.Context, what string, holds func(context.Context) bool) error {
	err := wait.PollUntilContextTimeout(ctx, look, patience, true, func(ctx context.Context) (bool, error) {
		select {
		case err := <-w.ended:
			w.ended <- err
			log, _ := os.ReadFile(filepath.Join(w.dir, "provider.log")) // Better than nothing.
			return false, fmt.Errorf("the product has ended: %w\n%s", err, log)
		default:
			return holds(ctx), nil
		}
	})
	if err != nil {
		return fmt.Errorf("waiting for %s: %w", what, err)
	}
	return nil
}

// rest waits until the product has done nothing for a while.
func (w *world) rest(ctx context.Context) error {
	var last looks
	since := time.Now()
	return w.wait(ctx, "rest", func(ctx context.Context) bool {
		now, err := w.looks(ctx)
		if err != nil || now.count != last.count {
			last, since = now, time.Now()
			return false
		}
		return time.Since(since) >= 500*time.Millisecond
	})
}

// looks are the reconciles of Subscriptions so far, by how long they took.
type looks struct {
	count, seconds float64
	within         map[float64]float64 // So many took at most so many seconds.
}

func (l looks) since(before looks) looks {
	d := looks{count: l.count - before.count, seconds: l.seconds - before.seconds, within: map[float64]float64{}}
	for bound, n := range l.within {
		d.within[bound] = n - before.within[bound]
	}
	return d
}

func (w *world) looks(ctx context.Context) (looks, error) {
	text, err := w.read(ctx)
	l := looks{within: map[float64]float64{}}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		name, rest, _ := strings.Cut(lines.Text(), "{")
		if !strings.HasPrefix(name, "controller_runtime_reconcile_time_seconds") || !strings.Contains(rest, `controller="subscription"`) {
			continue
		}
		value, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
		if err != nil {
			continue
		}
		switch strings.TrimPrefix(name, "controller_runtime_reconcile_time_seconds") {
		case "_count":
			l.count += value
		case "_sum":
			l.seconds += value
		case "_bucket":
			_, after, _ := strings.Cut(rest, `le="`)
			if bound, err := strconv.ParseFloat(after[:strings.IndexByte(after, '"')], 64); err == nil {
				l.within[bound] += value
			}
		}
	}
	return l, err
}

func (w *world) read(ctx context.Context) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.metrics, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("cannot read the product's metrics: %w", err)
	}
	text, err := io.ReadAll(response.Body)
	return text, errors.Join(err, response.Body.Close())
}

// peak is the most memory the product has used so far, in MiB.
func (w *world) peak() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.product.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("cannot read the memory of the product: %w", err)
	}
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	var kib float64
	if _, err := fmt.Sscanf(after, "%f kB", &kib); err != nil {
		return 0, fmt.Errorf("cannot read the memory of process %d: %w", w.product.Process.Pid, err)
	}
	return kib / 1024, nil
}

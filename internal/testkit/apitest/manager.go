package apitest

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// Writes records what a manager writes to the API server.
type Writes struct {
	mu    sync.Mutex
	lines []string
}

// Take returns the writes since the last call, as "METHOD path". Events are not
// among them: they are no state.
func (w *Writes) Take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := w.lines
	w.lines = nil

	return lines
}

// wrap returns a transport that records writes before it sends them.
func (w *Writes) wrap(next http.RoundTripper) http.RoundTripper {
	return transport(func(r *http.Request) (*http.Response, error) {
		if r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "/events") {
			w.mu.Lock()
			w.lines = append(w.lines, r.Method+" "+r.URL.Path)
			w.mu.Unlock()
		}

		return next.RoundTrip(r)
	})
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Manager returns a manager of the server and what it writes. Register
// controllers with it, if any, then call [Run].
func Manager(t testing.TB, with ...func(*ctrl.Options)) (ctrl.Manager, *Writes) {
	t.Helper()
	return ManagerAs(t, "", with...)
}

// ManagerAs is Manager for one that may do no more than a user may. The empty
// user is an administrator.
func ManagerAs(t testing.TB, user string, with ...func(*ctrl.Options)) (ctrl.Manager, *Writes) {
	t.Helper()
	cfg := Config(t)
	cfg.Impersonate.UserName = user
	return ManagerOn(t, cfg, with...)
}

// ManagerOn is Manager for one that reaches the server in a way of its own.
func ManagerOn(t testing.TB, cfg *rest.Config, with ...func(*ctrl.Options)) (ctrl.Manager, *Writes) {
	t.Helper()
	writes := &Writes{}
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(writes.wrap)

	skip := true
	options := ctrl.Options{
		Scheme:                 Scheme(),
		Logger:                 logr.Discard(),
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		Controller:             config.Controller{SkipNameValidation: &skip}, // Each test sets up the same controllers.
		Client:                 client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
	}
	for _, f := range with {
		f(&options)
	}
	mgr, err := ctrl.NewManager(cfg, options)
	if err != nil {
		t.Fatalf("cannot make a manager: %v", err)
	}

	return mgr, writes
}

// Run runs the manager until the test ends, and returns when its caches are
// filled.
func Run(t testing.TB, mgr ctrl.Manager) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("cannot run the manager: %v", err)
		}
	})

	if !mgr.GetCache().WaitForCacheSync(ctx) {
		t.Fatal("cannot fill the manager's caches")
	}
}

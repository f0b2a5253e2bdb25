package apitest

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// patience is how long a control plane may take to start or to stop. Machines
// that run tests are often busy.
const patience = 3 * time.Minute

// server is the one server of this test binary.
var server struct {
	mu  sync.Mutex
	env *envtest.Environment
	err error
}

// Main runs the tests and then stops what they have started. Call it from
// TestMain and exit with what it returns.
func Main(m *testing.M) int {
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		_ = stop() // The server's processes are in groups of their own and would go on.
		os.Exit(1)
	}()

	code := m.Run()
	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}

	return code
}

// Config returns the configuration of an administrator of the server, which is
// started if it does not run yet.
func Config(t testing.TB) *rest.Config {
	t.Helper()

	return rest.CopyConfig(start(t).Config)
}

// Scheme knows the kinds of the project and of Kubernetes.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err) // A kind registered twice: no test can work.
		}
	}

	return s
}

// Client returns an administrator's client that reads from the server itself.
func Client(t testing.TB) client.WithWatch {
	t.Helper()
	c, err := client.NewWithWatch(Config(t), client.Options{Scheme: Scheme()})
	if err != nil {
		t.Fatalf("cannot make a client: %v", err)
	}

	return c
}

// Namespace returns a namespace for this test alone. It is not removed: nothing
// in an API server alone would empty it.
func Namespace(t testing.TB, c client.Client) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := c.Create(context.Background(), ns); err != nil {
		t.Fatalf("cannot create a namespace: %v", err)
	}

	return ns.GetName()
}

func start(t testing.TB) *envtest.Environment {
	t.Helper()
	server.mu.Lock()
	defer server.mu.Unlock()

	if server.env == nil && server.err == nil {
		server.env, server.err = newServer()
	}
	if server.err != nil {
		t.Fatalf("cannot start an API server: %v", server.err)
	}

	return server.env
}

func newServer() (*envtest.Environment, error) {
	env, err := environment()
	if err != nil {
		return nil, err
	}
	if _, err := env.Start(); err != nil {
		if stopErr := env.Stop(); stopErr != nil {
			err = fmt.Errorf("%w (and cannot stop it: %w)", err, stopErr)
		}
		return nil, err
	}

	return env, nil
}

// environment is a control plane that knows the kinds and has not started.
func environment() (*envtest.Environment, error) {
	dir, err := assets()
	if err != nil {
		return nil, err
	}
	root, err := Root()
	if err != nil {
		return nil, err
	}

	never := false
	return &envtest.Environment{
		UseExistingCluster:       &never, // Tests elect price books; that is nothing for somebody's cluster.
		BinaryAssetsDirectory:    dir,
		CRDDirectoryPaths:        []string{filepath.Join(root, "package", "crds")},
		ErrorIfCRDPathMissing:    true,
		Scheme:                   Scheme(),
		ControlPlaneStartTimeout: patience,
		ControlPlaneStopTimeout:  patience,
	}, nil
}

func stop() error {
	server.mu.Lock()
	defer server.mu.Unlock()
	if server.env == nil {
		return nil
	}
	err := server.env.Stop()
	server.env = nil
	if err != nil {
		return fmt.Errorf("cannot stop the API server: %w", err)
	}

	return nil
}

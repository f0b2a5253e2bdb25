package charging

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/bench"
)

// writers is how many requests are under way at a time when nothing but
// requests is measured.
const writers = 16

// hourly measures a run in which everybody's costs have changed, for an hour has
// passed, on a real API server.
func hourly(ctx context.Context, env *bench.Env) (_ bench.Measure, err error) {
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" {
		return bench.Measure{}, errors.New("KUBEBUILDER_ASSETS must name an API server to measure on; make bench finds one")
	}
	r, err := newStand(ctx, env)
	if err != nil {
		return bench.Measure{}, err
	}
	defer r.Close()

	never := false
	control := &envtest.Environment{
		UseExistingCluster: &never, BinaryAssetsDirectory: assets, CRDDirectoryPaths: []string{filepath.Join("package", "crds")}, ErrorIfCRDPathMissing: true,
		ControlPlaneStartTimeout: 90 * time.Second, ControlPlaneStopTimeout: 90 * time.Second,
	}
	config, err := control.Start()
	defer func() { err = errors.Join(err, control.Stop()) }()
	if err != nil {
		return bench.Measure{}, fmt.Errorf("cannot start an API server: %w", err)
	}
	kubeconfig := filepath.Join(r.Folder, "kubeconfig")
	if err := os.WriteFile(kubeconfig, control.KubeConfig, 0o600); err != nil {
		return bench.Measure{}, fmt.Errorf("cannot write the kubeconfig: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		return bench.Measure{}, fmt.Errorf("cannot register the API's types: %w", err)
	}
	config.QPS = -1
	kube, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return bench.Measure{}, fmt.Errorf("cannot make a client: %w", err)
	}
	return r.hourly(ctx, kube, kubeconfig)
}

func (r *stand) hourly(ctx context.Context, kube client.Client, kubeconfig string) (bench.Measure, error) {
	size := r.Env.Scaled(members)
	pool, drop, err := r.database(ctx, 4, size, size)
	if err != nil {
		return bench.Measure{}, err
	}
	defer drop()
	r.Env.Logf("creating %d Subscriptions", size)
	if err := populate(ctx, kube, size); err != nil {
		return bench.Measure{}, err
	}
	if _, err := r.run(ctx, kubeconfig, pool, begin.Add(time.Hour)); err != nil {
		return bench.Measure{}, err
	}

	r.Env.Logf("patching %d statuses", size)
	before, err := patchAll(ctx, kube, size, 1)
	if err != nil {
		return bench.Measure{}, err
	}
	r.Env.Logf("charging the next hour")
	changed, err := r.run(ctx, kubeconfig, pool, begin.Add(2*time.Hour))
	if err != nil {
		return bench.Measure{}, err
	}
	settled, err := r.run(ctx, kubeconfig, pool, begin.Add(2*time.Hour))
	if err != nil {
		return bench.Measure{}, err
	}
	after, err := patchAll(ctx, kube, size, 2)
	if err != nil {
		return bench.Measure{}, err
	}
	bare := (before + after) / 2 // The machine is noisy.
	return bench.Measure{
		Value: changed.Wall.Seconds(), Limit: bare.Seconds(), Unit: "s",
		Notes: []string{
			fmt.Sprintf("%d Subscriptions, all of them changed; bare patches took %s before and %s after", size, before.Round(1e6), after.Round(1e6)),
			fmt.Sprintf("the same hour again, nobody changed: %s, no request but for the lists; peak %.1f MiB", settled.Wall.Round(1e6), mebibytes(changed.Memory)),
		},
	}, nil
}

// populate creates members as the controller leaves them: active.
func populate(ctx context.Context, kube client.Client, size int) error {
	for _, name := range []string{catalogue, crowd} {
		if err := kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return fmt.Errorf("cannot create namespace %q: %w", name, err)
		}
	}
	o := offering()
	o.UID = ""
	if err := kube.Create(ctx, &o); err != nil {
		return fmt.Errorf("cannot create the Offering: %w", err)
	}
	return each(ctx, size, func(ctx context.Context, n int) error {
		s := member(n)
		activated := s.Status.ActivatedAt
		s.ObjectMeta = metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, Finalizers: s.Finalizers, Labels: s.Labels}
		if err := kube.Create(ctx, &s); err != nil {
			return fmt.Errorf("cannot create a Subscription: %w", err)
		}
		s.Status.ActivatedAt = activated
		s.Report(v1alpha1.Active(v1alpha1.ReasonActivationSucceeded, ""))
		if err := kube.Status().Update(ctx, &s, client.FieldOwner("finops-controller")); err != nil {
			return fmt.Errorf("cannot activate a Subscription: %w", err)
		}
		return nil
	})
}

// patchAll applies costs of the collector's size to everybody, as the collector
// does, and nothing else.
func patchAll(ctx context.Context, kube client.Client, size int, amount int64) (time.Duration, error) {
	began := time.Now()
	err := each(ctx, size, func(ctx context.Context, n int) error {
		costs := make([]any, 0, 3)
		for _, g := range []string{"hour", "day", "month"} {
			costs = append(costs, map[string]any{
				"granularity": g, "start": "2026-03-05T01:00:00Z", "endExclusive": "2026-03-05T02:00:00Z", "current": amount, "projected": amount,
				"breakdown": []any{
					map[string]any{"name": "subscription", "current": amount, "projected": amount},
					map[string]any{"name": "cpuHour", "current": amount},
					map[string]any{"name": "ramGbHour", "current": amount},
				},
			})
		}
		o := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"costs": costs}}}
		o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Subscription"))
		o.SetNamespace(crowd)
		o.SetName(fmt.Sprintf("member-%d", n))
		if err := kube.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("bench"), client.ForceOwnership); err != nil {
			return fmt.Errorf("cannot patch a status: %w", err)
		}
		return nil
	})
	return time.Since(began), err
}

func each(ctx context.Context, size int, do func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for n := range size {
		group.Go(func() error { return do(ctx, n) })
	}
	return group.Wait()
}

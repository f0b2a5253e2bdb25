package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // Whatever a kubeconfig asks for.
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller"
	"github.com/provider-finops/provider-finops/internal/controller/finops/costjob"
	"github.com/provider-finops/provider-finops/internal/controller/finops/offering"
	"github.com/provider-finops/provider-finops/internal/controller/finops/subscription"
	"github.com/provider-finops/provider-finops/internal/controller/frame"
	"github.com/provider-finops/provider-finops/internal/controller/legacy"
	"github.com/provider-finops/provider-finops/internal/controller/opencost"
	"github.com/provider-finops/provider-finops/internal/controller/scrape"
	"github.com/provider-finops/provider-finops/internal/webhook"
)

const (
	// leaseName is our own: another operator for the same API must not share it
	// (OPEN-CFG-1).
	leaseName = "provider-finops.finops.stakater.com"

	// defaultReconcileRate lets a family of ten thousand settle as fast as the
	// API server takes the writes; a limit below that would be the bottleneck.
	defaultReconcileRate = 2000

	// requestsPerReconcile and burst bound what the client sends.
	requestsPerReconcile = 5

	// concurrentReconciles of each kind: enough to keep the API server busy
	// while single writes wait for it.
	concurrentReconciles = 64

	// partingTimeout is how long the controllers may take to end when they are told
	// to. The pod is given longer, because the lease is given back after that.
	partingTimeout = 8 * time.Second

	// controllerGCPercent is how much garbage the controllers may pile up on
	// what they hold, which is every Subscription. Go's own 100 would make that
	// the half of what they are given.
	controllerGCPercent = 40
)

func runController(ctx context.Context, f *flags, getenv func(string) string) error {
	env, err := readEnvironment(getenv)
	if err != nil {
		return err
	}
	if getenv("GOGC") == "" {
		debug.SetGCPercent(controllerGCPercent)
	}
	log := newLogger(f)
	ctrl.SetLogger(log)
	now := businessClock(f.clockOffset)
	warnOfMovedTime(log, f)

	webhooks, err := newWebhookServer(log, f, env)
	if err != nil {
		return err
	}
	legacyReferences := readsLegacyReferences(f, getenv)
	if legacyReferences {
		env.podVariables[costjob.LegacyReferences] = "true"
	}
	mgr, err := newManager(f, getenv, webhooks, legacyReferences)
	if err != nil {
		return err
	}
	owner, err := clusterOwner(ctx, log, mgr.GetAPIReader(), env.clusterID)
	if err != nil {
		return err
	}
	m, watcher, err := newMirror(ctx, mgr, f, env, owner, now)
	if err != nil {
		return err
	}

	settler, err := newSettler(mgr, f, getenv, owner, now, log)
	if err != nil {
		return err
	}

	options := controllerOptions(f, log, now)
	settings := controller.Settings{
		Mirror: m,
		OpenCost: opencost.Installation{
			Namespace:   env.openCostNamespace,
			Deployment:  env.openCostDeployment,
			MinInterval: f.openCostRestartMinInterval,
		},
		PriceBookNamespaces: splitNames(f.priceBookNamespaces),
		Offering:            offering.Settings{Guard: f.guard()},
		Subscription: subscription.Settings{
			EnforceAllowOverride:    f.enforceAllowOverride,
			DetectParentCycles:      f.detectParentCycles,
			ReleaseNeverActivated:   f.releaseNeverActivated,
			BuiltinReleaseAfter:     f.builtinReleaseAfter,
			Settler:                 settler,
			Follow:                  watcher.Follow,
			TargetKinds:             splitNames(f.targetKinds),
			TargetSameNamespaceOnly: f.targetSameNamespaceOnly,
		},
		Bundled: env.multiTenantOperator,
		CostJob: costjob.Settings{
			Image:            env.operatorImage,
			ImagePullSecrets: env.imagePullSecrets,
			PostgresDSN:      env.postgresDSN,
			OpenCostURL:      env.openCostURL,
			ClusterID:        env.clusterID,
			ClusterIdentity:  owner.Identity,
			DatabaseSchema:   env.databaseSchema,
			Variables:        env.podVariables,
			ClockOffset:      f.clockOffset,
			Namespace:        ownNamespace(getenv),
		},
	}
	var answer func() error
	if webhooks != nil {
		if answer, err = webhook.SetupClosed(mgr, webhook.Settings{DetectParentCycles: f.detectParentCycles, Guard: f.guard()}); err != nil {
			return err
		}
	}
	if err := controller.SetupAsServed(ctx, mgr, options, settings, answer); err != nil {
		return err
	}

	log.Info("starting manager")
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("cannot run the controllers: %w", err)
	}
	return nil
}

func newLogger(f *flags) logr.Logger {
	options := []zap.Opts{zap.UseFlagOptions(&f.zap)}
	if f.debug {
		options = append(options, zap.UseDevMode(true))
	}
	return zap.New(options...)
}

// warnOfMovedTime is loud, because moved time ends contracts and bills hours
// that have not come.
func warnOfMovedTime(log logr.Logger, f *flags) {
	if f.clockOffset != 0 {
		log.Info("BUSINESS TIME IS MOVED: this is for tests only", "clock-offset", f.clockOffset.String())
	}
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(
		clientgoscheme.AddToScheme(scheme),
		apiextensionsv1.AddToScheme(scheme),
		v1alpha1.AddToScheme(scheme),
	)
}

// controllerOptions are those of every kind. One limiter serves all of them.
func controllerOptions(f *flags, log logr.Logger, now clock.PassiveClock) frame.Options {
	return frame.Options{
		Logger:                  logging.NewLogrLogger(log),
		Clock:                   now,
		Poll:                    f.poll,
		MaxConcurrentReconciles: concurrentReconciles,
		Limiter:                 ratelimiter.NewGlobal(f.maxReconcileRate),
	}
}

// newRESTConfig finds the API server: the cluster the process runs in, or the
// kubeconfig that KUBECONFIG names.
func newRESTConfig(rate int) (*rest.Config, error) {
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("cannot find an API server, run in a cluster or set KUBECONFIG: %w", err)
	}
	cfg.QPS = float32(rate * requestsPerReconcile)
	cfg.Burst = rate * requestsPerReconcile
	return cfg, nil
}

// readsLegacyReferences tells whether references without a namespace are read.
// The pods of the collectors are told by a variable.
func readsLegacyReferences(f *flags, getenv func(string) string) bool {
	return f.legacyReferences || getenv(costjob.LegacyReferences) == "true"
}

func newManager(f *flags, getenv func(string) string, webhooks ctrlwebhook.Server, legacyReferences bool) (ctrl.Manager, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, fmt.Errorf("cannot register the API's types: %w", err)
	}
	cfg, err := newRESTConfig(f.maxReconcileRate)
	if err != nil {
		return nil, err
	}

	// Nothing here reads who wrote a field, and it is half of an object.
	transform := cache.TransformStripManagedFields()
	if legacyReferences {
		transform = legacy.Transform(transform)
	}

	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:                        scheme,
		Metrics:                       metricsOptions(f),
		WebhookServer:                 webhooks,
		HealthProbeBindAddress:        f.probeAddress,
		LeaderElection:                f.leaderElection,
		LeaderElectionID:              leaseName,
		LeaderElectionNamespace:       ownNamespace(getenv),
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       new(partingTimeout),
		Cache: cache.Options{
			SyncPeriod:       &f.sync,
			DefaultTransform: transform,
			ByObject:         map[client.Object]cache.ByObject{&apiextensionsv1.CustomResourceDefinition{}: {Transform: controller.Definition}},
		},
		// Secrets and ConfigMaps are read one by one: a cache would hold every
		// one of the cluster.
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}}},
	})
	if err != nil {
		return nil, fmt.Errorf("cannot set up the manager: %w", err)
	}
	if legacyReferences {
		mgr = legacy.Manager(mgr)
	}
	return mgr, errors.Join(
		mgr.AddHealthzCheck("healthz", healthz.Ping),
		mgr.AddReadyzCheck("readyz", healthz.Ping),
	)
}

func metricsOptions(f *flags) metricsserver.Options {
	o := metricsserver.Options{
		BindAddress:   f.metricsAddress,
		SecureServing: f.metricsSecure,
		CertDir:       f.metricsCertPath,
		CertName:      f.metricsCertName,
		KeyName:       f.metricsCertKey,
		TLSOpts:       []func(*tls.Config){withoutHTTP2},
	}
	if f.metricsSecure {
		o.FilterProvider = scrape.Filter(clock.RealClock{})
	}
	return o
}

// ownNamespace is where the process is installed, empty if it runs outside of a
// cluster and nobody says.
func ownNamespace(getenv func(string) string) string {
	if ns := getenv("POD_NAMESPACE"); ns != "" {
		return ns
	}
	ns, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(ns))
}

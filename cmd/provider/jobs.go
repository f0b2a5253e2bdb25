package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/go-logr/logr"
	"github.com/jackc/pgx/v5/pgxpool"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/clients/opencost"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/controller/legacy"
	"github.com/provider-finops/provider-finops/internal/jobs/allocation"
	"github.com/provider-finops/provider-finops/internal/jobs/charge"
	"github.com/provider-finops/provider-finops/internal/jobs/retention"
)

// Where a job's garbage collector starts to work harder, unless GOMEMLIMIT says
// otherwise. The jobs stream, so what lies above it is garbage. The text of the
// program comes on top: of its 50 MiB a job uses some 25.
const (
	allocationMemory = 34 << 20
	chargeMemory     = 28 << 20

	// jobGCPercent is how much garbage a job may pile up on what it holds. It
	// holds little, so collecting often costs a few percent of its time and saves
	// some 7 MiB of 64.
	jobGCPercent = 30
)

func runAllocation(ctx context.Context, f *flags, getenv func(string) string) error {
	settings, err := allocation.FromEnvironment(getenv)
	if err != nil {
		return &settingError{err}
	}
	source, err := opencost.New(settings.OpenCostURL, opencost.Options{Timeout: settings.Timeouts.HTTPClient})
	if err != nil {
		return &settingError{fmt.Errorf("cannot use OPENCOST_CONNECTION_STRING: %w", err)}
	}
	log := newLogger(f)
	warnOfMovedTime(log, f)
	kube, err := jobClient(f, getenv, log, allocationMemory)
	if err != nil {
		return err
	}

	job := &allocation.Job{
		Settings: settings,
		Clock:    businessClock(f.clockOffset),
		Log:      log,
		Source:   source,
		Kube:     kube,
		Connect: func(ctx context.Context) (*pgxpool.Pool, error) {
			return postgres.Open(ctx, postgres.Config{
				DSN:          settings.PostgresDSN,
				Schema:       settings.DatabaseSchema,
				MigrationDir: settings.MigrationDir,
				Owner:        postgres.Owner{ClusterID: settings.ClusterID, Identity: settings.ClusterIdentity},
				Application:  "provider-finops allocations",

				WorksWithNewer: true,
			})
		},
	}
	return job.Run(ctx)
}

func runCharge(ctx context.Context, f *flags, getenv func(string) string) error {
	settings, err := charge.FromEnvironment(getenv)
	keep, unreadable := retention.FromEnvironment(getenv)
	if err := errors.Join(err, unreadable); err != nil {
		return &settingError{err}
	}
	log := newLogger(f)
	warnOfMovedTime(log, f)
	kube, err := jobClient(f, getenv, log, chargeMemory)
	if err != nil {
		return err
	}
	if readsLegacyReferences(f, getenv) {
		kube = legacy.Client(kube)
	}

	settings.Database.WorksWithNewer = true
	settled := false
	err = charge.Run(ctx, settings, charge.Dependencies{
		Client:  kube,
		Clock:   businessClock(f.clockOffset),
		Log:     log,
		Settled: func() { settled = true },
	})
	if !keep.Wanted() || ctx.Err() != nil {
		return err
	}
	pool, unopened := postgres.Open(ctx, settings.Database)
	if unopened != nil {
		return errors.Join(err, unopened)
	}
	defer postgres.Close(ctx, pool)
	return errors.Join(err, retention.Run(ctx, keep, settled, businessClock(f.clockOffset), log, pool))
}

// jobClient reads from the API server itself: a job lives for one run.
func jobClient(f *flags, getenv func(string) string, log logr.Logger, memory int64) (client.Client, error) {
	if getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memory)
	}
	if getenv("GOGC") == "" {
		debug.SetGCPercent(jobGCPercent)
	}
	if err := giveBackText(); err != nil {
		log.V(1).Info("the text of the program stays in memory", "error", err.Error())
	}
	// Of Kubernetes' own kinds a job writes events; all of them would cost some
	// megabytes.
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("cannot register the API's types: %w", err)
	}
	cfg, err := newRESTConfig(f.maxReconcileRate)
	if err != nil {
		return nil, err
	}
	kube, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("cannot set up the client of the API server: %w", err)
	}
	return kube, nil
}

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/controller/finops/costjob"
	"github.com/provider-finops/provider-finops/internal/controller/finops/subscription"
	"github.com/provider-finops/provider-finops/internal/controller/legacy"
	finops "github.com/provider-finops/provider-finops/internal/finops/charge"
	"github.com/provider-finops/provider-finops/internal/jobs/charge"
)

// settleWait is how long the controller waits for the database, and for a run that
// is under way, before it tries again later.
const settleWait = 30 * time.Second

// settler settles single Subscriptions with the means of the charge run.
type settler struct {
	settings charge.Settings
	means    charge.Dependencies
}

// newSettler returns what --builtin-release-after settles with, nil if it is not
// asked for, or if there is no database to settle anything in. It is told what the
// controller tells the pods of the collectors, and it reads from the API server
// itself, as they do.
func newSettler(mgr ctrl.Manager, f *flags, getenv func(string) string, owner postgres.Owner, now clock.PassiveClock, log logr.Logger) (subscription.Settler, error) {
	if f.builtinReleaseAfter == 0 || f.skipDBConnection {
		return nil, nil //nolint:nilnil // Nothing is settled then.
	}
	settings, err := charge.FromEnvironment(podEnvironment(getenv))
	if err != nil {
		return nil, &settingError{err}
	}
	settings.Database.Owner = owner
	settings.DatabaseInitTimeout = settleWait
	kube, err := client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("cannot set up the client that settles Subscriptions: %w", err)
	}
	if readsLegacyReferences(f, getenv) {
		kube = legacy.Client(kube)
	}
	return &settler{settings, charge.Dependencies{Client: kube, Clock: now, Log: log.WithName("settle")}}, nil
}

// podEnvironment is what the pods of a collector would find of the controller's
// environment.
func podEnvironment(getenv func(string) string) func(string) string {
	database := []string{"POSTGRES_CONNECTION_STRING", "FINOPS_DB_SCHEMA", "FINOPS_MIGRATION_DIR", "CLUSTER_ID"}
	return func(name string) string {
		switch value := getenv(name); {
		case name == "HOURS_LOOKBACK" && value == "":
			return podLookback
		case slices.Contains(database, name), slices.Contains(costjob.PodVariables(), name):
			return value
		}
		return ""
	}
}

// Settle settles a Subscription and lets it go.
func (s *settler) Settle(ctx context.Context, key types.NamespacedName, uid types.UID) (finops.Hold, error) {
	return charge.Release(ctx, s.settings, s.means, charge.One{Key: key, UID: uid})
}

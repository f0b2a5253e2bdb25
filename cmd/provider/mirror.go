package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/controller/database"
	"github.com/provider-finops/provider-finops/internal/controller/mirror"
)

// newMirror connects the controllers to the database, or to none if that was
// asked for, and watches what is in it.
func newMirror(ctx context.Context, mgr ctrl.Manager, f *flags, env environment, owner postgres.Owner, now clock.PassiveClock) (*mirror.Mirror, *database.Watcher, error) {
	if f.skipDBConnection {
		return nil, nil, nil // A nil mirror is one that stores nothing, and a nil watcher tells nothing.
	}
	log := mgr.GetLogger().WithName("database")
	connection, err := database.New(ctx, postgres.Config{
		DSN:          env.postgresDSN,
		Schema:       env.databaseSchema,
		MigrationDir: env.migrationDir,
		Owner:        owner,
		Application:  "provider-finops controller",
		OnMigrated: func(from, to uint) {
			log.Info("upgraded the schema", "from", from, "to", to)
		},
	}, now, logging.NewLogrLogger(log))
	if err != nil {
		return nil, nil, &settingError{fmt.Errorf("cannot use POSTGRES_CONNECTION_STRING: %w", err)}
	}
	watcher := database.NewWatcher(connection, env.clusterID, env.limits, now, logging.NewLogrLogger(log))
	if err := errors.Join(mgr.Add(connection), mgr.Add(watcher), watcher.Register(metrics.Registry)); err != nil {
		return nil, nil, fmt.Errorf("cannot add the database connection: %w", err)
	}
	m := mirror.New(connection, env.clusterID, now)
	if err := mgr.Add(m); err != nil {
		return nil, nil, fmt.Errorf("cannot add the mirror: %w", err)
	}
	return m, watcher, nil
}

package rig

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-finops/provider-finops/internal/bench"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
)

// Database makes a migrated one, to be dropped when it has served.
func Database(ctx context.Context, env *bench.Env, name string) (_ *pgxpool.Pool, drop func(), err error) {
	admin, err := pgx.Connect(ctx, env.PostgresDSN)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot connect to the server: %w", err)
	}
	defer admin.Close(ctx) //nolint:errcheck // It served its purpose.
	name = fmt.Sprintf("bench_%s_%d_%d", name, os.Getpid(), time.Now().UnixNano())
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return nil, nil, fmt.Errorf("cannot make a database: %w", err)
	}
	config := admin.Config().Copy()
	dsn := fmt.Sprintf("host=%s port=%d user=%s password='%s' dbname=%s sslmode=disable", config.Host, config.Port, config.User, config.Password, name)
	pool, err := postgres.Open(ctx, postgres.Config{DSN: dsn})
	if err != nil {
		return nil, nil, err
	}
	drop = func() {
		pool.Close()
		ctx := context.WithoutCancel(ctx)
		again, err := pgx.Connect(ctx, env.PostgresDSN)
		if err == nil {
			_, err = again.Exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)")
			_ = again.Close(ctx)
		}
		if err != nil {
			env.Logf("cannot drop database %s: %v", name, err)
		}
	}
	return pool, drop, nil
}

// Checkpoint has the server write what it owes, so that no run pays for another.
func Checkpoint(ctx context.Context, pool *pgxpool.Pool) error {
	if _, err := pool.Exec(ctx, "CHECKPOINT"); err != nil {
		return fmt.Errorf("cannot write a checkpoint: %w", err)
	}
	return nil
}

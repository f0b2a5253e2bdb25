package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"time"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	migratepgx "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/golang-migrate/migrate/v4/source"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/provider-finops/provider-finops/migrations"
)

// versionTable is where the schema's version is kept. It is not the library's
// default name, which another installation may already use (OPEN-DB-9).
const versionTable = "finops_schema_migrations"

// libraryLockTimeout bounds nothing: the caller's context does. The library's
// own lock is free as a rule, because ours is taken first; only the session of
// a process that was killed may still hold it, until its statement has ended.
const libraryLockTimeout = time.Hour

// Migrate brings the schema up to the version of the binary, or of
// MigrationDir. A schema that is up to date costs one query, no lock and no
// right to create anything. Of several processes at once one migrates and the
// others wait, as long as ctx lets them.
//
// It refuses a schema that is newer than the binary, unless the caller works
// with one, or marked dirty, and
// tables of the same names that somebody else made (OPEN-DB-1).
func Migrate(ctx context.Context, pool *pgxpool.Pool, cfg Config) error {
	err := upgrade(ctx, pool, cfg)
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w (%w)", err, cause)
	}
	return redacted(err, pool.Config().ConnConfig.Password)
}

func upgrade(ctx context.Context, pool *pgxpool.Pool, cfg Config) error {
	files, latest, err := openMigrations(cfg.MigrationDir)
	if err != nil {
		return err
	}
	defer func() { _ = files.Close() }()

	now, err := readState(ctx, pool, cfg.Schema)
	if err != nil {
		return err
	}
	if done, err := now.settled(latest, cfg.WorksWithNewer); done || err != nil {
		return err
	}

	config := pool.Config().ConnConfig
	return withLock(ctx, config, migrationLock(cfg.Schema), -1, func(ctx context.Context) error {
		// Whoever held the lock before us may have done the work.
		now, err := readState(ctx, pool, cfg.Schema)
		if err != nil {
			return err
		}
		if done, err := now.settled(latest, cfg.WorksWithNewer); done || err != nil {
			return err
		}
		if !now.HasSchema {
			if _, err := pool.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+pgx.Identifier{cfg.Schema}.Sanitize()); err != nil {
				return fmt.Errorf("cannot create schema %q: %w", cfg.Schema, err)
			}
		}
		if err := applyAll(ctx, config, files); err != nil {
			return err
		}
		if cfg.OnMigrated != nil {
			cfg.OnMigrated(now.Version, latest)
		}
		return nil
	})
}

// openMigrations returns the migrations and the version of the last one.
func openMigrations(dir string) (source.Driver, uint, error) {
	var from fs.FS = migrations.Files
	name := "the binary"
	if dir != "" {
		from, name = os.DirFS(dir), fmt.Sprintf("%q", dir)
	}
	files, err := iofs.New(from, ".")
	if err != nil {
		return nil, 0, fmt.Errorf("cannot read the migrations of %s: %w", name, err)
	}
	latest, err := files.First()
	if err != nil {
		return nil, 0, fmt.Errorf("cannot find any migration in %s: %w", name, err)
	}
	for {
		next, err := files.Next(latest)
		if errors.Is(err, fs.ErrNotExist) {
			return files, latest, nil
		}
		if err != nil {
			return nil, 0, fmt.Errorf("cannot read the migrations of %s: %w", name, err)
		}
		latest = next
	}
}

// applyAll runs the outstanding migrations on a connection of its own.
func applyAll(ctx context.Context, config *pgx.ConnConfig, files source.Driver) error {
	ctx, done := context.WithCancel(ctx)
	defer done()

	db := openSQL(ctx, config)
	defer func() { _ = db.Close() }()

	driver, err := migratepgx.WithInstance(db, &migratepgx.Config{MigrationsTable: versionTable})
	if err != nil {
		return fmt.Errorf("cannot prepare table %q: %w", versionTable, err)
	}
	defer func() { _ = driver.Close() }()

	one := &atomically{Driver: driver}
	m, err := migrate.NewWithInstance("files", files, "pgx5", one)
	if err != nil {
		return fmt.Errorf("cannot set up the migrations: %w", err)
	}
	m.LockTimeout = libraryLockTimeout
	context.AfterFunc(ctx, func() { m.GracefulStop <- true })

	if err := m.Up(); err != nil && !errors.Is(err, migrate.ErrNoChange) {
		return describe(one.next, err)
	}
	return ctx.Err()
}

// openSQL opens the database for a library that knows no context: when ctx
// ends, its connections are cut.
func openSQL(ctx context.Context, config *pgx.ConnConfig) *sql.DB {
	config = config.Copy()
	config.Tracer = nil
	dial := config.DialFunc
	config.DialFunc = func(dialCtx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(dialCtx, network, addr)
		if err == nil {
			context.AfterFunc(ctx, func() { _ = conn.Close() })
		}
		return conn, err
	}
	return stdlib.OpenDB(*config)
}

// describe shortens the library's error, which quotes the whole file.
func describe(version int, err error) error {
	var failed database.Error
	if !errors.As(err, &failed) {
		return fmt.Errorf("cannot apply the migrations: %w", err)
	}
	// The library counts lines from the position, also when the server has
	// given none.
	var refused *pgconn.PgError
	if errors.As(failed.OrigErr, &refused) && refused.Position > 0 {
		return fmt.Errorf("cannot apply migration %d, line %d: %w", version, failed.Line, failed.OrigErr)
	}
	return fmt.Errorf("cannot apply migration %d: %w", version, failed.OrigErr)
}

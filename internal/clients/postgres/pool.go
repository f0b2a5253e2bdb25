package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// defaultMaxConns bounds the pool unless the DSN says pool_max_conns. The
	// controllers and jobs send few statements; many pods share one server.
	defaultMaxConns = 4

	// pingAfterIdle is how long a connection may rest before it is asked
	// whether it is alive when it is next used. Statements that follow each
	// other closely pay nothing; a connection that the server has closed in
	// the meantime is replaced instead of failing the next statement.
	pingAfterIdle = 50 * time.Millisecond

	pingTimeout    = 5 * time.Second
	partingTimeout = 2 * time.Second
	connectTimeout = 10 * time.Second

	// lockTimeout is how long a statement waits for a lock that somebody else
	// holds, unless the DSN says otherwise. A run that waited without end would
	// look alive, and keep others from the work.
	lockTimeout = "60s"

	maxConnIdleTime = 5 * time.Minute
)

// Config says which database is used, and how.
type Config struct {
	// DSN is the connection string as the user gave it: a postgres:// or
	// postgresql:// URL, or key=value pairs. It is a secret.
	DSN string

	// Schema is the PostgreSQL schema that holds everything (FINOPS_DB_SCHEMA,
	// OPEN-DB-1). It is created if missing. Empty means the connection's own
	// search path.
	Schema string

	// Owner is the cluster whose rows are worked on. See [ClaimCluster].
	Owner Owner

	// MigrationDir replaces the embedded migrations (FINOPS_MIGRATION_DIR).
	MigrationDir string

	// AtLeastConns is how many connections are needed at once. A pool_max_conns
	// of the DSN that is lower would have them wait for each other for ever, so
	// it is raised.
	AtLeastConns int32

	// Application is what pg_stat_activity shows unless the DSN names one.
	// Empty means provider-finops.
	Application string

	// Tracer, if set, sees every statement.
	Tracer pgx.QueryTracer

	// WorksWithNewer accepts a schema that a newer release has upgraded. A run
	// sets it, whose pod an upgrade of the controller may overtake (part 70.8):
	// what the next releases add to the schema, this one does not have to know.
	WorksWithNewer bool

	// OnMigrated, if set, is told about an upgrade of the schema that this
	// process carried out. From is 0 for an empty database.
	OnMigrated func(from, to uint)
}

// Open connects, upgrades the schema if it is older than the binary, claims the
// cluster id, and returns a pool. What it may take is bounded by ctx. No error it
// returns shows a password.
func Open(ctx context.Context, cfg Config) (*pgxpool.Pool, error) {
	pool, err := NewPool(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := Prepare(ctx, pool, cfg); err != nil {
		Close(ctx, pool)
		return nil, err
	}
	return pool, nil
}

// Close closes a pool. As long as ctx lives it waits for every session to end.
// Who is told to stop waits for a moment only: to take leave of a server that
// answers no more takes the library longer than a process is given to end, and
// with the process its sessions end anyway.
func Close(ctx context.Context, pool *pgxpool.Pool) {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		pool.Close()
	}()
	select {
	case <-closed:
		return
	case <-ctx.Done():
	}
	select {
	case <-closed:
	case <-time.After(partingTimeout):
	}
}

// Prepare makes sure that a pool can be used for what the configuration says:
// the schema is upgraded and the cluster id is claimed.
func Prepare(ctx context.Context, pool *pgxpool.Pool, cfg Config) error {
	if err := Migrate(ctx, pool, cfg); err != nil {
		return err
	}
	return redacted(ClaimCluster(ctx, pool, cfg.Owner), pool.Config().ConnConfig.Password)
}

// NewPool returns a pool that connects when it is first used, for those who
// have other work to do while the database is away. Call Prepare before
// anything else.
func NewPool(ctx context.Context, cfg Config) (*pgxpool.Pool, error) {
	config, err := parse(cfg)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, redacted(fmt.Errorf("cannot set up the connection pool: %w", err), config.ConnConfig.Password)
	}
	return pool, nil
}

func parse(cfg Config) (*pgxpool.Config, error) {
	config, err := parseDSN(cfg.DSN)
	if err != nil {
		return nil, err
	}
	config.MaxConns = max(config.MaxConns, cfg.AtLeastConns)
	config.MaxConnIdleTime = maxConnIdleTime
	config.PingTimeout = pingTimeout
	config.ShouldPing = func(_ context.Context, p pgxpool.ShouldPingParams) bool {
		return p.IdleDuration > pingAfterIdle
	}
	config.AfterConnect = readInUTC

	conn := config.ConnConfig
	conn.Tracer = cfg.Tracer
	if conn.ConnectTimeout == 0 {
		conn.ConnectTimeout = connectTimeout
	}
	if conn.RuntimeParams["application_name"] == "" {
		conn.RuntimeParams["application_name"] = "provider-finops"
		if cfg.Application != "" {
			conn.RuntimeParams["application_name"] = cfg.Application
		}
	}
	if conn.RuntimeParams["lock_timeout"] == "" && !strings.Contains(conn.RuntimeParams["options"], "lock_timeout") {
		conn.RuntimeParams["lock_timeout"] = lockTimeout
	}
	if cfg.Schema != "" {
		if err := checkSchemaName(cfg.Schema); err != nil {
			return nil, err
		}
		conn.RuntimeParams["search_path"] = pgx.Identifier{cfg.Schema}.Sanitize()
	}
	return config, nil
}

// readInUTC makes instants come back in UTC, wherever the process runs.
func readInUTC(_ context.Context, conn *pgx.Conn) error {
	conn.TypeMap().RegisterType(&pgtype.Type{
		Name:  "timestamptz",
		OID:   pgtype.TimestamptzOID,
		Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
	})
	return nil
}

// checkSchemaName refuses what PostgreSQL would cut short, without a word, or
// keep for itself.
func checkSchemaName(name string) error {
	const longest = 63 // NAMEDATALEN - 1
	switch {
	case len(name) > longest:
		return fmt.Errorf("cannot use schema %q: the name is longer than %d bytes", name, longest)
	case strings.HasPrefix(name, "pg_") || name == "information_schema":
		return fmt.Errorf("cannot use schema %q: PostgreSQL keeps that name for itself", name)
	case strings.ContainsRune(name, 0):
		return errors.New("cannot use a schema whose name holds a NUL byte")
	}
	return nil
}

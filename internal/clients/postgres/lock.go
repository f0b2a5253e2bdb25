package postgres

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

var (
	// ErrLockTaken says that somebody else held a lock for as long as one was
	// ready to wait.
	ErrLockTaken = errors.New("another process holds the lock")

	// ErrLockLost says that the connection which held a lock broke, so that
	// somebody else may hold it by now.
	ErrLockLost = errors.New("the connection that held the lock is gone")
)

// A LockKey names an advisory lock: what is done, and for whom.
type LockKey struct {
	Work  string // For example charge-collection.
	Scope string // For example a cluster id.
}

func migrationLock(schema string) LockKey { return LockKey{Work: "schema-migration", Scope: schema} }

// numbers are the two keys that PostgreSQL knows. The hash is part of the
// contract between releases that run side by side.
func (k LockKey) numbers() (work, scope int32) {
	return hash32(k.Work), hash32(k.Scope)
}

func hash32(text string) int32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text))
	return int32(h.Sum32()) //nolint:gosec // All 32 bits are the key; the sign means nothing.
}

// WithLock runs work while it holds an advisory lock, and returns ErrLockTaken
// without running it if the lock is not to be had within wait.
//
// The lock lives on a connection of its own. The server frees it when that
// connection ends, however it ends; the context that work receives then ends
// too, with the cause ErrLockLost, so that two never work at once for long.
func WithLock(
	ctx context.Context, pool *pgxpool.Pool, key LockKey, wait time.Duration, work func(context.Context) error,
) error {
	return withLock(ctx, pool.Config().ConnConfig, key, max(wait, 0), work)
}

// withLock waits without end if wait is negative.
func withLock(
	ctx context.Context, config *pgx.ConnConfig, key LockKey, wait time.Duration, work func(context.Context) error,
) error {
	config = config.Copy()
	config.RuntimeParams["idle_session_timeout"] = "0" // It rests for as long as the work takes.
	switch {
	case wait < 0:
		config.RuntimeParams["lock_timeout"] = "0"
	case wait > 0:
		// The server gives up by itself; it would not notice that we have.
		config.RuntimeParams["lock_timeout"] = strconv.FormatInt(max(wait.Milliseconds(), 1), 10)
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("cannot connect for the %s lock: %w", key.Work, err)
	}
	defer letGo(ctx, conn)

	if err := acquire(ctx, conn, key, wait); err != nil {
		return err
	}

	held, release := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		// Nobody notifies, so this returns when the connection breaks or the
		// work is done.
		if _, err := conn.WaitForNotification(held); err != nil && held.Err() == nil {
			release(fmt.Errorf("%w: %w", ErrLockLost, err))
		}
	}()
	err = work(held)
	if cause := context.Cause(held); err != nil && errors.Is(cause, ErrLockLost) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	release(context.Canceled)
	<-watched
	return err
}

func acquire(ctx context.Context, conn *pgx.Conn, key LockKey, wait time.Duration) error {
	work, scope := key.numbers()
	if wait == 0 {
		rows, err := conn.Query(ctx, "SELECT pg_try_advisory_lock($1, $2)", work, scope)
		if err != nil {
			return fmt.Errorf("cannot take the %s lock: %w", key.Work, err)
		}
		got, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[bool])
		if err != nil {
			return fmt.Errorf("cannot take the %s lock: %w", key.Work, err)
		}
		if !got {
			return fmt.Errorf("cannot take the %s lock: %w", key.Work, ErrLockTaken)
		}
		return nil
	}

	_, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1, $2)", work, scope)
	var failed *pgconn.PgError
	if errors.As(err, &failed) && failed.Code == pgerrcode.LockNotAvailable {
		return fmt.Errorf("cannot take the %s lock: %w", key.Work, ErrLockTaken)
	}
	if err != nil {
		return fmt.Errorf("cannot take the %s lock: %w", key.Work, err)
	}
	return nil
}

// letGo frees the lock and ends its connection, also when the context that it
// was used under has ended. The lock is given back by a statement, because the
// server reads that a connection was closed some time after it was.
func letGo(ctx context.Context, conn *pgx.Conn) {
	patience := pingTimeout
	if ctx.Err() != nil {
		patience = partingTimeout
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if !conn.IsClosed() {
		_, _ = conn.Exec(ctx, "SELECT pg_advisory_unlock_all()") // If it fails, the end of the session does it.
	}
	_ = conn.Close(ctx)
}

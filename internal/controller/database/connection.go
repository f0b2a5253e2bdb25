// Package database keeps the controllers' way to PostgreSQL: it upgrades the
// schema as soon as the server can be reached, makes the months ahead, and says
// meanwhile why nothing can be stored. Gates and endings go on without it; what
// the controllers record catches up when it is back.
package database

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/jackc/pgx/v5/pgxpool"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
)

const (
	// retryAtMost bounds how long a database that is back goes unnoticed.
	retryAtMost = 30 * time.Second

	// upgradeTimeout bounds one attempt to upgrade the schema.
	upgradeTimeout = 2 * time.Minute

	// startPatience is how long a question waits for the first attempt, so that
	// nobody is told of a database that is away while it is only being set up.
	startPatience = 5 * time.Second

	// monthsEvery is how often the months ahead are made, and monthsAhead how
	// many there are to be beside the current one (design R11).
	monthsEvery = 24 * time.Hour
	monthsAhead = 2
)

// errStarting stands until the first attempt has ended.
var errStarting = errors.New("cannot use the database yet: the connection is being set up")

// A Connection is a pool whose schema is known to be this binary's.
type Connection struct {
	pool   *pgxpool.Pool
	config postgres.Config
	clock  clock.PassiveClock
	log    logging.Logger

	starting context.Context //nolint:containedctx // Ends with the first attempt, or with the patience.
	started  context.CancelFunc

	mu    sync.RWMutex
	err   error         // Why the pool cannot be used; nil once it can.
	ready chan struct{} // Closed when it can.
}

// New returns a connection that Start brings up. It does not connect, so it
// fails only for a configuration that can never work.
func New(ctx context.Context, cfg postgres.Config, c clock.PassiveClock, log logging.Logger) (*Connection, error) {
	pool, err := postgres.NewPool(ctx, cfg)
	if err != nil {
		return nil, err
	}
	starting, started := context.WithTimeout(ctx, startPatience)
	return &Connection{
		pool: pool, config: cfg, clock: c, log: log, starting: starting, started: started,
		err: errStarting, ready: make(chan struct{}),
	}, nil
}

// Pool returns the pool, or an error that says why it cannot be used. At the
// start it waits a moment for the first attempt.
func (c *Connection) Pool() (*pgxpool.Pool, error) {
	<-c.starting.Done()
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.err != nil {
		return nil, c.err
	}
	return c.pool, nil
}

// Ready is closed when the pool can be used.
func (c *Connection) Ready() <-chan struct{} { return c.ready }

// Start upgrades the schema, trying until it succeeds, and then keeps the
// months ahead. It ends with its context.
func (c *Connection) Start(ctx context.Context) error {
	defer postgres.Close(ctx, c.pool)
	if err := c.upgrade(ctx); err != nil {
		return nil // The context has ended, which is how this is stopped.
	}
	wait.UntilWithContext(ctx, c.makeMonths, monthsEvery)
	return nil
}

// NeedLeaderElection is false: the upgrade has a lock of its own, and a replica
// that stands by is to find the schema ready.
func (c *Connection) NeedLeaderElection() bool { return false }

func (c *Connection) upgrade(ctx context.Context) error {
	backoff := wait.Backoff{Duration: time.Second, Factor: 2, Cap: retryAtMost, Steps: 10}
	return backoff.DelayFunc().Until(ctx, true, false, func(ctx context.Context) (bool, error) {
		attempt, cancel := context.WithTimeout(ctx, upgradeTimeout)
		defer cancel()
		err := postgres.Prepare(attempt, c.pool, c.config)
		if err == nil {
			c.warnOfFormerIDs(attempt)
		}
		c.set(err)
		c.started()
		return err == nil, nil
	})
}

// warnOfFormerIDs says that the id of the cluster was changed. That may be meant, and
// bills everybody anew.
func (c *Connection) warnOfFormerIDs(ctx context.Context) {
	former, err := postgres.FormerIDs(ctx, c.pool, c.config.Owner)
	switch {
	case err != nil:
		c.log.Info("cannot tell whether CLUSTER_ID was changed", "error", err.Error())
	case len(former) > 0:
		c.log.Info("CLUSTER_ID was changed: every Subscription is charged under this one too, from its activation on",
			"clusterID", c.config.Owner.ClusterID, "formerIDs", former)
	}
}

func (c *Connection) set(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		err = fmt.Errorf("cannot use the database: %w", err)
		if err.Error() != c.err.Error() { // The same once, not every half minute.
			c.log.Info("trying the database again", "error", err.Error())
		}
		c.err = err
		return
	}
	c.err = nil
	c.log.Info("the database is ready")
	close(c.ready)
}

// makeMonths is harmless to miss for weeks, so a failure only waits for the
// next day or, for the jobs, for the run that needs the month.
func (c *Connection) makeMonths(ctx context.Context) {
	now := c.clock.Now()
	made, err := postgres.EnsureMonths(ctx, c.pool, now, now.AddDate(0, monthsAhead, 0))
	if err != nil {
		c.log.Info("cannot make the months ahead", "error", err.Error())
		return
	}
	if made > 0 {
		c.log.Info("made partitions for the months ahead", "made", made)
	}
}

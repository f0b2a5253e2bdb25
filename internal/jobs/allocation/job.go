// Package allocation is the collector of measurements (--mode=cronjob): it
// fetches hours from OpenCost and stores them.
//
// A run works on one pinned hour and the hours before it that are not settled.
// Which those are, and what becomes of each, is decided by the package
// collection; this one asks OpenCost, writes to the database, and tells the
// CostJob how it went. Runs may be cut off at any moment and repeated at will.
package allocation

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/go-logr/logr"
	"github.com/jackc/pgx/v5/pgxpool"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/clients/opencost"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/hour"
	"github.com/provider-finops/provider-finops/internal/jobs/execution"
)

// lockWork names the advisory lock that keeps two runs for one cluster apart.
const lockWork = "allocation-collection"

// A Source is where measurements come from.
type Source interface {
	Allocations(ctx context.Context, q opencost.Query) iter.Seq2[opencost.Allocation, error]
}

// A Job is everything a run needs.
type Job struct {
	Settings Settings
	Clock    clock.PassiveClock
	Log      logr.Logger
	Source   Source

	// Kube reads from the API server itself, not from a cache.
	Kube client.Client

	// Connect opens the database and upgrades its schema. The run closes it.
	Connect func(ctx context.Context) (*pgxpool.Pool, error)
}

// Run collects once. The error says what failed, in one line; what was
// collected before it is kept. However the run ends, the CostJob carries a
// record of it, unless another run was at work and this one had nothing to do.
func (j *Job) Run(ctx context.Context) error {
	started := j.Clock.Now()

	err := j.collect(ctx, started)
	if errors.Is(err, postgres.ErrLockTaken) {
		j.Log.Info("Another run is collecting for this cluster; leaving it to that one", "cluster", j.Settings.ClusterID)
		return nil
	}
	err = execution.Outcome(ctx, err)

	record := execution.Record{Start: started, Duration: j.Clock.Since(started), Err: err}
	return errors.Join(err, execution.Write(ctx, j.Kube, j.Settings.CostJob, record, j.Settings.Timeouts.StatusUpdate))
}

// collect gathers what the run has to know, holds the lock, and collects.
func (j *Job) collect(ctx context.Context, started time.Time) error {
	for _, note := range j.Settings.Notes {
		j.Log.Info(note)
	}

	pinned, source, err := hour.Pin(j.Settings.Hint, started)
	if err != nil {
		return err
	}
	if text := j.Settings.Hint.Unread(); text != "" {
		j.Log.Info("Ignoring SCHEDULED_TIMESTAMP, which is no time", "value", text, "pinnedBy", source)
	}
	j.Log.Info("Collecting allocations", "hour", pinned.Format(time.RFC3339), "pinnedBy", source, "cluster", j.Settings.ClusterID)

	pool, err := j.connect(ctx)
	if err != nil {
		return err
	}
	defer postgres.Close(ctx, pool)

	key := postgres.LockKey{Work: lockWork, Scope: j.Settings.ClusterID}
	return postgres.WithLock(ctx, pool, key, j.Settings.Timeouts.DatabaseInit, func(ctx context.Context) error {
		costJob, err := j.costJob(ctx)
		if err != nil {
			return err
		}
		if s := costJob.Spec.Sharding; s != nil {
			j.Log.Info("Asking OpenCost by namespaces", "namespacesPerShard", s.NamespacesPerShard, "concurrency", s.Concurrency)
		}
		book, err := j.resolveBook(ctx, pool, costJob, started)
		if err != nil {
			return err
		}

		r := &run{
			Job:     j,
			pool:    pool,
			scope:   postgres.Scope{ClusterID: j.Settings.ClusterID, Aggregation: j.Settings.Aggregation},
			costJob: costJob,
			book:    book,
			pinned:  pinned,
			now:     started,
		}
		return r.do(ctx)
	})
}

func (j *Job) connect(ctx context.Context) (*pgxpool.Pool, error) {
	ctx, cancel := context.WithTimeout(ctx, j.Settings.Timeouts.DatabaseInit)
	defer cancel()
	return j.Connect(ctx)
}

func (j *Job) costJob(ctx context.Context) (*v1alpha1.CostJob, error) {
	ctx, cancel := context.WithTimeout(ctx, j.Settings.Timeouts.Kubernetes)
	defer cancel()

	costJob := &v1alpha1.CostJob{}
	if err := j.Kube.Get(ctx, j.Settings.CostJob, costJob); err != nil {
		return nil, fmt.Errorf("cannot read CostJob %q: %w", j.Settings.CostJob, err)
	}
	return costJob, nil
}

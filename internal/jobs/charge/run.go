package charge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"github.com/jackc/pgx/v5/pgxpool"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/charge"
	"github.com/provider-finops/provider-finops/internal/finops/hour"
	"github.com/provider-finops/provider-finops/internal/jobs/execution"
	"github.com/provider-finops/provider-finops/internal/jobs/inputs"
)

// FieldManager is the owner of what the collector writes to the API server.
const FieldManager = "finops-charge-collector"

// lockWork names the lock that keeps two runs of one cluster apart (BETTER-CJ-10).
const lockWork = "charge-collection"

// Dependencies are what a run works with.
type Dependencies struct {
	// Client reads from the API server itself, never from a cache.
	Client client.Client
	Clock  clock.PassiveClock
	Log    logr.Logger

	// Settled, if it is set, is called by a run that has left nobody behind: no
	// charge has failed or is held back.
	Settled func()
}

// run is one run of the collector.
type run struct {
	Settings

	one *One // The only Subscription it is about; nil if it is about all.

	client  client.Client
	log     logr.Logger
	pool    *pgxpool.Pool
	settled func() // Nil if nobody asks.

	now    time.Time  // Business time at the start.
	pinned charge.Run // What everything is computed for.
	books  charge.Books
	world  world

	counted          postgres.Hours // Of which usage is to be counted.
	tally            tally
	unrated          unrated
	written, deleted int64
	patched          int64
	released         int64
}

func newRun(s Settings, d Dependencies) *run {
	return &run{Settings: s, client: d.Client, log: d.Log, settled: d.Settled, now: d.Clock.Now().UTC(), tally: tally{sum: charge.Claims{}}}
}

// Run does the work of one hour: it writes the charges of all Subscriptions,
// publishes their costs, and lets those go that are deleted and settled. It
// leaves a record on its CostJob whatever happens, and returns an error if
// anything was recorded against anybody but an implausible charge (OPEN-CJ-26).
//
// If another run of the cluster does not finish within DatabaseInitTimeout it
// leaves the work to that one and returns nil.
func Run(ctx context.Context, s Settings, d Dependencies) error {
	r := newRun(s, d)
	for _, note := range s.Notes {
		r.log.Info(note)
	}

	err := r.locked(ctx)
	if errors.Is(err, postgres.ErrLockTaken) {
		r.log.Info("another charge collection is running; leaving the work to it", "cluster", s.ClusterID)
		return nil
	}
	err = execution.Outcome(ctx, err)

	if s.recorded() {
		record := execution.Record{Start: r.now, Duration: d.Clock.Since(r.now), Err: err}
		err = errors.Join(err, execution.Write(ctx, client.WithFieldOwner(r.client, FieldManager), r.CostJob, record, r.StatusUpdateTimeout))
	}
	return err
}

func (r *run) locked(ctx context.Context) error {
	pinned, source, err := hour.Pin(r.Hint, r.now)
	if err != nil {
		return err
	}
	r.pinned.Hour = hour.Begun(pinned, r.now)
	if text := r.Hint.Unread(); text != "" {
		r.log.Info("ignoring SCHEDULED_TIMESTAMP, which is no time", "value", text, "pinnedBy", source)
	}
	r.log.Info("collecting charges", "hour", r.pinned.Hour.Format(time.RFC3339), "pinnedBy", source, "cluster", r.ClusterID)

	if r.pool, err = r.open(ctx); err != nil {
		return err
	}
	defer postgres.Close(ctx, r.pool)

	key := postgres.LockKey{Work: lockWork, Scope: r.ClusterID}
	return postgres.WithLock(ctx, r.pool, key, r.DatabaseInitTimeout, r.work)
}

func (r *run) open(ctx context.Context) (*pgxpool.Pool, error) {
	ctx, cancel := context.WithTimeout(ctx, r.DatabaseInitTimeout)
	defer cancel()
	database := r.Database
	database.AtLeastConns = deskConns
	return postgres.Open(ctx, database)
}

// work is the run itself, while nobody else runs.
func (r *run) work(ctx context.Context) error {
	var err error
	if r.world, err = r.gather(ctx); err != nil {
		return err
	}
	if err := r.settleBounds(ctx); err != nil {
		return err
	}
	if err := r.resolve(ctx, r.world); err != nil {
		return err
	}
	r.world.offerings = nil // Terms and versions are all that is needed of them.
	if err := r.plan(ctx); err != nil {
		return err
	}

	if err := r.charge(ctx); err != nil {
		return err
	}
	r.reportClaims()
	r.reportUnrated(ctx)
	leaving := r.closeOut(ctx)
	summed := r.summarize(ctx)
	if ctx.Err() == nil { // Told to stop, or without the lock: what is published is for another run.
		r.publish(ctx, summed == nil)
		r.release(ctx, leaving)
	}

	err = errors.Join(summed, r.verdict(ctx))
	if err == nil && r.settled != nil && !slices.ContainsFunc(r.world.subjects, (*subject).behind) {
		r.settled()
	}
	return err
}

// settleBounds reads what the run may rely on: the allocation boundary, which
// charging and cleanup share, and the recorded rates.
func (r *run) settleBounds(ctx context.Context) error {
	evidence, err := postgres.CollectionEvidence(ctx, r.pool, r.scope(), r.Limits.Oldest(r.pinned.Hour), r.pinned.Hour)
	if err != nil {
		return err
	}
	evidence.Collecting = r.world.collecting
	r.pinned.SettledBefore = r.Limits.Boundary(r.pinned.Hour, evidence).Cap(r.pinned.Hour)

	books, err := postgres.RecordedBooks(ctx, r.pool, r.ClusterID)
	if err != nil {
		return err
	}
	r.books = inputs.Books(books)
	r.counted, err = r.uncounted(ctx)
	return err
}

// scope is whose allocation rows are charged.
func (r *run) scope() postgres.Scope {
	return postgres.Scope{ClusterID: r.ClusterID, Aggregation: r.Aggregation}
}

// maxNamed is how many Subscriptions of a kind the log names; a database that is
// away fails all of them alike.
const maxNamed = 100

// verdict counts what was done and says whether the run failed.
func (r *run) verdict(ctx context.Context) error {
	var failed, parked, overtaken int
	var first error
	for _, s := range r.world.subjects {
		switch {
		case s.failure != nil:
			failed++
			if failed <= maxNamed {
				r.log.Error(s.failure, "cannot settle a Subscription", "subscription", s.key)
			}
			if first == nil {
				first = fmt.Errorf("%s: %w", s.key, s.failure)
			}
		case s.parked != nil:
			parked++
			if parked > maxNamed {
				continue
			}
			r.log.Info("a charge is held back", "subscription", s.key, "reason", s.parked.Error())
		case s.overtaken:
			overtaken++
		}
	}
	r.log.Info("collected charges", "hour", r.pinned.Hour.Format(time.RFC3339),
		"settledBefore", r.pinned.SettledBefore.Format(time.RFC3339), "subscriptions", len(r.world.subjects),
		"rowsWritten", r.written, "rowsDeleted", r.deleted, "statusesWritten", r.patched, "released", r.released,
		"failed", failed, "parked", parked, "overtaken", overtaken)

	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot finish the run: %w", context.Cause(ctx))
	}
	if failed > 0 {
		return fmt.Errorf("cannot settle %d of %d Subscriptions, the first is %w", failed, len(r.world.subjects), first)
	}
	return nil
}

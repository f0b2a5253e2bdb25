// Package mirror knows from memory which versions of Offerings and
// Subscriptions the database holds, so that a settled object costs no query.
//
// What is remembered is loaded by one query per kind when it is first needed,
// which is when this process leads, and again after a statement has failed: the
// outcome of that statement is unknown, and another process may have led in
// between. While the database is away every question is answered with an error,
// and at once: one that does not answer must not keep anybody from deciding. What
// follows from that is the caller's decision. [Mirror.Start] notices when the
// database is back, and has all those look again who could not record something.
//
// Versions that are to be stored at the same time share one statement.
package mirror

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"k8s.io/utils/clock"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
)

const (
	// restAfterFailure is how long a database that failed is left alone, whoever
	// asks: thousands of objects must not each find out for themselves.
	restAfterFailure = 30 * time.Second

	// loadTimeout bounds the reading of what is recorded. A server whose disk
	// stands still accepts connections and never answers; one that holds the
	// versions of years takes its time.
	loadTimeout = 2 * time.Minute
)

// A Source hands out the pool, or says why it cannot be used.
type Source interface {
	Pool() (*pgxpool.Pool, error)
}

// A Recorded is the newest version of an object that the database holds.
type Recorded struct {
	ID   int64
	Hash string

	// OfferingUID is, for a Subscription, that of the Offering whose terms it
	// was activated on, or would have been as long as it was not; empty if none
	// was recorded (BETTER-OFF-5).
	OfferingUID string

	// ActivatedAt and DeactivatedAt are the life that is recorded of a
	// Subscription; nil is not yet. They stay true, whatever the object says: one
	// that knows less of its life has been restored from an earlier copy.
	ActivatedAt   *time.Time
	DeactivatedAt *time.Time

	// ParentUID is, for a Subscription, that of its parent; empty if it has none
	// or none was seen. The parent's name may go to another.
	ParentUID string
}

// A Mirror is one cluster's part of the database. Its zero value is of no use;
// a nil Mirror holds everything and stores nothing (--skipDBConnection).
type Mirror struct {
	source    Source
	clusterID string
	clock     clock.PassiveClock

	newOfferings     batch[postgres.Offering]
	newSubscriptions batch[postgres.Subscription]

	mu            sync.Mutex // Guards what follows; never held during a statement.
	loaded        bool
	loading       chan struct{} // Closed when the load that is on its way has ended; nil if none is.
	doubts        int           // How often a statement has ended that nobody knows the outcome of.
	offerings     map[string]Recorded
	subscriptions map[string]Recorded
	tombstones    []postgres.LatestSubscription
	failed        error
	failedAt      time.Time
	missed        bool // Somebody got an error since the last return.
	returned      []func()
}

// New returns the mirror of a cluster. It asks the database nothing yet.
func New(source Source, clusterID string, c clock.PassiveClock) *Mirror {
	return &Mirror{source: source, clusterID: clusterID, clock: c}
}

// Offering returns what is recorded of the Offering with that uid.
func (m *Mirror) Offering(ctx context.Context, uid string) (Recorded, bool, error) {
	return m.lookUp(ctx, uid, func() map[string]Recorded { return m.offerings })
}

// Subscription returns what is recorded of the Subscription with that uid.
func (m *Mirror) Subscription(ctx context.Context, uid string) (Recorded, bool, error) {
	return m.lookUp(ctx, uid, func() map[string]Recorded { return m.subscriptions })
}

// Tombstones are the recorded Subscriptions that are gone, but from which a
// living one descends (OPEN-SUB-5).
func (m *Mirror) Tombstones(ctx context.Context) ([]postgres.LatestSubscription, error) {
	if m == nil {
		return nil, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.load(ctx); err != nil {
		return nil, err
	}
	return m.tombstones, nil
}

// StoreOffering records a version if its content is new.
func (m *Mirror) StoreOffering(ctx context.Context, o postgres.Offering) error {
	if m == nil {
		return nil
	}
	return m.newOfferings.store(ctx, o, m.storeOfferings)
}

func (m *Mirror) storeOfferings(ctx context.Context, all []postgres.Offering) error {
	return m.use(ctx, func(pool *pgxpool.Pool, at time.Time) (func(), error) {
		stored, err := postgres.StoreOfferings(ctx, pool, m.clusterID, at, all...)
		return func() {
			for _, v := range stored {
				m.offerings[v.UID] = Recorded{ID: v.ID, Hash: v.ContentHash}
			}
		}, err
	})
}

// StoreSubscription records a version if its content is new.
func (m *Mirror) StoreSubscription(ctx context.Context, s postgres.Subscription) error {
	if m == nil {
		return nil
	}
	return m.newSubscriptions.store(ctx, s, m.storeSubscriptions)
}

func (m *Mirror) storeSubscriptions(ctx context.Context, all []postgres.Subscription) error {
	return m.use(ctx, func(pool *pgxpool.Pool, at time.Time) (func(), error) {
		stored, err := postgres.StoreSubscriptions(ctx, pool, m.clusterID, at, all...)
		return func() {
			versions := make(map[string]postgres.Version, len(stored))
			for _, v := range stored {
				versions[v.UID] = v
			}
			for i := range all {
				if v, ok := versions[all[i].UID]; ok {
					m.subscriptions[v.UID] = Recorded{
						ID: v.ID, Hash: v.ContentHash,
						OfferingUID: all[i].OfferingUID, ParentUID: all[i].ParentUID,
						ActivatedAt: v.ActivatedAt, DeactivatedAt: v.DeactivatedAt,
					}
				}
			}
		}, err
	})
}

// CloseOffering notes that an Offering is gone.
func (m *Mirror) CloseOffering(ctx context.Context, uid string) error {
	return m.use(ctx, func(pool *pgxpool.Pool, at time.Time) (func(), error) {
		_, err := postgres.MarkOfferingsDeleted(ctx, pool, m.clusterID, at, uid)
		return func() { delete(m.offerings, uid) }, err
	})
}

// CloseSubscription notes that a Subscription is gone. What is remembered of it
// stays until the next load: it may be asked for once more before it is gone.
func (m *Mirror) CloseSubscription(ctx context.Context, uid string) error {
	return m.use(ctx, func(pool *pgxpool.Pool, at time.Time) (func(), error) {
		_, err := postgres.MarkSubscriptionsDeleted(ctx, pool, m.clusterID, at, uid)
		return func() {}, err
	})
}

// ForgetSubscription drops what is remembered of a Subscription that is gone. To
// keep all that there ever were would take ever more memory.
func (m *Mirror) ForgetSubscription(uid string) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.subscriptions, uid)
}

// RecordedOffering returns an Offering as it was last recorded: the one with
// the key's uid, or the last that had its name. It is a query, for the rare
// case that the object itself cannot say. False means that there is none.
func (m *Mirror) RecordedOffering(ctx context.Context, key postgres.OfferingKey) (postgres.RecordedOffering, bool, error) {
	var found []postgres.RecordedOffering
	err := m.use(ctx, func(pool *pgxpool.Pool, _ time.Time) (_ func(), err error) {
		found, err = postgres.RecordedOfferings(ctx, pool, m.clusterID, key)
		return func() {}, err
	})
	if err != nil || len(found) == 0 {
		return postgres.RecordedOffering{}, false, err
	}
	return found[0], true, nil
}

func (m *Mirror) lookUp(ctx context.Context, uid string, known func() map[string]Recorded) (Recorded, bool, error) {
	if m == nil {
		return Recorded{}, false, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.load(ctx); err != nil {
		return Recorded{}, false, err
	}
	r, ok := known()[uid]
	return r, ok, nil
}

// use runs a statement, remembers what it returns to be remembered, and forgets
// everything if it fails.
func (m *Mirror) use(ctx context.Context, statement func(*pgxpool.Pool, time.Time) (remember func(), err error)) error {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	pool, err := m.load(ctx)
	m.mu.Unlock()
	if err != nil {
		return err
	}
	remember, err := statement(pool, m.clock.Now())

	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err == nil:
		remember()
		return nil
	case postgres.IsRefusedData(err): // No reason to leave it alone with the others.
		return fmt.Errorf("cannot use the mirror: %w", err)
	default:
		m.loaded = false
		m.doubts++
		return m.fail(ctx, err)
	}
}

// load makes sure that what is recorded is known. The caller holds the lock,
// which is given up while the database is asked. Nobody waits for a load of a
// database that has failed before.
func (m *Mirror) load(ctx context.Context) (*pgxpool.Pool, error) {
	for {
		pool, err := m.source.Pool()
		switch {
		case err != nil:
			m.missed = true
			return nil, err // Nothing was attempted.
		case m.loaded:
			return pool, nil
		case m.failed != nil && (m.loading != nil || m.clock.Since(m.failedAt) < restAfterFailure):
			return nil, m.failed
		case m.loading == nil:
			return pool, m.read(ctx, pool)
		}
		if err := m.await(ctx, m.loading); err != nil {
			return nil, err
		}
	}
}

// await waits for somebody else's load, without the lock.
func (m *Mirror) await(ctx context.Context, loaded <-chan struct{}) error {
	m.mu.Unlock()
	defer m.mu.Lock()
	select {
	case <-loaded:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("cannot use the mirror: %w", ctx.Err())
	}
}

// read loads what is recorded, without the lock meanwhile. What is stored while
// it reads may be missing in it, and is stored once more at worst, which writes
// nothing.
func (m *Mirror) read(ctx context.Context, pool *pgxpool.Pool) error {
	doubts := m.doubts
	m.loading = make(chan struct{})
	m.mu.Unlock()
	offerings, subscriptions, err := m.latest(ctx, pool)
	m.mu.Lock()
	close(m.loading)
	m.loading = nil
	if err != nil {
		return m.fail(ctx, err)
	}

	m.offerings = make(map[string]Recorded, len(offerings))
	for _, o := range offerings {
		m.offerings[o.UID] = Recorded{ID: o.ID, Hash: o.ContentHash}
	}
	m.subscriptions = make(map[string]Recorded, len(subscriptions))
	m.tombstones = nil
	for _, s := range subscriptions {
		if s.DeletedAt != nil {
			m.tombstones = append(m.tombstones, s)
			continue
		}
		m.subscriptions[s.UID] = Recorded{
			ID: s.ID, Hash: s.ContentHash,
			OfferingUID: s.OfferingUID, ParentUID: s.ParentUID, ActivatedAt: s.ActivatedAt, DeactivatedAt: s.DeactivatedAt,
		}
	}
	if m.doubts == doubts { // Else it may have come too early for what has failed since.
		m.loaded, m.failed = true, nil
	}
	return nil
}

func (m *Mirror) latest(ctx context.Context, pool *pgxpool.Pool) ([]postgres.LatestOffering, []postgres.LatestSubscription, error) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	offerings, err := postgres.LatestOfferings(ctx, pool, m.clusterID)
	if err != nil {
		return nil, nil, err
	}
	subscriptions, err := postgres.LatestSubscriptions(ctx, pool, m.clusterID)
	return offerings, subscriptions, err
}

// fail remembers when the database failed. A caller that gave up says nothing
// about the database.
func (m *Mirror) fail(ctx context.Context, err error) error {
	err = fmt.Errorf("cannot use the mirror: %w", err)
	m.missed = true
	if !errors.Is(ctx.Err(), context.Canceled) {
		m.failed, m.failedAt = err, m.clock.Now()
	}
	return err
}

package database

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/charge"
	"github.com/provider-finops/provider-finops/internal/finops/tick"
)

// Follow has the watcher tell how far the charges of Subscriptions are behind. It is
// told their lives, by uid, or false while they are not known: the database also
// knows some that nobody will ever settle, because they went by force or with their
// cluster. A nil Watcher tells nothing.
func (w *Watcher) Follow(lives func(context.Context) (map[string]tick.Life, bool)) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lives = lives
}

// lag is how far the charges are behind, nil while it is not known who is charged.
func (w *Watcher) lag(ctx context.Context, pool *pgxpool.Pool, now time.Time) (*time.Duration, error) {
	w.mu.Lock()
	lives := w.lives
	w.mu.Unlock()
	if lives == nil {
		return nil, nil //nolint:nilnil // What is not known is no figure.
	}
	known, ok := lives(ctx)
	if !ok {
		return nil, nil //nolint:nilnil // As above.
	}
	final, err := postgres.Watermarks(ctx, pool, w.scope.ClusterID, slices.Sorted(maps.Keys(known)))
	if err != nil {
		return nil, err
	}
	behind := charge.Lag(now, known, final)
	return &behind, nil
}

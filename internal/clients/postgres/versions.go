package postgres

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

var (
	//go:embed sql/newest_subscriptions.sql
	newestSubscriptionsSQL string

	//go:embed sql/recorded_books.sql
	recordedBooksSQL string
)

// A RecordedSubscription is the newest mirror row of a Subscription: the Offering
// it was recorded to be bound to, if any, what it was charged by then, and whether
// it has been let go.
type RecordedSubscription struct {
	UID           string
	ID            int64
	OfferingUID   string
	ActivatedAt   *time.Time
	DeactivatedAt *time.Time
	Gone          bool            // It was settled and let go.
	UsageSources  json.RawMessage // A list, as it stands in the spec.
}

// NewestSubscriptions calls each with the newest mirror row of every uid that has
// one, whatever it says, in the order of uids. There may be very many, so they are
// not gathered.
func NewestSubscriptions(ctx context.Context, db DB, clusterID string, uids []string, each func(RecordedSubscription)) error {
	rows, err := db.Query(ctx, newestSubscriptionsSQL, pgx.StrictNamedArgs{"cluster_id": clusterID, "uids": uids})
	if err != nil {
		return fmt.Errorf("cannot read the versions of %d subscriptions: %w", len(uids), err)
	}
	var newest RecordedSubscription
	_, err = pgx.ForEachRow(rows, []any{
		&newest.UID, &newest.ID, &newest.OfferingUID, &newest.ActivatedAt, &newest.DeactivatedAt, &newest.Gone, &newest.UsageSources,
	}, func() error {
		each(newest)
		newest = RecordedSubscription{} // Who keeps one keeps its sources, too.
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot read the versions of %d subscriptions: %w", len(uids), err)
	}
	return nil
}

// A RecordedBook is what usage is charged by: the rates under which it was
// measured, in micros. A rate that is nil is not set.
type RecordedBook struct {
	ID               int64
	Currency         string
	CPUHourMicros    *int64 `db:"cpu_hour_micros"`
	GPUHourMicros    *int64 `db:"gpu_hour_micros"`
	RAMGbHourMicros  *int64 `db:"ram_gb_hour_micros"`
	PVGbHourMicros   *int64 `db:"pv_gb_hour_micros"`
	NetworkGiBMicros *int64 `db:"network_gib_micros"`
}

// RecordedBooks returns all price books that were ever used, oldest first.
func RecordedBooks(ctx context.Context, db DB, clusterID string) ([]RecordedBook, error) {
	rows, err := db.Query(ctx, recordedBooksSQL, pgx.StrictNamedArgs{"cluster_id": clusterID})
	if err != nil {
		return nil, fmt.Errorf("cannot read the recorded price books: %w", err)
	}
	books, err := pgx.CollectRows(rows, pgx.RowToStructByName[RecordedBook])
	if err != nil {
		return nil, fmt.Errorf("cannot read the recorded price books: %w", err)
	}
	return books, nil
}

package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

var (
	//go:embed sql/watermarks.sql
	watermarksSQL string

	//go:embed sql/advance_watermarks.sql
	advanceWatermarksSQL string
)

// Watermarks returns the latest final hour of each Subscription that has one, by
// uid.
func Watermarks(ctx context.Context, db DB, clusterID string, uids []string) (map[string]time.Time, error) {
	rows, err := db.Query(ctx, watermarksSQL, pgx.StrictNamedArgs{"cluster_id": clusterID, "uids": uids})
	if err != nil {
		return nil, fmt.Errorf("cannot read the watermarks: %w", err)
	}
	watermarks := make(map[string]time.Time, len(uids))
	var uid string
	var through time.Time
	if _, err := pgx.ForEachRow(rows, []any{&uid, &through}, func() error {
		watermarks[uid] = through
		return nil
	}); err != nil {
		return nil, fmt.Errorf("cannot read the watermarks: %w", err)
	}
	return watermarks, nil
}

// AdvanceWatermarks raises the watermarks to what the staged windows say, in the
// transaction of their rows.
func AdvanceWatermarks(ctx context.Context, db DB, clusterID string, now time.Time) error {
	if _, err := db.Exec(ctx, advanceWatermarksSQL, pgx.StrictNamedArgs{"cluster_id": clusterID, "now": now}); err != nil {
		return fmt.Errorf("cannot advance the watermarks: %w", err)
	}
	return nil
}

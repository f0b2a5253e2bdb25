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
	//go:embed sql/latest_offerings.sql
	latestOfferingsSQL string

	//go:embed sql/latest_subscriptions.sql
	latestSubscriptionsSQL string

	//go:embed sql/recorded_offerings.sql
	recordedOfferingsSQL string
)

// A LatestOffering is what the newest row of a living Offering says.
type LatestOffering struct {
	ID          int64
	UID         string
	Namespace   string
	Name        string
	ContentHash string
}

// LatestOfferings returns the newest row of every Offering of a cluster that
// was not marked deleted, in the order of uids.
func LatestOfferings(ctx context.Context, db DB, clusterID string) ([]LatestOffering, error) {
	rows, err := db.Query(ctx, latestOfferingsSQL, pgx.StrictNamedArgs{"cluster_id": clusterID})
	if err != nil {
		return nil, fmt.Errorf("cannot read the mirrored offerings: %w", err)
	}
	latest, err := pgx.CollectRows(rows, pgx.RowToStructByName[LatestOffering])
	if err != nil {
		return nil, fmt.Errorf("cannot read the mirrored offerings: %w", err)
	}
	return latest, nil
}

// A LatestSubscription is what the newest row of a Subscription says. Empty
// strings and nil mean absent.
type LatestSubscription struct {
	ID                int64
	UID               string
	Namespace         string
	Name              string
	ContentHash       string
	OfferingUID       string
	ParentNamespace   string
	ParentName        string
	ParentUID         string
	CompatibilityRoot string
	ActivatedAt       *time.Time
	DeactivatedAt     *time.Time

	// DeletedAt is set on a tombstone: the object is gone, but a living one
	// descends from it, and its own reference completes the chain (OPEN-SUB-5,
	// BETTER-SUB-4).
	DeletedAt *time.Time
}

// LatestSubscriptions returns the newest row of every living Subscription of a
// cluster and of every deleted one from which a living one descends, in the
// order of uids. The other deleted ones are history that nobody asks for; they
// would grow without end.
func LatestSubscriptions(ctx context.Context, db DB, clusterID string) ([]LatestSubscription, error) {
	rows, err := db.Query(ctx, latestSubscriptionsSQL, pgx.StrictNamedArgs{"cluster_id": clusterID})
	if err != nil {
		return nil, fmt.Errorf("cannot read the mirrored subscriptions: %w", err)
	}
	latest, err := pgx.CollectRows(rows, pgx.RowToStructByName[LatestSubscription])
	if err != nil {
		return nil, fmt.Errorf("cannot read the mirrored subscriptions: %w", err)
	}
	return latest, nil
}

// A RecordedOffering is an Offering as it was last mirrored, with its terms.
type RecordedOffering struct {
	ID              int64
	UID             string
	Namespace       string
	Name            string
	Spec            json.RawMessage
	ResolvedPricing json.RawMessage // Nil if it was never resolved.
	DeletedAt       *time.Time
}

// An OfferingKey asks for a recorded Offering: for the one with that uid, or,
// with no uid, for the one that held the name last.
type OfferingKey struct {
	UID       string
	Namespace string
	Name      string
}

// RecordedOfferings returns the newest row of each Offering asked for, as far
// as there is one, without duplicates and in the order of their ids. It is
// where terms come from when the object is gone or its name went to another
// (BETTER-SUB-5, BETTER-OFF-5).
func RecordedOfferings(ctx context.Context, db DB, clusterID string, keys ...OfferingKey) ([]RecordedOffering, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	var uids, namespaces, names []string
	for _, k := range keys {
		if k.UID != "" {
			uids = append(uids, k.UID)
			continue
		}
		namespaces = append(namespaces, k.Namespace)
		names = append(names, k.Name)
	}
	rows, err := db.Query(ctx, recordedOfferingsSQL, pgx.StrictNamedArgs{
		"cluster_id": clusterID, "uids": uids, "namespaces": namespaces, "names": names,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read %d recorded offerings: %w", len(keys), err)
	}
	recorded, err := pgx.CollectRows(rows, pgx.RowToStructByName[RecordedOffering])
	if err != nil {
		return nil, fmt.Errorf("cannot read %d recorded offerings: %w", len(keys), err)
	}
	return recorded, nil
}

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
	//go:embed sql/store_offerings.sql
	storeOfferingsSQL string

	//go:embed sql/store_subscriptions.sql
	storeSubscriptionsSQL string

	//go:embed sql/mark_offerings_deleted.sql
	markOfferingsDeletedSQL string

	//go:embed sql/mark_subscriptions_deleted.sql
	markSubscriptionsDeletedSQL string
)

// A Version is the newest row of an object, the one that charges name.
type Version struct {
	UID         string
	ID          int64
	ContentHash string
	New         bool // Written by the call that returned it.

	// The life that is recorded of a Subscription; nil is not yet. What was
	// recorded once stays, whatever a later version was to say.
	ActivatedAt   *time.Time
	DeactivatedAt *time.Time
}

// StoreOfferings writes a row for every Offering whose content differs from
// its newest row, and returns the newest row of each, in the order of uids.
// Equal content writes nothing. At is when the versions begin.
func StoreOfferings(ctx context.Context, db DB, clusterID string, at time.Time, offerings ...Offering) ([]Version, error) {
	return storeOfferings(ctx, db, clusterID, at, false, offerings)
}

// StoreMissingOfferings writes a row only for Offerings that have none.
func StoreMissingOfferings(ctx context.Context, db DB, clusterID string, at time.Time, offerings ...Offering) ([]Version, error) {
	return storeOfferings(ctx, db, clusterID, at, true, offerings)
}

// StoreSubscriptions is StoreOfferings for Subscriptions.
func StoreSubscriptions(ctx context.Context, db DB, clusterID string, at time.Time, subscriptions ...Subscription) ([]Version, error) {
	return storeSubscriptions(ctx, db, clusterID, at, subscriptions)
}

// MarkOfferingsDeleted notes on the newest rows that their objects are gone,
// once: an earlier note stays. It returns how many rows it changed.
func MarkOfferingsDeleted(ctx context.Context, db DB, clusterID string, at time.Time, uids ...string) (int64, error) {
	return markDeleted(ctx, db, markOfferingsDeletedSQL, clusterID, at, uids)
}

// MarkSubscriptionsDeleted is MarkOfferingsDeleted for Subscriptions.
func MarkSubscriptionsDeleted(ctx context.Context, db DB, clusterID string, at time.Time, uids ...string) (int64, error) {
	return markDeleted(ctx, db, markSubscriptionsDeletedSQL, clusterID, at, uids)
}

func markDeleted(ctx context.Context, db DB, sql, clusterID string, at time.Time, uids []string) (int64, error) {
	if len(uids) == 0 {
		return 0, nil
	}
	tag, err := db.Exec(ctx, sql, pgx.StrictNamedArgs{"cluster_id": clusterID, "deleted_at": at, "uids": uids})
	if err != nil {
		return 0, fmt.Errorf("cannot mark %d mirrored objects as deleted: %w", len(uids), err)
	}
	return tag.RowsAffected(), nil
}

// mirrored is an object on its way into a mirror. The names are those of the
// columns: all objects of a statement travel as one JSON document.
type mirrored struct {
	UID         string            `json:"uid"`
	Namespace   string            `json:"namespace"`
	Name        string            `json:"name"`
	Generation  int64             `json:"generation"`
	ContentHash string            `json:"content_hash"`
	Spec        json.RawMessage   `json:"spec"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

func (o Object) mirrored(contentHash string) mirrored {
	return mirrored{
		UID: o.UID, Namespace: o.Namespace, Name: o.Name, Generation: o.Generation,
		ContentHash: contentHash, Spec: o.Spec, Labels: o.Labels, Annotations: o.Annotations,
	}
}

type mirroredOffering struct {
	mirrored

	ResolvedPricing json.RawMessage `json:"resolved_pricing,omitempty"`
}

type mirroredSubscription struct {
	mirrored

	OfferingNamespace string            `json:"offering_namespace"`
	OfferingName      string            `json:"offering_name"`
	OfferingUID       *string           `json:"offering_uid"`
	ParentNamespace   *string           `json:"parent_namespace"`
	ParentName        *string           `json:"parent_name"`
	ParentUID         *string           `json:"parent_uid"`
	CompatibilityRoot *string           `json:"compatibility_root"`
	ActivatedAt       *time.Time        `json:"activated_at"`
	DeactivatedAt     *time.Time        `json:"deactivated_at"`
	NamespaceLabels   map[string]string `json:"namespace_labels,omitempty"`
}

func storeOfferings(ctx context.Context, db DB, clusterID string, at time.Time, onlyMissing bool, given []Offering) ([]Version, error) {
	rows := make([]mirroredOffering, 0, len(given))
	for _, o := range given {
		sum, err := o.Hash()
		if err != nil {
			return nil, err
		}
		rows = append(rows, mirroredOffering{mirrored: o.mirrored(sum), ResolvedPricing: o.ResolvedPricing})
	}
	return store(ctx, db, storeOfferingsSQL, clusterID, at, onlyMissing, rows)
}

func storeSubscriptions(ctx context.Context, db DB, clusterID string, at time.Time, given []Subscription) ([]Version, error) {
	rows := make([]mirroredSubscription, 0, len(given))
	for _, s := range given {
		row, err := s.row()
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return store(ctx, db, storeSubscriptionsSQL, clusterID, at, false, rows)
}

func (s Subscription) row() (mirroredSubscription, error) {
	sum, err := s.Hash()
	if err != nil {
		return mirroredSubscription{}, err
	}
	return mirroredSubscription{
		mirrored:          s.mirrored(sum),
		OfferingNamespace: s.OfferingNamespace,
		OfferingName:      s.OfferingName,
		OfferingUID:       absent(s.OfferingUID),
		ParentNamespace:   s.parentNamespace(),
		ParentName:        absent(s.ParentName),
		ParentUID:         absent(s.ParentUID),
		CompatibilityRoot: absent(s.CompatibilityRoot),
		ActivatedAt:       instant(s.ActivatedAt),
		DeactivatedAt:     instant(s.DeactivatedAt),
		NamespaceLabels:   s.NamespaceLabels,
	}, nil
}

// parentNamespace is empty, and not absent, where a parent is named without one: an
// older release has let that in.
func (s Subscription) parentNamespace() *string {
	if s.ParentName == "" {
		return nil
	}
	return &s.ParentNamespace
}

func store[T any](ctx context.Context, db DB, sql, clusterID string, at time.Time, onlyMissing bool, given []T) ([]Version, error) {
	if len(given) == 0 {
		return nil, nil
	}
	objects, err := json.Marshal(given)
	if err != nil {
		return nil, fmt.Errorf("cannot encode %d objects for the mirror: %w", len(given), err)
	}
	if objects, err = storable(objects); err != nil {
		return nil, fmt.Errorf("cannot encode %d objects for the mirror: %w", len(given), err)
	}
	rows, err := db.Query(ctx, sql, pgx.StrictNamedArgs{
		"cluster_id": clusterID, "objects": objects, "valid_from": at, "only_missing": onlyMissing,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot mirror %d objects: %w", len(given), err)
	}
	versions, err := pgx.CollectRows(rows, pgx.RowToStructByNameLax[Version])
	if err != nil {
		return nil, fmt.Errorf("cannot mirror %d objects: %w", len(given), err)
	}
	return versions, nil
}

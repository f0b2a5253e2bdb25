package postgres

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"iter"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

var (
	//go:embed sql/audit_subjects.sql
	auditSubjectsSQL string

	//go:embed sql/audit_versions.sql
	auditVersionsSQL string

	//go:embed sql/subscription_sources.sql
	subscriptionSourcesSQL string

	//go:embed sql/offering_versions.sql
	offeringVersionsSQL string

	//go:embed sql/recorded_charges.sql
	recordedChargesSQL string

	//go:embed sql/next_final.sql
	nextFinalSQL string

	//go:embed sql/final_span.sql
	finalSpanSQL string

	//go:embed sql/named_subscriptions.sql
	namedSubscriptionsSQL string
)

// An AuditSubject is a Subscription of which something is final, as it was last
// recorded.
type AuditSubject struct {
	UID               string
	Namespace         string
	Name              string
	VersionID         int64 // Zero, and no name, if it was never recorded.
	ActivatedAt       *time.Time
	DeactivatedAt     *time.Time
	OfferingVersionID int64      // Zero if no Offering was recorded.
	FinalizedThrough  *time.Time // Its watermark, nil if there is none.
}

// AuditSubjects returns everybody of whom something is final, in the order of
// uids; a uid that is not empty asks for that one alone.
func AuditSubjects(ctx context.Context, db DB, clusterID, uid string) ([]AuditSubject, error) {
	rows, err := db.Query(ctx, auditSubjectsSQL, pgx.StrictNamedArgs{"cluster_id": clusterID, "uid": uid})
	if err != nil {
		return nil, fmt.Errorf("cannot read who was charged: %w", err)
	}
	subjects, err := pgx.CollectRows(rows, pgx.RowToStructByName[AuditSubject])
	if err != nil {
		return nil, fmt.Errorf("cannot read who was charged: %w", err)
	}
	return subjects, nil
}

// A VersionChange is an hour from which on the final rows of a Subscription name
// these versions.
type VersionChange struct {
	UID                   string
	FirstWindow           time.Time
	SubscriptionVersionID int64
	OfferingVersionID     int64
}

// VersionChanges returns the versions that the final rows in the given hours
// name, in the order of uid and hour; a uid that is not empty asks for that one
// alone.
func VersionChanges(ctx context.Context, db DB, clusterID, uid string, hours Hours) ([]VersionChange, error) {
	rows, err := db.Query(ctx, auditVersionsSQL, pgx.StrictNamedArgs{
		"cluster_id": clusterID, "uid": uid, "first_window": hours.First, "end_window": hours.End,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read the versions that charges name: %w", err)
	}
	changes, err := pgx.CollectRows(rows, pgx.RowToStructByName[VersionChange])
	if err != nil {
		return nil, fmt.Errorf("cannot read the versions that charges name: %w", err)
	}
	return changes, nil
}

// SubscriptionSources calls each with the usage sources of every version asked
// for, as the API writes them.
func SubscriptionSources(ctx context.Context, db DB, clusterID string, ids []int64, each func(id int64, sources []byte) error) error {
	rows, err := db.Query(ctx, subscriptionSourcesSQL, pgx.StrictNamedArgs{"cluster_id": clusterID, "ids": ids})
	if err != nil {
		return fmt.Errorf("cannot read %d versions of subscriptions: %w", len(ids), err)
	}
	var id int64
	var sources []byte
	if _, err := pgx.ForEachRow(rows, []any{&id, &sources}, func() error { return each(id, sources) }); err != nil {
		return fmt.Errorf("cannot read %d versions of subscriptions: %w", len(ids), err)
	}
	return nil
}

// OfferingVersions returns the versions asked for, in the order of ids.
func OfferingVersions(ctx context.Context, db DB, clusterID string, ids []int64) ([]RecordedOffering, error) {
	rows, err := db.Query(ctx, offeringVersionsSQL, pgx.StrictNamedArgs{"cluster_id": clusterID, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("cannot read %d versions of offerings: %w", len(ids), err)
	}
	versions, err := pgx.CollectRows(rows, pgx.RowToStructByName[RecordedOffering])
	if err != nil {
		return nil, fmt.Errorf("cannot read %d versions of offerings: %w", len(ids), err)
	}
	return versions, nil
}

// A RecordedCharge is a charge as it stands in the table.
type RecordedCharge struct {
	UID                   string
	Window                time.Time
	Source                string
	AmountMicros          int64
	Quantity              *big.Rat
	UnitPriceMicros       *int64 // Nil if the row has several.
	Currency              string // Empty if there is none.
	PricebookID           int64  // Zero if there is none.
	Finalized             bool
	SubscriptionVersionID int64
	OfferingVersionID     int64
	Details               json.RawMessage // Nil if there are none.
}

type recordedCharge struct {
	UID                   string
	WindowStart           time.Time
	Source                string
	AmountMicros          int64
	Quantity              pgtype.Numeric
	UnitPriceMicros       *int64
	Currency              string
	PricebookID           int64
	Finalized             bool
	SubscriptionVersionID int64
	OfferingVersionID     int64
	Details               json.RawMessage
}

// A ChargeQuery asks for rows.
type ChargeQuery struct {
	ClusterID string
	UID       string // Empty asks for everybody.
	Hours     Hours
	OnlyFinal bool
}

// RecordedCharges streams rows in the order of uid, hour and source.
func RecordedCharges(ctx context.Context, db DB, q ChargeQuery) iter.Seq2[RecordedCharge, error] {
	return func(yield func(RecordedCharge, error) bool) {
		rows, err := db.Query(ctx, recordedChargesSQL, pgx.StrictNamedArgs{
			"cluster_id": q.ClusterID, "uid": q.UID, "first_window": q.Hours.First, "end_window": q.Hours.End, "only_final": q.OnlyFinal,
		})
		if err != nil {
			yield(RecordedCharge{}, fmt.Errorf("cannot read charges: %w", err))
			return
		}
		defer rows.Close()

		for rows.Next() {
			r, err := pgx.RowToStructByName[recordedCharge](rows)
			if err != nil {
				yield(RecordedCharge{}, fmt.Errorf("cannot read charges: %w", err))
				return
			}
			if !yield(r.charge(), nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(RecordedCharge{}, fmt.Errorf("cannot read charges: %w", err))
		}
	}
}

func (r recordedCharge) charge() RecordedCharge {
	return RecordedCharge{
		UID: r.UID, Window: r.WindowStart, Source: r.Source, AmountMicros: r.AmountMicros, Quantity: exact(r.Quantity),
		UnitPriceMicros: r.UnitPriceMicros, Currency: r.Currency, PricebookID: r.PricebookID, Finalized: r.Finalized,
		SubscriptionVersionID: r.SubscriptionVersionID, OfferingVersionID: r.OfferingVersionID, Details: r.Details,
	}
}

// FinalSpan returns the hours in which a cluster has final rows, or has to have
// them. It reports false if there are none.
func FinalSpan(ctx context.Context, db DB, clusterID string) (Hours, bool, error) {
	rows, err := db.Query(ctx, finalSpanSQL, pgx.StrictNamedArgs{"cluster_id": clusterID})
	if err != nil {
		return Hours{}, false, fmt.Errorf("cannot read which hours are final: %w", err)
	}
	span, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[struct{ FirstWindow, EndWindow *time.Time }])
	if err != nil {
		return Hours{}, false, fmt.Errorf("cannot read which hours are final: %w", err)
	}
	if span.FirstWindow == nil { // A watermark alone has no beginning.
		return Hours{}, false, nil
	}
	return Hours{First: *span.FirstWindow, End: *span.EndWindow}, true, nil
}

// NextFinal returns the first hour from the given one on in which a Subscription,
// or anybody if the uid is empty, has a final row. It reports false if there is
// none.
func NextFinal(ctx context.Context, db DB, clusterID, uid string, from time.Time) (time.Time, bool, error) {
	rows, err := db.Query(ctx, nextFinalSQL, pgx.StrictNamedArgs{"cluster_id": clusterID, "uid": uid, "first_window": from})
	if err != nil {
		return time.Time{}, false, fmt.Errorf("cannot look for further charges: %w", err)
	}
	next, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[*time.Time])
	if err != nil {
		return time.Time{}, false, fmt.Errorf("cannot look for further charges: %w", err)
	}
	return orZero(next), next != nil, nil
}

// A NamedSubscription is somebody who has held a name.
type NamedSubscription struct {
	ID            int64
	UID           string
	Namespace     string
	Name          string
	ActivatedAt   *time.Time
	DeactivatedAt *time.Time
	DeletedAt     *time.Time
}

// NamedSubscriptions returns everybody who has held a name, or has the uid.
func NamedSubscriptions(ctx context.Context, db DB, clusterID, namespace, name, uid string) ([]NamedSubscription, error) {
	rows, err := db.Query(ctx, namedSubscriptionsSQL, pgx.StrictNamedArgs{
		"cluster_id": clusterID, "namespace": namespace, "name": name, "uid": uid,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot look for a subscription: %w", err)
	}
	named, err := pgx.CollectRows(rows, pgx.RowToStructByName[NamedSubscription])
	if err != nil {
		return nil, fmt.Errorf("cannot look for a subscription: %w", err)
	}
	return named, nil
}

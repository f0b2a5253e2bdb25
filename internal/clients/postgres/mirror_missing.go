package postgres

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"
)

var (
	//go:embed sql/stage_subscriptions.sql
	stageSubscriptionsSQL string

	//go:embed sql/add_missing_subscriptions.sql
	addMissingSubscriptionsSQL string
)

// AddMissingSubscriptions writes a row for Subscriptions that have none, and for
// those that are charged by another life or other usage sources than their newest
// row says. It calls each with the newest row of every one, in the order of uids.
// A caller who cannot see everything that makes a version, such as the labels of
// namespaces, uses this one; that is taken over from the row before. Subscriptions
// stream through: there may be very many. It has to be called within a
// transaction.
func AddMissingSubscriptions(
	ctx context.Context, db DB, clusterID string, at time.Time, given iter.Seq2[Subscription, error], each func(uid string, id int64),
) error {
	if _, err := db.Exec(ctx, stageSubscriptionsSQL); err != nil {
		return fmt.Errorf("cannot prepare for subscriptions: %w", err)
	}
	if _, err := copyRows(ctx, db, "staged_subscriptions", []string{"object"}, documents(given)); err != nil {
		return fmt.Errorf("cannot stage subscriptions: %w", err)
	}
	rows, err := db.Query(ctx, addMissingSubscriptionsSQL, pgx.StrictNamedArgs{"cluster_id": clusterID, "valid_from": at})
	if err != nil {
		return fmt.Errorf("cannot mirror subscriptions: %w", err)
	}
	var uid string
	var id int64
	if _, err := pgx.ForEachRow(rows, []any{&uid, &id}, func() error {
		each(uid, id)
		return nil
	}); err != nil {
		return fmt.Errorf("cannot mirror subscriptions: %w", err)
	}
	return nil
}

func documents(given iter.Seq2[Subscription, error]) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for s, err := range given {
			if err != nil {
				yield(nil, err)
				return
			}
			document, err := s.document()
			if !yield([]any{document}, err) || err != nil {
				return
			}
		}
	}
}

func (s Subscription) document() ([]byte, error) {
	row, err := s.row()
	if err != nil {
		return nil, err
	}
	document, err := json.Marshal(row)
	if err == nil {
		document, err = storable(document)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot encode subscription \"%s/%s\" for the mirror: %w", s.Namespace, s.Name, err)
	}
	return document, nil
}

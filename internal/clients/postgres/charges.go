package postgres

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"iter"
	"math/big"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

var (
	//go:embed sql/create_staged_charges.sql
	createStagedChargesSQL string

	//go:embed sql/create_staged_windows.sql
	createStagedWindowsSQL string

	//go:embed sql/merge_charges.sql
	mergeChargesSQL string

	//go:embed sql/delete_vanished_charges.sql
	deleteVanishedChargesSQL string

	//go:embed sql/has_charges.sql
	hasChargesSQL string
)

// expectManySQL is withoutLoopsSQL within a transaction.
const expectManySQL = "SET LOCAL enable_nestloop = off"

// A Charge is what a Subscription owes for one hour and one source.
type Charge struct {
	SubscriptionUID string
	WindowStart     time.Time
	Source          string
	AmountMicros    int64

	// The quantity is Coefficient / 10^Digits.
	QuantityCoefficient *big.Int
	QuantityDigits      int32

	UnitPriceMicros       *int64
	Currency              string // Empty if there is none.
	Finalized             bool
	OfferingVersionID     int64
	SubscriptionVersionID int64
	PricebookID           int64           // Zero if there is none.
	Details               json.RawMessage // Nil if there are none.
}

// A ChargedWindow says for which hours of a Subscription a batch speaks: open
// rows from First on, within the batch, that it does not hold are gone.
type ChargedWindow struct {
	SubscriptionUID  string
	First            time.Time
	FinalizedThrough time.Time // The new watermark, zero if the batch makes none.
}

// Hours are those from First to End, not included.
type Hours struct {
	First, End time.Time
}

// PrepareCharges makes the tables in which batches arrive, unless the session of
// the connection has them.
func PrepareCharges(ctx context.Context, db DB) error {
	if _, err := db.Exec(ctx, createStagedChargesSQL+createStagedWindowsSQL+withoutJITSQL); err != nil {
		return fmt.Errorf("cannot prepare for charges: %w", err)
	}
	return nil
}

// HasCharges reports whether a cluster has a row in any of the hours. Where it has
// none, a batch can go straight into the table, with [AddCharges].
func HasCharges(ctx context.Context, db DB, clusterID string, hours Hours) (bool, error) {
	has, err := exists(ctx, db, hasChargesSQL, pgx.StrictNamedArgs{
		"cluster_id": clusterID, "first_window": hours.First, "end_window": hours.End,
	})
	if err != nil {
		return false, fmt.Errorf("cannot look for charges: %w", err)
	}
	return has, nil
}

// AddCharges copies charges into the table, none of which may stand there, and
// returns how many it wrote.
func AddCharges(ctx context.Context, db DB, clusterID string, now time.Time, charges iter.Seq2[Charge, error]) (int64, error) {
	columns := slices.Concat(stagedColumns, []string{"cluster_id", "window_end", "created_at", "updated_at"})
	rows := func(yield func([]any, error) bool) {
		row := make([]any, 0, len(columns)) // One for all: a row is sent before the next is asked for.
		for c, err := range charges {
			if err != nil {
				yield(nil, err)
				return
			}
			row, err = c.appendTo(row[:0])
			if !yield(append(row, clusterID, c.WindowStart.Add(time.Hour), now, now), err) {
				return
			}
		}
	}
	written, err := copyRows(ctx, db, "subscription_charges", columns, rows)
	if err != nil {
		return 0, fmt.Errorf("cannot add charges: %w", err)
	}
	return written, nil
}

// StageCharges takes in the charges of a batch, within its transaction. Stop
// the sequence with an error and nothing is staged.
func StageCharges(ctx context.Context, db DB, charges iter.Seq2[Charge, error]) (int64, error) {
	staged, err := copyRows(ctx, db, "staged_charges", stagedColumns, stagedRows(charges))
	if err != nil {
		return 0, fmt.Errorf("cannot stage charges: %w", err)
	}
	if _, err := db.Exec(ctx, "ANALYZE staged_charges"); err != nil {
		return 0, fmt.Errorf("cannot analyze the staged charges: %w", err)
	}
	return staged, nil
}

var stagedColumns = []string{
	"subscription_uid", "window_start", "charge_source", "amount_micros", "quantity", "unit_price_micros", "currency",
	"finalized", "offering_version_id", "subscription_version_id", "pricebook_id", "details",
}

func stagedRows(charges iter.Seq2[Charge, error]) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		row := make([]any, 0, len(stagedColumns))
		for c, err := range charges {
			if err != nil {
				yield(nil, err)
				return
			}
			row, err = c.appendTo(row[:0])
			if !yield(row, err) {
				return
			}
		}
	}
}

func (c Charge) appendTo(row []any) ([]any, error) {
	var uid pgtype.UUID
	if err := uid.Scan(c.SubscriptionUID); err != nil {
		return row, fmt.Errorf("cannot store a charge of subscription uid %q: %w", c.SubscriptionUID, err)
	}
	var book *int64
	if c.PricebookID != 0 {
		book = &c.PricebookID
	}
	var details []byte
	if c.Details != nil {
		details = c.Details
	}
	quantity := pgtype.Numeric{Int: c.QuantityCoefficient, Exp: -c.QuantityDigits, Valid: c.QuantityCoefficient != nil}
	return append(row,
		uid, c.WindowStart, c.Source, c.AmountMicros, quantity, c.UnitPriceMicros, absent(c.Currency), c.Finalized,
		c.OfferingVersionID, c.SubscriptionVersionID, book, details,
	), nil
}

// ExpectMany tells the server, until the transaction ends, that what is staged in
// it speaks for very many Subscriptions, whatever its statistics say.
func ExpectMany(ctx context.Context, db DB) error {
	if _, err := db.Exec(ctx, expectManySQL); err != nil {
		return fmt.Errorf("cannot prepare for many charges: %w", err)
	}
	return nil
}

// StageWindows takes in what the batch speaks for.
func StageWindows(ctx context.Context, db DB, windows iter.Seq[ChargedWindow]) error {
	rows := func(yield func([]any, error) bool) {
		for w := range windows {
			var uid pgtype.UUID
			if err := uid.Scan(w.SubscriptionUID); err != nil {
				yield(nil, fmt.Errorf("cannot store a watermark of subscription uid %q: %w", w.SubscriptionUID, err))
				return
			}
			var through *time.Time
			if !w.FinalizedThrough.IsZero() {
				through = &w.FinalizedThrough
			}
			if !yield([]any{uid, w.First, through}, nil) {
				return
			}
		}
	}
	columns := []string{"subscription_uid", "first_window", "finalized_through"}
	if _, err := copyRows(ctx, db, "staged_windows", columns, rows); err != nil {
		return fmt.Errorf("cannot stage charged windows: %w", err)
	}
	return nil
}

// DeleteVanishedCharges deletes the open rows that the batch speaks for and does
// not hold, and returns how many it deleted.
func DeleteVanishedCharges(ctx context.Context, db DB, clusterID string, hours Hours) (int64, error) {
	tag, err := db.Exec(ctx, deleteVanishedChargesSQL, pgx.StrictNamedArgs{
		"cluster_id": clusterID, "first_window": hours.First, "end_window": hours.End,
	})
	if err != nil {
		return 0, fmt.Errorf("cannot delete vanished charges: %w", err)
	}
	return tag.RowsAffected(), nil
}

// MergeCharges moves the staged charges, all of which lie in the given hours,
// into the table. It touches neither a finalized row nor an equal one, and
// returns how many it wrote.
func MergeCharges(ctx context.Context, db DB, clusterID string, hours Hours, now time.Time) (int64, error) {
	tag, err := db.Exec(ctx, mergeChargesSQL, pgx.StrictNamedArgs{
		"cluster_id": clusterID, "first_window": hours.First, "end_window": hours.End, "now": now,
	})
	if err != nil {
		return 0, fmt.Errorf("cannot merge charges: %w", err)
	}
	return tag.RowsAffected(), nil
}

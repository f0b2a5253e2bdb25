package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"iter"
	"math/big"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

//go:embed sql/summaries.sql
var summariesSQL string

// A SummaryQuery gives the three spans, ends not included. The hour and the day
// have to lie in the month.
type SummaryQuery struct {
	ClusterID string

	// SubscriptionUID is the only one to be summed up; empty means all.
	SubscriptionUID string

	Hour, Day, Month Hours
}

// A Summary is what is recorded for one Subscription and source, in micros. The
// sums may be larger than an amount can be.
type Summary struct {
	UID              string
	Source           string
	Hour, Day, Month *big.Int

	// The currencies of the month's rows: the first and the last in the order of
	// their codes, empty if none has one.
	FirstCurrency, LastCurrency string
	SomeWithoutCurrency         bool
}

type summaryRow struct {
	UID                 string `db:"uid"`
	Source              string
	Hour, Day, Month    pgtype.Numeric
	FirstCurrency       string
	LastCurrency        string
	SomeWithoutCurrency bool
}

// Summaries streams the sums of the Subscriptions of a cluster that have a row in
// the month, in the order of uids, in one statement.
func Summaries(ctx context.Context, db DB, q SummaryQuery) iter.Seq2[Summary, error] {
	return func(yield func(Summary, error) bool) {
		rows, err := db.Query(ctx, summariesSQL, pgx.StrictNamedArgs{
			"cluster_id": q.ClusterID, "uid": q.SubscriptionUID,
			"hour_start": q.Hour.First, "hour_end": q.Hour.End,
			"day_start": q.Day.First, "day_end": q.Day.End,
			"month_start": q.Month.First, "month_end": q.Month.End,
		})
		if err != nil {
			yield(Summary{}, fmt.Errorf("cannot sum up the charges: %w", err))
			return
		}
		defer rows.Close()

		for rows.Next() {
			row, err := pgx.RowToStructByName[summaryRow](rows)
			if err != nil {
				yield(Summary{}, fmt.Errorf("cannot sum up the charges: %w", err))
				return
			}
			if !yield(row.summary(), nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(Summary{}, fmt.Errorf("cannot sum up the charges: %w", err))
		}
	}
}

func (r summaryRow) summary() Summary {
	return Summary{
		UID:                 r.UID,
		Source:              r.Source,
		Hour:                exact(r.Hour).Num(), // Sums of whole micros are whole.
		Day:                 exact(r.Day).Num(),
		Month:               exact(r.Month).Num(),
		FirstCurrency:       r.FirstCurrency,
		LastCurrency:        r.LastCurrency,
		SomeWithoutCurrency: r.SomeWithoutCurrency,
	}
}

package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

var (
	//go:embed sql/counted_through.sql
	countedThroughSQL string

	//go:embed sql/add_usage_claims.sql
	addUsageClaimsSQL string

	//go:embed sql/usage_claims.sql
	usageClaimsSQL string
)

// claimDigits is how many digits behind the point a quantity is stored with.
const claimDigits = 12

// A UsageClaim is how much of what one meter measured in an hour is claimed by
// nobody, and how much is claimed and has no rate, in units of the meter.
type UsageClaim struct {
	Hour      time.Time
	Meter     string
	Measured  *big.Rat
	Unclaimed *big.Rat
	Unrated   *big.Rat
}

// CountedThrough returns the last hour whose claims are stored, the zero time if
// there is none.
func CountedThrough(ctx context.Context, db DB, s Scope) (time.Time, error) {
	rows, err := db.Query(ctx, countedThroughSQL, pgx.StrictNamedArgs{"cluster_id": s.ClusterID, "aggregation": s.Aggregation})
	if err != nil {
		return time.Time{}, fmt.Errorf("cannot read which hours are counted: %w", err)
	}
	last, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[*time.Time])
	if err != nil {
		return time.Time{}, fmt.Errorf("cannot read which hours are counted: %w", err)
	}
	return orZero(last), nil
}

// AddUsageClaims stores the claims of hours that have none yet.
func AddUsageClaims(ctx context.Context, db DB, s Scope, at time.Time, claims []UsageClaim) error {
	hours, meters := make([]time.Time, len(claims)), make([]string, len(claims))
	measured, unclaimed, unrated := make([]pgtype.Numeric, len(claims)), make([]pgtype.Numeric, len(claims)), make([]pgtype.Numeric, len(claims))
	for i, c := range claims {
		hours[i], meters[i] = c.Hour, c.Meter
		measured[i], unclaimed[i], unrated[i] = cutOff(c.Measured), cutOff(c.Unclaimed), cutOff(c.Unrated)
	}
	_, err := db.Exec(ctx, addUsageClaimsSQL, pgx.StrictNamedArgs{
		"cluster_id": s.ClusterID, "aggregation": s.Aggregation, "at": at,
		"hours": hours, "meters": meters, "measured": measured, "unclaimed": unclaimed, "unrated": unrated,
	})
	if err != nil {
		return fmt.Errorf("cannot store usage claims: %w", err)
	}
	return nil
}

// UsageClaims returns the claims of an hour in the order of meters, those of the
// last one that was counted if the time is zero. There are none if nobody has
// counted it.
func UsageClaims(ctx context.Context, db DB, s Scope, hour time.Time) ([]UsageClaim, error) {
	var asked *time.Time
	if !hour.IsZero() {
		asked = &hour
	}
	rows, err := db.Query(ctx, usageClaimsSQL, pgx.StrictNamedArgs{"cluster_id": s.ClusterID, "aggregation": s.Aggregation, "hour": asked})
	if err != nil {
		return nil, fmt.Errorf("cannot read usage claims: %w", err)
	}
	claims, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (UsageClaim, error) {
		r, err := pgx.RowToStructByName[struct {
			Hour      time.Time
			Meter     string
			Measured  pgtype.Numeric
			Unclaimed pgtype.Numeric
			Unrated   pgtype.Numeric
		}](row)
		return UsageClaim{Hour: r.Hour.UTC(), Meter: r.Meter, Measured: exact(r.Measured), Unclaimed: exact(r.Unclaimed), Unrated: exact(r.Unrated)}, err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read usage claims: %w", err)
	}
	return claims, nil
}

// cutOff is a rational as a NUMERIC, without what lies behind its last digit, so
// that parts are never more than what they are parts of.
func cutOff(q *big.Rat) pgtype.Numeric {
	scaled := new(big.Int).Mul(tenTo(claimDigits), q.Num())
	scaled.Quo(scaled, q.Denom())
	return pgtype.Numeric{Int: scaled, Exp: -claimDigits, Valid: true}
}

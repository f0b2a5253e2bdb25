package postgres

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-finops/provider-finops/internal/finops/pricing"
)

var (
	//go:embed sql/find_pricebook.sql
	findPriceBookSQL string

	//go:embed sql/add_pricebook.sql
	addPriceBookSQL string

	//go:embed sql/keep_current_pricebook.sql
	keepCurrentPriceBookSQL string

	//go:embed sql/last_pricebook.sql
	lastPriceBookSQL string
)

// A PriceBook is what is stored of the rates of a PriceBook object.
type PriceBook struct {
	Namespace  string
	Name       string
	UID        string
	Generation int64
	Currency   string
	Tariff     pricing.Tariff
}

// A PriceBookRow names a stored price book. Its id is positive.
type PriceBookRow struct {
	ID       int64
	Currency string
}

// hash is over currency and rates: what a row was priced with, and nothing else.
func (b PriceBook) hash() string {
	var s strings.Builder
	s.WriteString("currency=" + b.Currency)
	for _, f := range pricing.Fields() {
		if micros := b.Tariff.Micros(f); micros != nil {
			fmt.Fprintf(&s, " %s=%d", f, *micros) // An unset rate is not a zero (OPEN-PB-8).
		}
	}
	sum := sha256.Sum256([]byte(s.String()))
	return hex.EncodeToString(sum[:])
}

// StorePriceBook returns the row that holds a book's present currency and rates,
// writes it if there is none, and notes that this is what the book says now.
func StorePriceBook(ctx context.Context, db DB, clusterID string, b PriceBook, at time.Time) (PriceBookRow, error) {
	row, err := b.store(ctx, db, clusterID, at)
	if err == nil {
		_, err = db.Exec(ctx, keepCurrentPriceBookSQL, pgx.StrictNamedArgs{
			"cluster_id": clusterID, "uid": b.UID, "pricebook_id": row.ID, "since": at,
		})
	}
	if err != nil {
		return PriceBookRow{}, fmt.Errorf("cannot store price book \"%s/%s\": %w", b.Namespace, b.Name, err)
	}
	return row, nil
}

func (b PriceBook) store(ctx context.Context, db DB, clusterID string, at time.Time) (PriceBookRow, error) {
	key := pgx.StrictNamedArgs{"cluster_id": clusterID, "uid": b.UID, "content_hash": b.hash()}
	id, err := queryID(ctx, db, findPriceBookSQL, key)
	if err == nil {
		return PriceBookRow{ID: id, Currency: b.Currency}, nil
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return PriceBookRow{}, err
	}

	id, err = queryID(ctx, db, addPriceBookSQL, pgx.StrictNamedArgs{
		"cluster_id": clusterID, "namespace": b.Namespace, "name": b.Name, "uid": b.UID, "generation": b.Generation,
		"currency":                b.Currency,
		"cpu_hour_micros":         b.Tariff.Micros(pricing.FieldCPUHour),
		"spot_cpu_hour_micros":    b.Tariff.Micros(pricing.FieldSpotCPUHour),
		"ram_gb_hour_micros":      b.Tariff.Micros(pricing.FieldRAMGbHour),
		"spot_ram_gb_hour_micros": b.Tariff.Micros(pricing.FieldSpotRAMGbHour),
		"pv_gb_hour_micros":       b.Tariff.Micros(pricing.FieldPVGbHour),
		"gpu_hour_micros":         b.Tariff.Micros(pricing.FieldGPUHour),
		"network_gib_micros":      b.Tariff.Micros(pricing.FieldNetworkGiB),
		"content_hash":            b.hash(),
		"first_seen_at":           at,
	})
	if err != nil {
		return PriceBookRow{}, err
	}
	return PriceBookRow{ID: id, Currency: b.Currency}, nil
}

// LastPriceBook returns the row of what a book said last while it was sound, and
// false if it never was. Rates that come back come back to the row they had.
func LastPriceBook(ctx context.Context, db DB, clusterID, uid string) (PriceBookRow, bool, error) {
	rows, err := db.Query(ctx, lastPriceBookSQL, pgx.StrictNamedArgs{"cluster_id": clusterID, "uid": uid})
	if err != nil {
		return PriceBookRow{}, false, fmt.Errorf("cannot read the last row of price book %q: %w", uid, err)
	}
	row, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[PriceBookRow])
	if errors.Is(err, pgx.ErrNoRows) {
		return PriceBookRow{}, false, nil
	}
	if err != nil {
		return PriceBookRow{}, false, fmt.Errorf("cannot read the last row of price book %q: %w", uid, err)
	}
	return row, true, nil
}

func queryID(ctx context.Context, db DB, sql string, args pgx.StrictNamedArgs) (int64, error) {
	rows, err := db.Query(ctx, sql, args)
	if err != nil {
		return 0, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowTo[int64])
}

package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"iter"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

//go:embed sql/measurements.sql
var measurementsSQL string

// A Measurement is one allocation row, in the units in which it is stored.
type Measurement struct {
	Namespace      string
	Name           string
	Pod            string
	Controller     string
	ControllerKind string
	Start, End     time.Time
	Final          bool
	PricebookID    int64 // Zero if it has none.

	Cores        *big.Rat // On average, like the next two.
	GPUs         *big.Rat
	Bytes        *big.Rat
	PVByteHours  *big.Rat // In all, like the last.
	NetworkBytes *big.Rat
}

type measurementRow struct {
	Namespace        string
	Name             string
	Pod              string
	Controller       string
	ControllerKind   string
	AllocStart       time.Time
	AllocEnd         time.Time
	IsFinalized      bool
	PricebookID      int64
	CPUCoreUsageAvg  pgtype.Numeric `db:"cpu_core_usage_avg"`
	GPUUsageAvg      pgtype.Numeric `db:"gpu_usage_avg"`
	RAMBytesUsageAvg pgtype.Numeric `db:"ram_bytes_usage_avg"`
	PVByteHours      pgtype.Numeric `db:"pv_byte_hours"`
	NetworkBytes     pgtype.Numeric
}

// Measurements streams the allocation rows of one hour.
func Measurements(ctx context.Context, db DB, scope Scope, hour time.Time) iter.Seq2[Measurement, error] {
	return func(yield func(Measurement, error) bool) {
		rows, err := db.Query(ctx, measurementsSQL, pgx.StrictNamedArgs{
			"cluster_id": scope.ClusterID, "aggregation": scope.Aggregation, "hour": hour,
		})
		if err != nil {
			yield(Measurement{}, fmt.Errorf("cannot read the allocations of hour %s: %w", hour.Format(time.RFC3339), err))
			return
		}
		defer rows.Close()

		for rows.Next() {
			r, err := pgx.RowToStructByName[measurementRow](rows)
			if err != nil {
				yield(Measurement{}, fmt.Errorf("cannot read the allocations of hour %s: %w", hour.Format(time.RFC3339), err))
				return
			}
			if !yield(r.measurement(), nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(Measurement{}, fmt.Errorf("cannot read the allocations of hour %s: %w", hour.Format(time.RFC3339), err))
		}
	}
}

func (r measurementRow) measurement() Measurement {
	return Measurement{
		Namespace: r.Namespace, Name: r.Name, Pod: r.Pod, Controller: r.Controller, ControllerKind: r.ControllerKind,
		Start: r.AllocStart, End: r.AllocEnd, Final: r.IsFinalized, PricebookID: r.PricebookID,
		Cores: exact(r.CPUCoreUsageAvg), GPUs: exact(r.GPUUsageAvg), Bytes: exact(r.RAMBytesUsageAvg),
		PVByteHours: exact(r.PVByteHours), NetworkBytes: exact(r.NetworkBytes),
	}
}

package postgres

import (
	"context"
	"iter"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/provider-finops/provider-finops/internal/finops/collection"
	"github.com/provider-finops/provider-finops/internal/finops/decimal"
)

// allocationColumns are in the order in which measured writes them.
var allocationColumns = []string{
	"cluster_id", "aggregation", "hour", "namespace", "name", "alloc_start", "alloc_end", "collected_at", "pricebook_id",
	"is_finalized", "pod", "container", "controller", "controller_kind", "currency", "minutes", "cpu_core_usage_avg",
	"ram_bytes_usage_avg", "gpu_count", "gpu_usage_avg", "pv_byte_hours", "network_transfer_bytes", "network_receive_bytes",
}

// copyInto streams measurements into a table, one at a time, and returns how
// many there were. An error of the measurements themselves is returned as it is:
// the one that the server makes of it says less.
func (b Batch) copyInto(ctx context.Context, tx pgx.Tx, table string, rows iter.Seq2[collection.Measurement, error]) (int64, error) {
	next, stop := iter.Pull2(rows)
	defer stop()

	source := &measured{batch: b, next: next, values: make([]any, len(allocationColumns))}
	if !source.Next() {
		return 0, source.err // Nothing to copy, so nothing to say to the server.
	}
	source.peeked = true

	n, err := tx.CopyFrom(ctx, pgx.Identifier{table}, allocationColumns, source)
	if source.err != nil {
		return 0, source.err
	}
	return n, err
}

// measured hands measurements to a COPY.
type measured struct {
	batch  Batch
	next   func() (collection.Measurement, error, bool)
	now    collection.Measurement
	values []any
	peeked bool
	err    error
}

// Next implements pgx.CopyFromSource.
func (s *measured) Next() bool {
	if s.peeked {
		s.peeked = false
		return true
	}

	m, err, more := s.next()
	s.now, s.err = m, err
	return more && err == nil
}

// Err implements pgx.CopyFromSource.
func (s *measured) Err() error { return s.err }

// Values implements pgx.CopyFromSource.
func (s *measured) Values() ([]any, error) {
	var bookID, currency any
	if s.batch.Book != nil {
		bookID, currency = s.batch.Book.ID, s.batch.Book.Currency
	}

	s.values = append(s.values[:0],
		s.batch.ClusterID, s.batch.Aggregation, s.batch.Hour, s.now.Namespace, s.now.Name, s.now.Start, s.now.End,
		s.batch.CollectedAt, bookID, s.batch.Finalized, s.now.Pod, s.now.Container, s.now.Controller, s.now.ControllerKind,
		currency, numeric(s.now.Minutes), numeric(s.now.CPUCores), numeric(s.now.RAMBytes), numeric(s.now.GPUs),
		numeric(s.now.GPUsUsed), numeric(s.now.PVByteHours), numeric(s.now.SentBytes), numeric(s.now.RecvBytes),
	)
	return s.values, nil
}

// numeric is a quantity as the driver wants it: exact, like the column.
func numeric(d decimal.Decimal) pgtype.Numeric {
	coefficient, exponent := d.Parts()
	return pgtype.Numeric{Int: coefficient, Exp: exponent, Valid: true}
}

package postgres

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/binary"
	"io"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-finops/provider-finops/internal/finops/collection"
	"github.com/provider-finops/provider-finops/internal/finops/decimal"
)

var (
	//go:embed sql/copy_allocations.sql
	copyAllocationsSQL string

	//go:embed sql/copy_staged_allocations.sql
	copyStagedAllocationsSQL string
)

// The frame of a COPY in binary format: a signature, no flags and no extension
// before the rows, and a row of -1 columns after them.
var (
	copyHeader  = []byte("PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	copyTrailer = []byte{0xff, 0xff}
)

// allocationColumns is how many columns AppendAllocation writes, in the order of
// sql/copy_allocations.sql; batchColumns are the first of them, which tell the
// batch and not the row.
const (
	allocationColumns = 23
	batchColumns      = 4
)

// AllocationRows are rows that AppendAllocation has written.
type AllocationRows struct {
	Count int64
	From  func() io.Reader // One after another, nothing else; from the first again at each call.
}

// AppendAllocation appends a row of a batch to text that waits to be copied. It
// is what the server reads, so whoever fetches an hour does the work of encoding
// it, and the transaction that stores it has none left but to pass bytes on.
func AppendAllocation(to []byte, b *Batch, m *collection.Measurement) []byte {
	to = binary.BigEndian.AppendUint16(to, allocationColumns)
	to = appendInstant(to, b.CollectedAt)
	to = appendText(to, b.ClusterID)
	to = appendText(to, b.Aggregation)
	to = appendInstant(to, b.Hour)
	to = appendText(to, m.Namespace)
	to = appendText(to, m.Name)
	to = appendInstant(to, m.Start)
	to = appendInstant(to, m.End)
	if b.Book == nil {
		to = appendNull(to)
	} else {
		to = appendInt(to, b.Book.ID)
	}
	to = appendBool(to, b.Finalized)
	to = appendText(to, m.Pod)
	to = appendText(to, m.Container)
	to = appendText(to, m.Controller)
	to = appendText(to, m.ControllerKind)
	if b.Book == nil {
		to = appendNull(to)
	} else {
		to = appendText(to, b.Book.Currency)
	}
	for _, quantity := range [...]decimal.Decimal{
		m.Minutes, m.CPUCores, m.RAMBytes, m.GPUs, m.GPUsUsed, m.PVByteHours, m.SentBytes, m.RecvBytes,
	} {
		to = appendNumeric(to, quantity)
	}
	return to
}

// copyInto passes rows on to the server. An error of the rows themselves is
// returned as it is: the one that the server makes of it says less.
func copyInto(ctx context.Context, tx pgx.Tx, sql string, rows AllocationRows) (int64, error) {
	from := &remembering{from: rows.From()}
	framed := io.MultiReader(bytes.NewReader(copyHeader), from, bytes.NewReader(copyTrailer))

	tag, err := tx.Conn().PgConn().CopyFrom(ctx, framed, sql)
	if from.err != nil {
		return 0, from.err
	}
	return tag.RowsAffected(), err
}

// A remembering reader keeps the error that ended it.
type remembering struct {
	from io.Reader
	err  error
}

// Read implements io.Reader.
func (r *remembering) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

// What follows is PostgreSQL's binary form of the types of the columns, each
// after its length.

const nullLength = 0xffffffff

func appendNull(to []byte) []byte { return binary.BigEndian.AppendUint32(to, nullLength) }

func appendText(to []byte, s string) []byte {
	to = binary.BigEndian.AppendUint32(to, uint32(len(s))) //nolint:gosec // A name; the client bounds its length.
	return append(to, s...)
}

func appendInt(to []byte, n int64) []byte {
	to = binary.BigEndian.AppendUint32(to, 8)
	return binary.BigEndian.AppendUint64(to, uint64(n)) //nolint:gosec // The bits are what is sent.
}

func appendBool(to []byte, b bool) []byte {
	to = binary.BigEndian.AppendUint32(to, 1)
	if b {
		return append(to, 1)
	}
	return append(to, 0)
}

// postgresEpoch is the beginning of the year 2000, in microseconds since 1970.
const postgresEpoch = 946_684_800_000_000

func appendInstant(to []byte, t time.Time) []byte { return appendInt(to, t.UnixMicro()-postgresEpoch) }

// appendNumeric writes an exact number: digits of four decimal places each, the
// place of the first of them, a sign and how many decimals are shown.
func appendNumeric(to []byte, d decimal.Decimal) []byte {
	const (
		positive, negative = 0x0000, 0x4000
		places             = 4
	)
	var text, digits [96]byte
	decimals, exponent := d.AppendDigits(text[:0])
	scale := int(-exponent)

	// The last digit may stand for fewer than four decimals, zeros behind them.
	padding := (places - scale%places) % places
	groups := digits[:0]
	for end, width := len(decimals), places-padding; end > 0; end, width = end-width, places {
		value := uint16(0)
		for _, c := range decimals[max(0, end-width):end] {
			value = value*10 + uint16(c-'0')
		}
		if len(groups) == 0 {
			for range padding {
				value *= 10
			}
		}
		groups = binary.LittleEndian.AppendUint16(groups, value) // Turned round below.
	}
	count := len(groups) / 2
	weight := count - (scale+padding)/places - 1
	least := 0 // Zeros at the end are not sent.
	for least < count && groups[2*least] == 0 && groups[2*least+1] == 0 {
		least++
	}
	if least == count {
		weight = 0
	}

	sign := uint16(positive)
	if d.Sign() < 0 {
		sign = negative
	}
	to = binary.BigEndian.AppendUint32(to, uint32(8+2*(count-least))) //nolint:gosec // A few dozen digits at most.
	to = binary.BigEndian.AppendUint16(to, uint16(count-least))       //nolint:gosec // As above.
	to = binary.BigEndian.AppendUint16(to, uint16(weight))
	to = binary.BigEndian.AppendUint16(to, sign)
	to = binary.BigEndian.AppendUint16(to, uint16(scale)) //nolint:gosec // As above.
	for n := count - 1; n >= least; n-- {
		to = append(to, groups[2*n+1], groups[2*n])
	}
	return to
}

package postgres

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"io"

	"github.com/jackc/pgx/v5"
)

//go:embed sql/stored_allocations.sql
var storedAllocationsSQL string

// isStored says whether the rows are exactly what is stored for their hour. To
// read an hour costs the server a small part of what it costs to stage it and to
// join the two, and most replays find everything as it was.
func (b Batch) isStored(ctx context.Context, tx pgx.Tx, rows AllocationRows) (bool, error) {
	seed := maphash.MakeSeed()
	stored, err := b.storedSum(ctx, tx, seed)
	if err != nil || stored.count != rows.Count {
		return false, err
	}
	given, err := sumRows(rows.From(), seed)
	return err == nil && stored == given, err
}

// A rowSum stands for a set of rows, whatever their order: the sum of their
// hashes. Two sets that differ have one sum once in 2^64 runs, and no set can be
// made up to do so, as the hashes are seeded anew for each comparison.
type rowSum struct {
	count int64
	sum   uint64
}

func (s *rowSum) add(seed maphash.Seed, columns []byte) {
	s.count++
	s.sum += maphash.Bytes(seed, columns)
}

// storedSum reads what the server has. Its values come in the form in which
// AppendAllocation writes them: text is the same in either format.
func (b Batch) storedSum(ctx context.Context, tx pgx.Tx, seed maphash.Seed) (s rowSum, err error) {
	args := b.key()
	args["pricebook_id"] = (*int64)(nil)
	if b.Book != nil {
		args["pricebook_id"] = &b.Book.ID
	}
	rows, err := tx.Query(ctx, storedAllocationsSQL, args)
	if err != nil {
		return rowSum{}, err
	}
	defer rows.Close()

	var columns []byte
	for rows.Next() {
		columns = columns[:0]
		for _, value := range rows.RawValues() {
			if value == nil {
				columns = appendNull(columns)
				continue
			}
			columns = binary.BigEndian.AppendUint32(columns, uint32(len(value))) //nolint:gosec // A column of a row that was read.
			columns = append(columns, value...)
		}
		s.add(seed, columns)
	}
	return s, rows.Err()
}

// sumRows reads what AppendAllocation has written, and leaves out what the rows
// of a batch have in common.
func sumRows(from io.Reader, seed maphash.Seed) (s rowSum, err error) {
	in := bufio.NewReaderSize(from, 1<<16)
	var columns []byte
	for {
		var count [2]byte
		if _, err := io.ReadFull(in, count[:]); err == io.EOF {
			return s, nil
		} else if err != nil {
			return rowSum{}, err
		}

		columns = columns[:0]
		for n := range binary.BigEndian.Uint16(count[:]) {
			from := len(columns)
			if columns, err = appendColumn(columns, in); err != nil {
				return rowSum{}, fmt.Errorf("cannot read row %d again: %w", s.count+1, err)
			}
			if n < batchColumns {
				columns = columns[:from]
			}
		}
		s.add(seed, columns)
	}
}

// appendColumn reads a value with its length.
func appendColumn(to []byte, in *bufio.Reader) ([]byte, error) {
	head, err := in.Peek(4)
	if err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(head)
	size := 4
	if length != nullLength {
		size += int(length)
	}
	value, err := in.Peek(size)
	if err != nil {
		return nil, err
	}
	to = append(to, value...)
	_, err = in.Discard(size)
	return to, err
}

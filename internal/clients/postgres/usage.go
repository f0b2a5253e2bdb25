package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"iter"
	"math"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

var (
	//go:embed sql/create_usage_sources.sql
	createUsageSourcesSQL string

	//go:embed sql/create_usage_lives.sql
	createUsageLivesSQL string

	//go:embed sql/add_usage_sources.sql
	addUsageSourcesSQL string

	//go:embed sql/usage.sql
	usageSQL string
)

const (
	// withoutJITSQL keeps the server from compiling the large statements of a run,
	// which takes longer than they do.
	withoutJITSQL = "SET jit = off;"

	// withoutLoopsSQL keeps it from comparing each row of one table with each of
	// another. It has no statistics of the hours that were written last, takes them
	// for nearly empty, and then would.
	withoutLoopsSQL = "SET enable_nestloop = off;"
)

// A UsageSubject is a Subscription whose usage is asked for. Subjects are known
// by their place in the list that is staged.
type UsageSubject struct {
	VersionID   int64 // Of the mirror row that has its usage sources.
	ActiveFrom  time.Time
	ActiveTo    time.Time // Zero for a life that goes on.
	FirstWindow time.Time // The hours from FirstWindow to EndWindow, not included,
	EndWindow   time.Time // are what may be asked for.
}

// StageUsage tells the session of a connection whose usage [Usage] will ask
// for. The session serves nothing else from then on, so close the connection
// afterwards. The usage sources do not leave the database: there may be any number
// of them.
func StageUsage(ctx context.Context, db DB, clusterID string, subjects iter.Seq[UsageSubject]) error {
	if _, err := db.Exec(ctx, createUsageSourcesSQL+createUsageLivesSQL+withoutJITSQL); err != nil {
		return fmt.Errorf("cannot prepare for usage sources: %w", err)
	}

	columns := []string{"subscription", "version_id", "active_from", "active_to", "first_window", "end_window"}
	if _, err := copyRows(ctx, db, "usage_lives", columns, lifeRows(subjects)); err != nil {
		return fmt.Errorf("cannot stage the lives of metered subscriptions: %w", err)
	}
	if _, err := db.Exec(ctx, addUsageSourcesSQL, pgx.StrictNamedArgs{"cluster_id": clusterID}); err != nil {
		return fmt.Errorf("cannot stage usage sources: %w", err)
	}
	// Nobody analyzes temporary tables by himself, and the plan is worth it.
	if _, err := db.Exec(ctx, "ANALYZE usage_sources, usage_lives;"+withoutLoopsSQL); err != nil {
		return fmt.Errorf("cannot analyze the staged usage sources: %w", err)
	}
	return nil
}

func lifeRows(subjects iter.Seq[UsageSubject]) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		n := int32(0)
		for s := range subjects {
			end := int64(math.MaxInt64)
			if !s.ActiveTo.IsZero() {
				end = s.ActiveTo.Unix()
			}
			if !yield([]any{n, s.VersionID, s.ActiveFrom.Unix(), end, s.FirstWindow, s.EndWindow}, nil) {
				return
			}
			n++
		}
	}
}

// A Usage is what one subject consumed in one hour under one price book, added
// up exactly over its rows. Averages count with the billable seconds of their
// row, totals with its billable seconds too, but then to be divided by
// ShareSeconds, the length of the row; rows that are billable as a whole have
// both as one. A PricebookID of zero is that of rows without a book.
//
// Two subjects are nobody: [Claimed] has all that some subject consumed any of,
// and [Unclaimed] what none did.
type Usage struct {
	Subject      int
	Hour         time.Time
	PricebookID  int64
	ShareSeconds int64

	CoreSeconds  *big.Rat
	GPUSeconds   *big.Rat
	ByteSeconds  *big.Rat
	PVByteHours  *big.Rat
	NetworkBytes *big.Rat
}

// The subjects that stand for all rows of an hour.
const (
	Unclaimed = -2
	Claimed   = -1
)

// A UsageQuery names the hours from First to End, not included. Those of Count
// that are among them are counted, too.
type UsageQuery struct {
	ClusterID   string
	Aggregation string
	First, End  time.Time
	Count       Hours
}

type usageRow struct {
	Subscription int32
	Hour         time.Time
	PricebookID  int64
	ShareSeconds int64
	CoreSeconds  pgtype.Numeric
	GPUSeconds   pgtype.Numeric `db:"gpu_seconds"`
	ByteSeconds  pgtype.Numeric
	PVByteHours  pgtype.Numeric `db:"pv_byte_hours"`
	NetworkBytes pgtype.Numeric
}

// ReadUsage streams the usage of the staged subjects in the order of subject
// and hour, in one statement however many there are; what is counted over all
// rows comes first. The connection is busy
// until the sequence has ended.
func ReadUsage(ctx context.Context, db DB, q UsageQuery) iter.Seq2[Usage, error] {
	return func(yield func(Usage, error) bool) {
		rows, err := db.Query(ctx, usageSQL, pgx.StrictNamedArgs{
			"cluster_id": q.ClusterID, "aggregation": q.Aggregation, "first_hour": q.First, "end_hour": q.End,
			"count_first": q.Count.First, "count_end": q.Count.End,
		})
		if err != nil {
			yield(Usage{}, fmt.Errorf("cannot read usage: %w", err))
			return
		}
		defer rows.Close()

		for rows.Next() {
			row, err := pgx.RowToStructByName[usageRow](rows)
			if err != nil {
				yield(Usage{}, fmt.Errorf("cannot read usage: %w", err))
				return
			}
			if !yield(row.usage(), nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(Usage{}, fmt.Errorf("cannot read usage: %w", err))
		}
	}
}

func (r usageRow) usage() Usage {
	return Usage{
		Subject:      int(r.Subscription),
		Hour:         r.Hour,
		PricebookID:  r.PricebookID,
		ShareSeconds: r.ShareSeconds,
		CoreSeconds:  exact(r.CoreSeconds),
		GPUSeconds:   exact(r.GPUSeconds),
		ByteSeconds:  exact(r.ByteSeconds),
		PVByteHours:  exact(r.PVByteHours),
		NetworkBytes: exact(r.NetworkBytes),
	}
}

// exact turns a finite NUMERIC into a rational. The tables let no other in.
func exact(n pgtype.Numeric) *big.Rat {
	value := new(big.Rat)
	if n.Int == nil || n.Int.Sign() == 0 {
		return value
	}
	power := tenTo(max(n.Exp, -n.Exp))
	if n.Exp >= 0 {
		return value.SetInt(new(big.Int).Mul(power, n.Int))
	}
	return value.SetFrac(n.Int, power)
}

// powersOfTen are those that nearly all numbers need.
var powersOfTen = func() (powers [32]*big.Int) {
	for n := range powers {
		powers[n] = new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
	}
	return powers
}()

// tenTo is a power of ten, to be read only.
func tenTo(n int32) *big.Int {
	if int(n) < len(powersOfTen) {
		return powersOfTen[n]
	}
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

// copyRows feeds a COPY from a sequence, which ends with its first error.
func copyRows(ctx context.Context, db DB, table string, columns []string, rows iter.Seq2[[]any, error]) (int64, error) {
	next, stop := iter.Pull2(rows)
	defer stop() // Whatever ends the COPY ends the sequence, too.
	return db.CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromFunc(func() ([]any, error) {
		row, err, _ := next()
		return row, err
	}))
}

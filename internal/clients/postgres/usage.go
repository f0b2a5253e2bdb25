package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"iter"
	"math"
	"math/big"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

var (
	//go:embed sql/create_usage_sources.sql
	createUsageSourcesSQL string

	//go:embed sql/create_usage_lives.sql
	createUsageLivesSQL string

	//go:embed sql/usage.sql
	usageSQL string
)

// withoutJITSQL keeps the server from compiling the large statements of a run,
// which takes longer than they do.
const withoutJITSQL = "SET jit = off;"

// A UsageSource selects allocation rows for a Subscription. Empty fields are
// not set; a source of which nothing is set selects everything, so it has to be
// left out.
type UsageSource struct {
	Kind      string
	Name      string
	Namespace string
}

// A UsageSubject is a Subscription whose usage is asked for. Subjects are known
// by their place in the list that is staged.
type UsageSubject struct {
	Sources     []UsageSource
	ActiveFrom  time.Time
	ActiveTo    time.Time // Zero for a life that goes on.
	FirstWindow time.Time // The hours from FirstWindow to EndWindow, not included,
	EndWindow   time.Time // are what may be asked for.
}

// StageUsage tells the session of a connection whose usage [Usage] will ask
// for. Call it once per session, for a usage that is to be read on it.
func StageUsage(ctx context.Context, db DB, subjects iter.Seq[UsageSubject]) error {
	if _, err := db.Exec(ctx, createUsageSourcesSQL+createUsageLivesSQL+withoutJITSQL); err != nil {
		return fmt.Errorf("cannot prepare for usage sources: %w", err)
	}

	columns := []string{"subscription", "first_window", "end_window", "namespace", "kind", "controller", "pod"}
	if _, err := copyRows(ctx, db, "usage_sources", columns, sourceRows(subjects)); err != nil {
		return fmt.Errorf("cannot stage usage sources: %w", err)
	}
	columns = []string{"subscription", "active_from", "active_to"}
	if _, err := copyRows(ctx, db, "usage_lives", columns, lifeRows(subjects)); err != nil {
		return fmt.Errorf("cannot stage the lives of metered subscriptions: %w", err)
	}
	// Nobody analyzes temporary tables by himself, and the plan is worth it.
	if _, err := db.Exec(ctx, "ANALYZE usage_sources, usage_lives"); err != nil {
		return fmt.Errorf("cannot analyze the staged usage sources: %w", err)
	}
	return nil
}

func sourceRows(subjects iter.Seq[UsageSubject]) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		n := int32(0)
		for subject := range subjects {
			for _, s := range subject.Sources {
				if strings.Contains(s.Kind+s.Namespace+s.Name, "\x00") {
					continue // No text of the database holds one, so it selects nothing.
				}
				row := []any{n, subject.FirstWindow, subject.EndWindow, absent(s.Namespace), absent(strings.ToLower(s.Kind)), absent(s.Name), nil}
				if s.Kind == "Pod" {
					// The name is that of a pod, and the kind says nothing else.
					row[4], row[5], row[6] = nil, nil, absent(s.Name)
				}
				if !yield(row, nil) {
					return
				}
			}
			n++
		}
	}
}

func lifeRows(subjects iter.Seq[UsageSubject]) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		n := int32(0)
		for subject := range subjects {
			end := int64(math.MaxInt64)
			if !subject.ActiveTo.IsZero() {
				end = subject.ActiveTo.Unix()
			}
			if !yield([]any{n, subject.ActiveFrom.Unix(), end}, nil) {
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

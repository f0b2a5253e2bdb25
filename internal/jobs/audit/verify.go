package audit

import (
	"context"
	"fmt"
	"io"
	"iter"
	"math/big"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/charge"
	"github.com/provider-finops/provider-finops/internal/finops/hour"
	"github.com/provider-finops/provider-finops/internal/jobs/inputs"
)

// batchHours is how many hours are computed again at a time.
const batchHours = 24

// maxShown is how many differences are written out; all are counted.
const maxShown = 100

// A Result is what was verified.
type Result struct {
	Subscriptions int
	Rows          int64 // Final rows that were compared.
	Differences   int64

	// Amount is the sum of the rows as they were computed again, in micros of
	// whatever currencies.
	Amount *big.Int
}

// A Request says which final charges are verified.
type Request struct {
	From, To time.Time // To is not included. Zero means the first, or all.
	UID      string    // Of one Subscription; empty means everybody.
}

// verification is one comparison of what is stored with what is computed.
type verification struct {
	Settings

	pool         *pgxpool.Pool
	reader, rows *pgxpool.Conn
	books        charge.Books
	tenures      []*tenure
	out          *printer
	result       Result
}

// Verify computes final charges again and writes every difference, one a line. The
// error says that it could not look, not that something differs. What a charge run
// makes final in the meantime is passed over: no snapshot is held, which would
// keep the tables from being cared for.
func Verify(ctx context.Context, s Settings, q Request, out io.Writer) (Result, error) {
	pool, err := open(ctx, s)
	if err != nil {
		return Result{}, err
	}
	defer pool.Close()

	if err := known(ctx, pool, s.ClusterID, q.UID); err != nil {
		return Result{}, err
	}
	v := &verification{Settings: s, pool: pool, out: &printer{out: out}, result: Result{Amount: new(big.Int)}}
	hours, some, err := v.span(ctx, pool, q)
	if err != nil || !some {
		return v.result, err
	}
	recorded, err := postgres.RecordedBooks(ctx, pool, s.ClusterID)
	if err != nil {
		return v.result, err
	}
	v.books = inputs.Books(recorded)
	if v.tenures, err = tenures(ctx, pool, s.ClusterID, q.UID, hours); err != nil {
		return v.result, err
	}
	v.count()

	if v.reader, err = pool.Acquire(ctx); err != nil {
		return v.result, fmt.Errorf("cannot connect to read usage: %w", err)
	}
	defer v.reader.Release()
	if v.rows, err = pool.Acquire(ctx); err != nil {
		return v.result, fmt.Errorf("cannot connect to read charges: %w", err)
	}
	defer v.rows.Release()
	if err := postgres.StageUsage(ctx, v.reader, v.ClusterID, v.usageSubjects()); err != nil {
		return v.result, err
	}

	for first := hours.First; first.Before(hours.End); first = first.Add(batchHours * hour.Length) {
		if first, err = v.skip(ctx, q.UID, first); err != nil || first.IsZero() || !first.Before(hours.End) {
			break
		}
		if err = v.batch(ctx, q.UID, postgres.Hours{First: first, End: earliest(first.Add(batchHours*hour.Length), hours.End)}); err != nil {
			break
		}
	}
	if err != nil {
		return v.result, err
	}
	return v.result, v.out.err
}

// known fails for a cluster that nobody has heard of, and for a uid that neither a
// version nor a final row has: to find no difference in nobody's charges would say
// that all is well.
func known(ctx context.Context, db postgres.DB, clusterID, uid string) error {
	if uid == "" {
		return postgres.KnownCluster(ctx, db, clusterID)
	}
	_, unknown := recorded(ctx, db, clusterID, uid)
	if unknown == nil || uuid.Validate(uid) != nil {
		return unknown
	}
	charged, err := postgres.AuditSubjects(ctx, db, clusterID, uid)
	if err == nil && len(charged) == 0 {
		err = unknown
	}
	return err
}

// open connects without touching the schema: an audit is no upgrade.
func open(ctx context.Context, s Settings) (*pgxpool.Pool, error) {
	s.Database.AtLeastConns = 3 // Two streams, and a question now and then.
	return postgres.NewPool(ctx, s.Database)
}

// span is what is asked for, cut to the hours that hold a final row.
func (v *verification) span(ctx context.Context, db postgres.DB, q Request) (postgres.Hours, bool, error) {
	span, some, err := postgres.FinalSpan(ctx, db, v.ClusterID)
	if !some || err != nil {
		return span, false, err
	}
	if from := hour.Of(q.From); !q.From.IsZero() && span.First.Before(from) {
		span.First = from
	}
	if !q.To.IsZero() && q.To.Before(span.End) {
		span.End = q.To
	}
	return span, span.First.Before(span.End), nil
}

// skip returns the next hour in which there is something to compare, the zero
// time if there is none. No watermark vouches for the hours after all of them,
// and the few rows that were closed out there may lie centuries ahead.
func (v *verification) skip(ctx context.Context, uid string, from time.Time) (time.Time, error) {
	for _, t := range v.tenures {
		if from.Before(t.settled) {
			return from, nil
		}
	}
	next, _, err := postgres.NextFinal(ctx, v.rows, v.ClusterID, uid, from)
	return next, err
}

func (v *verification) count() {
	last := ""
	for _, t := range v.tenures {
		if t.uid != last {
			v.result.Subscriptions++
			last = t.uid
		}
	}
}

func (v *verification) usageSubjects() iter.Seq[postgres.UsageSubject] {
	return func(yield func(postgres.UsageSubject) bool) {
		for _, t := range v.tenures {
			if t.usage < 0 {
				continue
			}
			u := postgres.UsageSubject{
				VersionID: t.versionID, ActiveFrom: t.life.ActivatedAt, ActiveTo: t.life.DeactivatedAt, FirstWindow: t.first, EndWindow: t.end,
			}
			if !yield(u) {
				return
			}
		}
	}
}

// batch compares some hours of everybody. Rows and usage arrive in the order in
// which they are asked for, so that hardly any of them are held.
func (v *verification) batch(ctx context.Context, uid string, hours postgres.Hours) error {
	usage := inputs.OpenUsage(ctx, v.reader, postgres.UsageQuery{
		ClusterID: v.ClusterID, Aggregation: v.Aggregation, First: hours.First, End: hours.End,
	}, nil)
	defer usage.Close()
	stored := openCharges(ctx, v.rows, postgres.ChargeQuery{ClusterID: v.ClusterID, UID: uid, Hours: hours, OnlyFinal: true})
	defer stored.stop()

	for _, t := range v.tenures {
		windows := t.windows(hours)
		for window := latest(t.first, hours.First); window.Before(earliest(t.end, hours.End)); window = window.Add(hour.Length) {
			if err := v.look(ctx, t, window, windows, usage, stored.take(t.uid, window)); err != nil {
				return err
			}
		}
		if usage.Err() != nil || stored.err != nil {
			break
		}
	}
	if err := usage.Err(); err != nil {
		return err
	}
	return stored.err
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

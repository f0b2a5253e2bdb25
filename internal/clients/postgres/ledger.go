package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-finops/provider-finops/internal/finops/collection"
)

var (
	//go:embed sql/read_ledger.sql
	readLedgerSQL string

	//go:embed sql/ledger_span.sql
	ledgerSpanSQL string

	//go:embed sql/record_hour.sql
	recordHourSQL string

	//go:embed sql/finalize_stragglers.sql
	finalizeStragglersSQL string

	//go:embed sql/settle_lost_hours.sql
	settleLostHoursSQL string

	//go:embed sql/late_changes.sql
	lateChangesSQL string

	//go:embed sql/summary_is_behind.sql
	summaryIsBehindSQL string
)

// CollectionEvidence returns what is known about the collection of a scope: its
// ledger with the hours from first to last, both included, and what is stored.
// Whether anybody collects is for the caller to add.
func CollectionEvidence(ctx context.Context, db DB, s Scope, first, last time.Time) (collection.Evidence, error) {
	ev, err := s.evidence(ctx, db, first, last)
	if err != nil {
		return collection.Evidence{}, fmt.Errorf("cannot read the ledger of cluster %q: %w", s.ClusterID, err)
	}
	return ev, nil
}

func (s Scope) evidence(ctx context.Context, db DB, first, last time.Time) (collection.Evidence, error) {
	rows, err := db.Query(ctx, ledgerSpanSQL, pgx.StrictNamedArgs{"cluster_id": s.ClusterID, "aggregation": s.Aggregation})
	if err != nil {
		return collection.Evidence{}, err
	}
	span, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[struct {
		First         *time.Time
		LastCollected *time.Time
		EarliestOpen  *time.Time
		Measured      bool
	}])
	if err != nil {
		return collection.Evidence{}, err
	}

	rows, err = db.Query(ctx, readLedgerSQL, pgx.StrictNamedArgs{
		"cluster_id": s.ClusterID, "aggregation": s.Aggregation, "first_hour": first, "last_hour": last,
	})
	if err != nil {
		return collection.Evidence{}, err
	}
	entries, err := pgx.CollectRows(rows, pgx.RowToStructByName[collection.Entry])
	if err != nil {
		return collection.Evidence{}, err
	}
	for i := range entries {
		entries[i].Hour = entries[i].Hour.UTC()
	}

	return collection.Evidence{
		Measured:     span.Measured,
		EarliestOpen: orZero(span.EarliestOpen),
		Ledger: collection.Ledger{
			First:         orZero(span.First),
			LastCollected: orZero(span.LastCollected),
			Entries:       entries,
		},
	}, nil
}

func orZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// An HourRecord is what a run writes into the ledger about one hour.
type HourRecord struct {
	Hour  time.Time
	State collection.State
	Late  int64 // How many rows of the answer came too late; see collection.Late.
	Err   error // Why the fetch failed, if it did.
}

// RecordHour writes what became of an hour into the ledger, unless the ledger
// says so already.
func RecordHour(ctx context.Context, db DB, s Scope, r HourRecord, at time.Time) error {
	var failures int
	var lastError *string
	if r.Err != nil {
		text := printable(r.Err.Error())
		failures, lastError = 1, &text
	}

	_, err := db.Exec(ctx, recordHourSQL, pgx.StrictNamedArgs{
		"cluster_id": s.ClusterID, "aggregation": s.Aggregation, "hour": r.Hour, "state": string(r.State),
		"failures": failures, "last_error": lastError, "late_changes": r.Late, "updated_at": at,
	})
	if err != nil {
		return fmt.Errorf("cannot record hour %q as %s: %w", r.Hour.UTC().Format(time.RFC3339), r.State, err)
	}
	return nil
}

// LateChanges returns how many rows of all hours were answered otherwise once they
// were final.
func LateChanges(ctx context.Context, db DB, s Scope) (int64, error) {
	rows, err := db.Query(ctx, lateChangesSQL, pgx.StrictNamedArgs{"cluster_id": s.ClusterID, "aggregation": s.Aggregation})
	if err != nil {
		return 0, fmt.Errorf("cannot count the late changes of cluster %q: %w", s.ClusterID, err)
	}
	n, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[int64])
	if err != nil {
		return 0, fmt.Errorf("cannot count the late changes of cluster %q: %w", s.ClusterID, err)
	}
	return n, nil
}

// printable is text that the database accepts, of a length that a person reads.
func printable(text string) string {
	const limit = 2000
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "…"
	}
	return text
}

// A Settlement says which hours a run may finalize as they are.
type Settlement struct {
	Pinned time.Time   // Hours before this one.
	Oldest time.Time   // Hours before this one are not fetched again.
	Spared []time.Time // These not, whatever their age.
}

// FinalizeStragglers makes final what earlier runs have left open, and returns
// how many rows that were.
func FinalizeStragglers(ctx context.Context, db DB, s Scope, t Settlement, at time.Time) (int64, error) {
	rows, err := db.Query(ctx, finalizeStragglersSQL, pgx.StrictNamedArgs{
		"cluster_id": s.ClusterID, "aggregation": s.Aggregation, "pinned": t.Pinned, "oldest": t.Oldest,
		"spared": append([]time.Time{}, t.Spared...), "updated_at": at,
	})
	if err != nil {
		return 0, fmt.Errorf("cannot finalize the stragglers before hour %q: %w", t.Pinned.UTC().Format(time.RFC3339), err)
	}
	n, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[int64])
	if err != nil {
		return 0, fmt.Errorf("cannot finalize the stragglers before hour %q: %w", t.Pinned.UTC().Format(time.RFC3339), err)
	}
	return n, nil
}

// SettleLostHours settles the hours that are too old to be fetched again, and
// returns those that were never fetched and are given up by this call.
func SettleLostHours(ctx context.Context, db DB, s Scope, oldest, at time.Time) ([]time.Time, error) {
	rows, err := db.Query(ctx, settleLostHoursSQL, pgx.StrictNamedArgs{
		"cluster_id": s.ClusterID, "aggregation": s.Aggregation, "oldest": oldest, "updated_at": at,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot settle the hours before %q: %w", oldest.UTC().Format(time.RFC3339), err)
	}
	given, err := pgx.CollectRows(rows, pgx.RowTo[time.Time])
	if err != nil {
		return nil, fmt.Errorf("cannot settle the hours before %q: %w", oldest.UTC().Format(time.RFC3339), err)
	}
	return given, nil
}

// SummaryIsBehind says whether the summary view differs from the roll-up in the
// days from first to last.
func SummaryIsBehind(ctx context.Context, db DB, s Scope, first, last time.Time) (bool, error) {
	behind, err := exists(ctx, db, summaryIsBehindSQL, pgx.StrictNamedArgs{
		"cluster_id": s.ClusterID, "aggregation": s.Aggregation, "first_day": first.UTC(), "last_day": last.UTC(),
	})
	if err != nil {
		return false, fmt.Errorf("cannot compare the summary of the allocations: %w", err)
	}
	return behind, nil
}

// RefreshSummary brings the summary view up to date. Readers go on meanwhile.
func RefreshSummary(ctx context.Context, db DB) error {
	if _, err := db.Exec(ctx, "REFRESH MATERIALIZED VIEW CONCURRENTLY mv_provider_allocations_summary"); err != nil {
		return fmt.Errorf("cannot refresh the summary of the allocations: %w", err)
	}
	return nil
}

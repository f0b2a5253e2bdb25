// Package retention drops what is older than an installation wants to keep
// (BETTER-DB-2). It is off unless it is asked for: nothing is ever dropped by
// default. It follows a charge run, and knows nothing of it.
//
// Only whole months go, and only what nobody can need any more; which those are
// is decided in the database, in the statement that drops them.
package retention

import (
	"context"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/jackc/pgx/v5/pgxpool"
	"k8s.io/utils/clock"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/jobs/environment"
)

// leastDays keeps what is summed up for the current month.
const leastDays = 31

// Settings say for how many days what is kept; zero is for ever.
type Settings struct {
	ClusterID      string
	AllocationDays int // ALLOCATION_RETENTION_DAYS.
	ChargeDays     int // CHARGE_RETENTION_DAYS.
}

// FromEnvironment reads the variables of a charge pod. The error names every one
// that cannot be used.
func FromEnvironment(getenv func(string) string) (Settings, error) {
	v := environment.Of(getenv)
	s := Settings{
		ClusterID:      v.ClusterID(),
		AllocationDays: int(v.Whole("ALLOCATION_RETENTION_DAYS", "days", leastDays, 0)),
		ChargeDays:     int(v.Whole("CHARGE_RETENTION_DAYS", "days", leastDays, 0)),
	}
	return s, v.Err()
}

// Wanted says whether anything is ever dropped.
func (s Settings) Wanted() bool { return s.AllocationDays > 0 || s.ChargeDays > 0 }

// Run drops what is too old. Allocations go first: charges refer to their hours.
// They go only if the charge run before has settled everybody: whose charges are
// held back, or could not be computed, may have no row yet that would keep the
// month they are to be computed from.
func Run(ctx context.Context, s Settings, settled bool, c clock.PassiveClock, log logr.Logger, pool *pgxpool.Pool) error {
	now := c.Now().UTC()
	if !settled && s.AllocationDays > 0 {
		log.Info("Keeping all months of allocations: the run has not settled everybody, and what is left is charged from them")
		s.AllocationDays = 0
	}
	for _, kept := range []struct {
		table postgres.MonthlyTable
		days  int
	}{
		{postgres.AllocationMonths, s.AllocationDays},
		{postgres.ChargeMonths, s.ChargeDays},
	} {
		if kept.days == 0 {
			continue
		}
		dropped, err := postgres.DropMonths(ctx, pool, kept.table, s.ClusterID, kept.days, now)
		if err != nil {
			return err
		}
		if len(dropped) > 0 {
			log.Info("Dropped months that nobody keeps", "table", string(kept.table), "months", strings.Join(dropped, " "),
				"olderThan", now.Add(-time.Duration(kept.days)*24*time.Hour).Format(time.DateOnly))
		}
	}
	return nil
}

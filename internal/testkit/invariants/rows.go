package invariants

import (
	"context"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/internal/jobs/audit"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// rows looks at what the database alone can tell.
func (w World) rows(ctx context.Context) ([]string, error) {
	var all []string
	for _, sql := range []string{singleSQL, guardedSQL, withinLifeSQL, gapsSQL, mirroredLivesSQL} {
		found, err := w.texts(ctx, sql, w.Cluster)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

const (
	singleSQL = `
SELECT concat_ws(' ', 'I1:', subscription_uid, window_start, charge_source, 'has', count(*), 'rows, the least of', min(amount_micros))
  FROM subscription_charges
 WHERE cluster_id = $1
 GROUP BY subscription_uid, window_start, charge_source
HAVING count(*) > 1 OR min(amount_micros) < 0
 ORDER BY 1`

	// A trigger that is disabled anywhere lets history be changed there.
	guardedSQL = `
SELECT 'I2: nothing guards the final rows of ' || c.relname
  FROM pg_class AS c
 WHERE $1::text <> ''
   AND c.oid IN (SELECT relid FROM pg_partition_tree('subscription_charges'))
   AND NOT EXISTS (SELECT FROM pg_trigger AS t
                    WHERE t.tgrelid = c.oid AND t.tgname = 'finalized_charge_is_history' AND t.tgenabled = 'A')
 ORDER BY 1`

	// The closing tick of a fee may lie ahead of the end; how far and how much is
	// computed again (I3). Usage ends with the life.
	withinLifeSQL = `
SELECT DISTINCT concat_ws(' ', 'I4:', v.namespace || '/' || v.name, 'lives from', v.activated_at, 'to', v.deactivated_at,
       'and has a row of', c.amount_micros, 'for', c.charge_source, 'at', c.window_start)
  FROM subscription_charges AS c
  JOIN (SELECT DISTINCT ON (uid) * FROM subscriptions WHERE cluster_id = $1 ORDER BY uid, id DESC) AS v ON v.uid = c.subscription_uid
 WHERE c.cluster_id = $1
   AND (v.activated_at IS NULL
        OR c.window_start < date_trunc('hour', v.activated_at, 'UTC')
        OR c.charge_source <> 'subscription' AND c.window_start >= v.deactivated_at)
 ORDER BY 1`

	// Every hour that the watermark vouches for has its fee, if there is one.
	gapsSQL = `
SELECT concat_ws(' ', 'I4:', v.namespace || '/' || v.name, 'has no final fee for', h)
  FROM subscription_watermarks AS w
  JOIN (SELECT DISTINCT ON (uid) * FROM subscriptions WHERE cluster_id = $1 ORDER BY uid, id DESC) AS v ON v.uid = w.subscription_uid
 CROSS JOIN LATERAL generate_series(date_trunc('hour', v.activated_at, 'UTC'),
                                    least(w.finalized_through, v.deactivated_at - interval '1 microsecond'), interval '1 hour') AS h
 WHERE w.cluster_id = $1
   AND EXISTS (SELECT FROM subscription_charges AS c
                WHERE c.cluster_id = $1 AND c.subscription_uid = w.subscription_uid AND c.charge_source = 'subscription')
   AND NOT EXISTS (SELECT FROM subscription_charges AS c
                    WHERE c.cluster_id = $1 AND c.subscription_uid = w.subscription_uid AND c.charge_source = 'subscription'
                      AND c.window_start = h AND c.finalized)
 ORDER BY 1`

	// What one version tells of a life, no later one tells otherwise.
	mirroredLivesSQL = `
SELECT DISTINCT concat_ws(' ', 'I5:', later.namespace || '/' || later.name, 'lived from', earlier.activated_at, 'to', earlier.deactivated_at,
       'and then from', later.activated_at, 'to', later.deactivated_at)
  FROM subscriptions AS earlier
  JOIN subscriptions AS later ON later.cluster_id = $1 AND later.uid = earlier.uid AND later.id >= earlier.id
 WHERE earlier.cluster_id = $1
   AND (earlier.activated_at IS DISTINCT FROM later.activated_at AND earlier.activated_at IS NOT NULL
        OR earlier.deactivated_at IS DISTINCT FROM later.deactivated_at AND earlier.deactivated_at IS NOT NULL
        OR later.deactivated_at < later.activated_at)
 ORDER BY 1`
)

// A Past is what was final at some moment, by what it is about.
type Past map[string]string

// Remember notes what is final now, so that a later look can tell whether it has
// changed (I2).
func Remember(t testing.TB, w World) Past {
	t.Helper()
	past, err := w.final(t.Context())
	if err != nil {
		t.Fatalf("cannot remember what is final: %v", err)
	}
	return past
}

func (w World) final(ctx context.Context) (Past, error) {
	rows, err := w.DB.Query(ctx, `
SELECT concat_ws(' ', subscription_uid, window_start, charge_source), to_jsonb(c)::text
  FROM subscription_charges AS c
 WHERE cluster_id = $1 AND finalized`, w.Cluster)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	past := Past{}
	for rows.Next() {
		var about, row string
		if err := rows.Scan(&about, &row); err != nil {
			return nil, err
		}
		past[about] = row
	}
	return past, rows.Err()
}

func (w World) past(ctx context.Context) ([]string, error) {
	if len(w.Before) == 0 {
		return nil, nil
	}
	now, err := w.final(ctx)
	if err != nil {
		return nil, err
	}
	var found []string
	for about, row := range w.Before {
		if now[about] != row {
			found = append(found, fmt.Sprintf("I2: the final row %s was %s and is %s", about, row, now[about]))
		}
	}
	return found, nil
}

// recomputed has everything final computed again from what is stored.
func (w World) recomputed(ctx context.Context) ([]string, error) {
	settings := audit.Settings{ClusterID: w.Cluster, Aggregation: w.Aggregation}
	settings.Database.DSN = w.DB.Config().ConnString()
	var out strings.Builder
	result, err := audit.Verify(ctx, settings, audit.Request{}, &out)
	if err != nil {
		return nil, err
	}
	var found []string
	if result.Differences > 0 {
		found = append(found, fmt.Sprintf("I3: verify finds %d differences in %d rows:\n%s", result.Differences, result.Rows, &out))
	}

	var rows int64
	var sum string
	err = w.DB.QueryRow(ctx, `SELECT count(*), coalesce(sum(amount_micros), 0)::text FROM subscription_charges
		 WHERE cluster_id = $1 AND finalized`, w.Cluster).Scan(&rows, &sum)
	if err != nil {
		return nil, err
	}
	stored, _ := new(big.Int).SetString(sum, 10)
	if result.Rows != rows || result.Amount.Cmp(stored) != 0 {
		found = append(found, fmt.Sprintf("I3: verify speaks of %d rows and %s micros, the table holds %d and %s", result.Rows, result.Amount, rows, sum))
	}
	return found, nil
}

// replay does the last run again. The server counts what is written, also what is
// written as it was.
func (w World) replay(t testing.TB) []string {
	t.Helper()
	before := pgtest.Changes(t, w.DB)
	if err := w.Replay(); err != nil {
		return []string{fmt.Sprintf("I8: the last run again: %v", err)}
	}
	if diff := cmp.Diff(before, pgtest.Changes(t, w.DB)); diff != "" {
		return []string{"I8: rows that the same run has written again: -before, +after:\n" + diff}
	}
	return nil
}

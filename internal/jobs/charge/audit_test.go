package charge_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/provider-finops/provider-finops/internal/jobs/audit"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// verified computes everything final again and wants it as it stands.
func verified(t *testing.T, db pgtest.DB, cluster string) {
	t.Helper()
	var out strings.Builder
	result, err := audit.Verify(t.Context(), auditSettings(db, cluster), audit.Request{}, &out)
	if err != nil {
		t.Fatal(err)
	}
	if result.Differences > 0 {
		t.Errorf("verify: %d differences in %d rows:\n%s", result.Differences, result.Rows, &out)
	}

	var rows int64
	var sum string
	if err := db.Pool.QueryRow(t.Context(), `SELECT count(*), coalesce(sum(amount_micros), 0)::text FROM subscription_charges
		 WHERE cluster_id = $1 AND finalized`, cluster).Scan(&rows, &sum); err != nil {
		t.Fatal(err)
	}
	stored, _ := new(big.Int).SetString(sum, 10)
	if result.Rows != rows || result.Amount.Cmp(stored) != 0 {
		t.Errorf("verify speaks of %d rows and %s micros, the table holds %d and %s", result.Rows, result.Amount, rows, sum)
	}
}

func auditSettings(db pgtest.DB, cluster string) audit.Settings {
	s := audit.Settings{ClusterID: cluster, Aggregation: aggregation}
	s.Database.DSN = db.DSN
	return s
}

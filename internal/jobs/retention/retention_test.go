package retention

import (
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

func TestFromEnvironment(t *testing.T) {
	cases := map[string]struct {
		reason string
		env    map[string]string
		want   Settings
		err    string
	}{
		"Unset":    {reason: "Nothing is ever dropped by default.", want: Settings{ClusterID: "default"}},
		"Both":     {reason: "Each table has a limit of its own.", env: map[string]string{"CLUSTER_ID": "blue", "ALLOCATION_RETENTION_DAYS": "90", "CHARGE_RETENTION_DAYS": "3650"}, want: Settings{ClusterID: "blue", AllocationDays: 90, ChargeDays: 3650}},
		"TooShort": {reason: "The current month is summed up from what is stored.", env: map[string]string{"CHARGE_RETENTION_DAYS": "30"}, err: `environment variable CHARGE_RETENTION_DAYS must be a number of days of at least 31, not "30"`},
		"Words":    {reason: "What is no number must not mean for ever, nor nothing.", env: map[string]string{"ALLOCATION_RETENTION_DAYS": "90d"}, err: `environment variable ALLOCATION_RETENTION_DAYS must be a number of days of at least 31, not "90d"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := FromEnvironment(func(name string) string { return tc.env[name] })
			if tc.err != "" {
				if err == nil || err.Error() != tc.err {
					t.Errorf("%s\ngot error %v, want %s", tc.reason, err, tc.err)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%s\n%v\n-want, +got:\n%s", tc.reason, err, diff)
			}
		})
	}
}

// TestRun goes by business time and not by the server's: a year from now all
// months that exist are old, and only the tables that have a limit lose them.
func TestRun(t *testing.T) {
	db := pgtest.Database(t)
	later := clocktesting.NewFakePassiveClock(time.Now().AddDate(1, 0, 0)) //nolint:forbidigo // The migrations make months by the server's clock.
	months := func() string {
		t.Helper()
		rows, err := db.Pool.Query(t.Context(), "SELECT inhparent::regclass::text FROM pg_inherits WHERE inhparent IN ('provider_allocations'::regclass, 'subscription_charges'::regclass) GROUP BY 1 ORDER BY 1")
		if err != nil {
			t.Fatal(err)
		}
		tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(tables, " ")
	}

	for _, step := range []struct {
		reason   string
		settings Settings
		settled  bool
		want     string
	}{
		{"Without a limit everything stays.", Settings{ClusterID: "default"}, true, "provider_allocations subscription_charges"},
		{"Nothing is that old.", Settings{ClusterID: "default", ChargeDays: 3650}, true, "provider_allocations subscription_charges"},
		{"Somebody is still to be charged.", Settings{ClusterID: "default", AllocationDays: 31}, false, "provider_allocations subscription_charges"},
		{"The months of the allocations go.", Settings{ClusterID: "default", AllocationDays: 31}, true, "subscription_charges"},
	} {
		if err := Run(t.Context(), step.settings, step.settled, later, testr.New(t), db.Pool); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, months()); diff != "" {
			t.Errorf("%s\ntables with months: -want, +got:\n%s", step.reason, diff)
		}
	}
}

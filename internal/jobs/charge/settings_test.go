package charge

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/collection"
	"github.com/provider-finops/provider-finops/internal/finops/hour"
)

// TestFromEnvironment holds the variables of the specification, 50.3, and their
// compiled-in fallbacks.
func TestFromEnvironment(t *testing.T) {
	defaults := func(change func(*Settings)) Settings {
		s := Settings{
			Database:                   postgres.Config{DSN: "postgres://db", Application: application, Owner: postgres.Owner{ClusterID: "default"}},
			ClusterID:                  "default",
			Aggregation:                "namespace,pod,container",
			Limits:                     collection.Limits{LookbackHours: 2, BackfillHours: 72, ConfirmAfter: 3 * time.Hour},
			MaxAmount:                  1_000_000_000_000_000,
			DatabaseInitTimeout:        2 * time.Minute,
			KubernetesOperationTimeout: time.Minute,
			StatusUpdateTimeout:        time.Minute,
		}
		change(&s)
		return s
	}
	cases := map[string]struct {
		reason string
		env    map[string]string
		want   Settings
		err    string
	}{
		"Least": {
			reason: "The connection string is all that is required.",
			env:    map[string]string{"POSTGRES_CONNECTION_STRING": "postgres://db"},
			want:   defaults(func(*Settings) {}),
		},
		"Everything": {
			reason: "A pod of a CronJob says all of it.",
			env: map[string]string{
				"POSTGRES_CONNECTION_STRING": "postgres://db", "FINOPS_DB_SCHEMA": "finops", "FINOPS_MIGRATION_DIR": "/m", "CLUSTER_ID": "east",
				"COSTJOB_NAME": "charges", "COSTJOB_NAMESPACE": "finops", "SCHEDULED_TIMESTAMP": "2026-04-01T13:00:00Z",
				"JOB_NAME": "charges-cronjob-29584140", "OPENCOST_AGGREGATE": "pod, namespace", "HOURS_LOOKBACK": "5",
				"MAX_BACKFILL_HOURS": "24", "SETTLE_DELAY": "10m", "EMPTY_CONFIRM_AFTER": "1h", "MAX_CHARGE_MICROS": "7", "CLUSTER_IDENTITY": "e1f2",
				"DATABASE_INIT_TIMEOUT": "3m", "K8S_OPERATION_TIMEOUT": "4s", "STATUS_UPDATE_TIMEOUT": "5s",
			},
			want: Settings{
				Database:                   postgres.Config{DSN: "postgres://db", Schema: "finops", MigrationDir: "/m", Application: application, Owner: postgres.Owner{ClusterID: "east", Identity: "e1f2"}},
				ClusterID:                  "east",
				CostJob:                    types.NamespacedName{Namespace: "finops", Name: "charges"},
				Hint:                       hour.Hint{Scheduled: "2026-04-01T13:00:00Z", Job: "charges-cronjob-29584140", CronJob: "charges-cronjob"},
				Aggregation:                "namespace,pod",
				Limits:                     collection.Limits{LookbackHours: 5, BackfillHours: 24, SettleDelay: 10 * time.Minute, ConfirmAfter: time.Hour},
				MaxAmount:                  7,
				DatabaseInitTimeout:        3 * time.Minute,
				KubernetesOperationTimeout: 4 * time.Second,
				StatusUpdateTimeout:        5 * time.Second,
			},
		},
		"UnreadableTimeout": {
			reason: "A timeout that cannot be read is noted and does not fail the run.",
			env:    map[string]string{"POSTGRES_CONNECTION_STRING": "postgres://db", "DATABASE_INIT_TIMEOUT": "soon"},
			want: defaults(func(s *Settings) {
				s.Notes = []string{`DATABASE_INIT_TIMEOUT is "soon", which is no duration to wait for; using 2m0s`}
			}),
		},
		"NoDatabase": {
			reason: "Without a database there is nothing to do.",
			env:    map[string]string{},
			err:    "environment variable POSTGRES_CONNECTION_STRING must be set",
		},
		"Wrong": {
			reason: "What cannot be used is named, and all of it at once.",
			env: map[string]string{
				"POSTGRES_CONNECTION_STRING": "postgres://user:secret-word@db", "HOURS_LOOKBACK": "-1", "SETTLE_DELAY": "x",
				"OPENCOST_AGGREGATE": "planet", "MAX_CHARGE_MICROS": "1e15",
			},
			err: "HOURS_LOOKBACK SETTLE_DELAY OPENCOST_AGGREGATE MAX_CHARGE_MICROS",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := FromEnvironment(func(name string) string { return tc.env[name] })
			if tc.err != "" {
				if err == nil {
					t.Fatalf("%s\nFromEnvironment: want an error with %q, got none", tc.reason, tc.err)
				}
				words := strings.Fields(tc.err)
				if strings.HasPrefix(tc.err, "environment") {
					words = []string{tc.err}
				}
				for _, word := range words {
					if !strings.Contains(err.Error(), word) {
						t.Errorf("%s\nFromEnvironment: want an error with %q, got %v", tc.reason, word, err)
					}
				}
				if strings.Contains(err.Error(), "secret-word") {
					t.Errorf("%s\nFromEnvironment: the error shows a password: %v", tc.reason, err)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s\nFromEnvironment: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\nFromEnvironment: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestCurrency(t *testing.T) {
	const mixed = ", currency=mixed"
	type source struct {
		first, last string
		some        bool
	}
	cases := map[string]struct {
		reason  string
		sources []source
		want    string
	}{
		"NoRows":      {reason: "Without rows there is nothing to say."},
		"One":         {reason: "All rows share one.", sources: []source{{"EUR", "EUR", false}, {"EUR", "EUR", false}}, want: ", currency=EUR"},
		"NoneAtAll":   {reason: "Rows without a currency have none to name.", sources: []source{{"", "", true}}},
		"TwoInOne":    {reason: "A book was changed.", sources: []source{{"EUR", "USD", false}}, want: mixed},
		"TwoSources":  {reason: "The fee is in one, usage in another.", sources: []source{{"EUR", "EUR", false}, {"USD", "USD", false}}, want: mixed},
		"SomeWithout": {reason: "Some rows have none.", sources: []source{{"EUR", "EUR", true}}, want: mixed},
		"NoneThenOne": {reason: "The fee has none, usage has.", sources: []source{{"", "", true}, {"EUR", "EUR", false}}, want: mixed},
		"OneThenNone": {reason: "And the other way round.", sources: []source{{"EUR", "EUR", false}, {"", "", true}}, want: mixed},
		"MixedStays":  {reason: "What is mixed once stays so.", sources: []source{{"EUR", "USD", false}, {"USD", "USD", false}}, want: mixed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var c currency
			for _, s := range tc.sources {
				c = c.with(s.first, s.last, s.some)
			}
			if got := c.String(); got != tc.want {
				t.Errorf("%s\nwant %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

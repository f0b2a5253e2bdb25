package allocation

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/provider-finops/provider-finops/internal/finops/collection"
	"github.com/provider-finops/provider-finops/internal/finops/hour"
)

func TestFromEnvironment(t *testing.T) {
	required := map[string]string{
		"COSTJOB_NAME":               "hourly",
		"COSTJOB_NAMESPACE":          "finops",
		"POSTGRES_CONNECTION_STRING": "postgres://me:hunter2@db/finops",
		"OPENCOST_CONNECTION_STRING": "http://me:hunter2@opencost:9003",
	}
	fallbacks := Settings{
		CostJob:     types.NamespacedName{Namespace: "finops", Name: "hourly"},
		PostgresDSN: "postgres://me:hunter2@db/finops",
		OpenCostURL: "http://me:hunter2@opencost:9003",
		ClusterID:   "default", Aggregation: "namespace,pod,container", Resolution: "1m",
		Limits: collection.Limits{LookbackHours: 2, BackfillHours: 72, ConfirmAfter: 3 * time.Hour},
		Hint:   hour.Hint{CronJob: "hourly-cronjob"},
		Timeouts: Timeouts{
			DatabaseInit: 2 * time.Minute, Kubernetes: time.Minute, OpenCostFetch: 2 * time.Minute, HTTPClient: 90 * time.Second,
			DatabaseInsert: 3 * time.Minute, StatusUpdate: time.Minute,
		},
	}
	with := func(change func(*Settings)) Settings {
		s := fallbacks
		change(&s)
		return s
	}

	type want struct {
		settings Settings
		errs     []string
	}

	cases := map[string]struct {
		reason string
		set    map[string]string
		want   want
	}{
		"Fallbacks": {
			reason: "The compiled-in fallbacks of part 50.3 and 50.5.",
			want:   want{settings: fallbacks},
		},
		"Template": {
			reason: "What the template of the CronJob sets.",
			set: map[string]string{
				"CLUSTER_ID": "eu-1", "HOURS_LOOKBACK": "5", "OPENCOST_AGGREGATE": "namespace,pod,container", "OPENCOST_STEP": "1h",
				"OPENCOST_RESOLUTION": "1m", "SCHEDULED_TIMESTAMP": "2026-04-01T13:00:00Z", "JOB_NAME": "hourly-cronjob-29584140",
				"OPENCOST_HOSTNAME": "read by nothing", "OPERATOR_IMAGE": "read by nothing",
			},
			want: want{settings: with(func(s *Settings) {
				s.ClusterID, s.Limits.LookbackHours = "eu-1", 5
				s.Hint.Scheduled, s.Hint.Job = "2026-04-01T13:00:00Z", "hourly-cronjob-29584140"
			})},
		},
		"Ours": {
			reason: "The variables of part 80.5 that are ours.",
			set: map[string]string{
				"FINOPS_DB_SCHEMA": "billing", "FINOPS_MIGRATION_DIR": "/m", "MAX_BACKFILL_HOURS": "24", "SETTLE_DELAY": "10m",
				"EMPTY_CONFIRM_AFTER": "1h", "PRICEBOOK_RESOLUTION": "active",
			},
			want: want{settings: with(func(s *Settings) {
				s.DatabaseSchema, s.MigrationDir, s.ActiveBookFirst = "billing", "/m", true
				s.Limits.BackfillHours, s.Limits.SettleDelay, s.Limits.ConfirmAfter = 24, 10*time.Minute, time.Hour
			})},
		},
		"Timeouts": {
			reason: "A timeout that does not parse, or is none, is passed over and named; it does not fail the run.",
			set: map[string]string{
				"DATABASE_INIT_TIMEOUT": "5s", "K8S_OPERATION_TIMEOUT": "soon", "OPENCOST_FETCH_TIMEOUT": "-1h",
				"DATABASE_INSERT_TIMEOUT": "0", "STATUS_UPDATE_TIMEOUT": "10s", "HTTP_CLIENT_TIMEOUT": "1h",
			},
			want: want{settings: with(func(s *Settings) {
				s.Timeouts.DatabaseInit, s.Timeouts.StatusUpdate, s.Timeouts.HTTPClient = 5*time.Second, 10*time.Second, time.Hour
				s.Notes = []string{
					`K8S_OPERATION_TIMEOUT is "soon", which is no duration to wait for; using 1m0s`,
					`OPENCOST_FETCH_TIMEOUT is "-1h", which is no duration to wait for; using 2m0s`,
					`DATABASE_INSERT_TIMEOUT is "0", which is no duration to wait for; using 3m0s`,
				}
			})},
		},
		"OtherOrder": {
			reason: "One aggregation has one key, however it is written.",
			set:    map[string]string{"OPENCOST_AGGREGATE": "pod,namespace, container", "OPENCOST_STEP": "60m"},
			want:   want{settings: fallbacks},
		},
		"Missing": {
			reason: "Every required variable that is missing is named at once.",
			set: map[string]string{
				"COSTJOB_NAME": "", "COSTJOB_NAMESPACE": "", "POSTGRES_CONNECTION_STRING": "", "OPENCOST_CONNECTION_STRING": "",
			},
			want: want{errs: []string{
				"environment variable COSTJOB_NAMESPACE must be set", "environment variable COSTJOB_NAME must be set",
				"environment variable POSTGRES_CONNECTION_STRING must be set", "environment variable OPENCOST_CONNECTION_STRING must be set",
			}},
		},
		"Wrong": {
			reason: "What would be misread in silence is refused.",
			set: map[string]string{
				"HOURS_LOOKBACK": "-1", "MAX_BACKFILL_HOURS": "3 days", "SETTLE_DELAY": "10", "OPENCOST_STEP": "30m",
				"OPENCOST_RESOLUTION": "1d", "OPENCOST_AGGREGATE": "namespace,bogus", "PRICEBOOK_RESOLUTION": "newest",
			},
			want: want{errs: []string{
				`environment variable OPENCOST_AGGREGATE is of no use: cannot aggregate by "bogus": OpenCost knows no such dimension`,
				`environment variable PRICEBOOK_RESOLUTION must be "namespace" or "active", not "newest"`,
				`environment variable HOURS_LOOKBACK must be a number of hours from 0 to 8784, not "-1"`,
				`environment variable MAX_BACKFILL_HOURS must be a number of hours from 0 to 8784, not "3 days"`,
				`environment variable SETTLE_DELAY must be a duration such as 10m, not "10"`,
				`environment variable OPENCOST_RESOLUTION must be a duration of up to an hour such as 1m, not "1d"`,
				`environment variable OPENCOST_STEP must be an hour, which is the unit of charging, not "30m"`,
			}},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			environment := maps.Clone(required)
			maps.Copy(environment, tc.set)

			settings, err := FromEnvironment(func(name string) string { return environment[name] })
			got := want{settings: settings}
			if err != nil {
				got.errs = strings.Split(err.Error(), "\n")
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s\nFromEnvironment(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

package charge

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/charge"
	"github.com/provider-finops/provider-finops/internal/finops/collection"
	"github.com/provider-finops/provider-finops/internal/finops/hour"
	"github.com/provider-finops/provider-finops/internal/finops/money"
)

// cronJobSuffix is what the name of a CostJob's CronJob ends in (50.2).
const cronJobSuffix = "-cronjob"

// application is how a run shows among the sessions of the database.
const application = "provider-finops charges"

// Settings are what a run is told by its pod.
type Settings struct {
	Database  postgres.Config
	ClusterID string

	// CostJob is the one this run belongs to; empty for a run by hand.
	CostJob types.NamespacedName

	// Hint says why the run was started, which pins its hour.
	Hint hour.Hint

	// Aggregation is that of the allocation rows that are charged (OPEN-DB-5).
	Aggregation string

	// Limits are those of the allocation run, which the boundary depends on.
	Limits collection.Limits

	// MaxAmount is the largest amount of a row that is believed.
	MaxAmount money.Micros

	DatabaseInitTimeout        time.Duration
	KubernetesOperationTimeout time.Duration
	StatusUpdateTimeout        time.Duration

	// Notes are what the settings have to say for the log: values that could not
	// be read, in whose place the default stands.
	Notes []string
}

// FromEnvironment reads the variables of the pod (50.3). The error names every
// variable that is missing or cannot be used. A timeout that cannot be read does
// not fail the run.
func FromEnvironment(getenv func(string) string) (Settings, error) {
	v := variables{getenv: getenv}
	s := Settings{
		Database: postgres.Config{
			DSN:          v.required("POSTGRES_CONNECTION_STRING"),
			Schema:       getenv("FINOPS_DB_SCHEMA"),
			MigrationDir: getenv("FINOPS_MIGRATION_DIR"),
			Application:  application,
		},
		ClusterID:   v.text("CLUSTER_ID", "default"),
		CostJob:     types.NamespacedName{Namespace: getenv("COSTJOB_NAMESPACE"), Name: getenv("COSTJOB_NAME")},
		Hint:        hour.Hint{Scheduled: getenv("SCHEDULED_TIMESTAMP"), Job: getenv("JOB_NAME")},
		Aggregation: v.aggregation("OPENCOST_AGGREGATE"),
		Limits: collection.Limits{
			LookbackHours: int(v.number("HOURS_LOOKBACK", 0, 2)),
			BackfillHours: int(v.number("MAX_BACKFILL_HOURS", 0, 72)),
			SettleDelay:   v.duration("SETTLE_DELAY", 0),
			ConfirmAfter:  v.duration("EMPTY_CONFIRM_AFTER", 3*time.Hour),
		},
		MaxAmount:                  money.Micros(v.number("MAX_CHARGE_MICROS", 1, int64(charge.DefaultMaxAmount))),
		DatabaseInitTimeout:        v.timeout("DATABASE_INIT_TIMEOUT", 2*time.Minute),
		KubernetesOperationTimeout: v.timeout("K8S_OPERATION_TIMEOUT", time.Minute),
		StatusUpdateTimeout:        v.timeout("STATUS_UPDATE_TIMEOUT", time.Minute),
	}
	if s.CostJob.Name != "" {
		s.Hint.CronJob = s.CostJob.Name + cronJobSuffix
	}
	s.Notes = v.notes
	return s, errors.Join(v.wrong...)
}

// recorded reports whether the run belongs to a CostJob.
func (s Settings) recorded() bool { return s.CostJob.Name != "" && s.CostJob.Namespace != "" }

// variables collects what is wrong with the environment, so that all of it is
// said at once.
type variables struct {
	getenv func(string) string
	wrong  []error
	notes  []string
}

func (v *variables) required(name string) string {
	value := v.getenv(name)
	if value == "" {
		v.wrong = append(v.wrong, fmt.Errorf("environment variable %s must be set", name))
	}
	return value
}

func (v *variables) text(name, otherwise string) string {
	if value := v.getenv(name); value != "" {
		return value
	}
	return otherwise
}

// aggregation is in the one form in which rows are keyed.
func (v *variables) aggregation(name string) string {
	list, err := collection.Aggregation(v.text(name, collection.DefaultAggregation))
	if err != nil {
		v.wrong = append(v.wrong, fmt.Errorf("environment variable %s: %w", name, err))
	}
	return list
}

func (v *variables) number(name string, least, otherwise int64) int64 {
	value := v.getenv(name)
	if value == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < least {
		v.wrong = append(v.wrong, fmt.Errorf("environment variable %s is %q, which is no whole number of at least %d", name, value, least))
		return otherwise
	}
	return n
}

func (v *variables) duration(name string, otherwise time.Duration) time.Duration {
	value := v.getenv(name)
	if value == "" {
		return otherwise
	}
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 {
		v.wrong = append(v.wrong, fmt.Errorf("environment variable %s is %q, which is no duration such as 10m", name, value))
		return otherwise
	}
	return d
}

// timeout is a duration that a run goes on without (50.3).
func (v *variables) timeout(name string, otherwise time.Duration) time.Duration {
	value := v.getenv(name)
	if value == "" {
		return otherwise
	}
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 {
		v.notes = append(v.notes, fmt.Sprintf("%s is %q, which is no duration to wait for; using %s", name, value, otherwise))
		return otherwise
	}
	return d
}

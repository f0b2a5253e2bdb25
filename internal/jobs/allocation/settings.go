package allocation

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/provider-finops/provider-finops/internal/clients/opencost"
	"github.com/provider-finops/provider-finops/internal/finops/collection"
	"github.com/provider-finops/provider-finops/internal/finops/hour"
)

// Compiled-in fallbacks (part 50.3), for a variable that is absent from the pod.
const (
	defaultClusterID     = "default"
	defaultResolution    = "1m"
	defaultLookbackHours = 2
	defaultBackfillHours = 72
	defaultConfirmAfter  = 3 * time.Hour

	// step is the one width of a set there is: the unit of work is the hour.
	step = "1h"
)

// Timeouts bound the parts of a run (part 50.5).
type Timeouts struct {
	DatabaseInit   time.Duration // Connecting, migrations included; and waiting for another run.
	Kubernetes     time.Duration // Reading the CostJob and the PriceBooks.
	OpenCostFetch  time.Duration // Each hour's fetch-and-stream.
	HTTPClient     time.Duration // Each single request, inside of OpenCostFetch (BETTER-CJ-4).
	DatabaseInsert time.Duration // Finalizing the stragglers.
	StatusUpdate   time.Duration // The execution record.
}

// Settings are what a run takes from the environment of its pod.
type Settings struct {
	CostJob types.NamespacedName

	PostgresDSN    string // A secret.
	DatabaseSchema string
	MigrationDir   string
	OpenCostURL    string // May hold a password.

	ClusterID       string
	Aggregation     string
	Resolution      string
	Limits          collection.Limits
	Hint            hour.Hint
	ActiveBookFirst bool
	Timeouts        Timeouts

	// Ignored says which variables hold what is no timeout, so that the default
	// is used instead.
	Ignored []string
}

// FromEnvironment reads the variables of part 50.3 and our own of part 80.5. The
// error names every variable that is missing or wrong, and shows no value that
// may hold a password.
func FromEnvironment(getenv func(string) string) (Settings, error) {
	e := &reader{getenv: getenv}
	s := Settings{
		CostJob:         types.NamespacedName{Namespace: e.required("COSTJOB_NAMESPACE"), Name: e.required("COSTJOB_NAME")},
		PostgresDSN:     e.required("POSTGRES_CONNECTION_STRING"),
		DatabaseSchema:  getenv("FINOPS_DB_SCHEMA"),
		MigrationDir:    getenv("FINOPS_MIGRATION_DIR"),
		OpenCostURL:     e.required("OPENCOST_CONNECTION_STRING"),
		ClusterID:       e.text("CLUSTER_ID", defaultClusterID),
		Aggregation:     e.aggregation("OPENCOST_AGGREGATE"),
		Resolution:      e.resolution("OPENCOST_RESOLUTION"),
		ActiveBookFirst: e.choice("PRICEBOOK_RESOLUTION", "namespace", "active") == "active",
		Limits: collection.Limits{
			LookbackHours: e.count("HOURS_LOOKBACK", defaultLookbackHours),
			BackfillHours: e.count("MAX_BACKFILL_HOURS", defaultBackfillHours),
			SettleDelay:   e.duration("SETTLE_DELAY", 0),
			ConfirmAfter:  e.duration("EMPTY_CONFIRM_AFTER", defaultConfirmAfter),
		},
		Timeouts: Timeouts{
			DatabaseInit:   e.timeout("DATABASE_INIT_TIMEOUT", 2*time.Minute),
			Kubernetes:     e.timeout("K8S_OPERATION_TIMEOUT", time.Minute),
			OpenCostFetch:  e.timeout("OPENCOST_FETCH_TIMEOUT", 2*time.Minute),
			HTTPClient:     e.timeout("HTTP_CLIENT_TIMEOUT", opencost.DefaultTimeout),
			DatabaseInsert: e.timeout("DATABASE_INSERT_TIMEOUT", 3*time.Minute),
			StatusUpdate:   e.timeout("STATUS_UPDATE_TIMEOUT", time.Minute),
		},
	}
	s.Hint = hour.Hint{Scheduled: getenv("SCHEDULED_TIMESTAMP"), Job: getenv("JOB_NAME"), CronJob: s.CostJob.Name + "-cronjob"}
	e.step("OPENCOST_STEP")

	s.Ignored = e.ignored
	if err := errors.Join(e.wrong...); err != nil {
		return Settings{}, err
	}
	return s, nil
}

// A reader collects everything that is wrong with an environment, because
// whoever has to mend it wants to do so once.
type reader struct {
	getenv  func(string) string
	wrong   []error
	ignored []string
}

func (e *reader) refusef(name, format string, args ...any) {
	e.wrong = append(e.wrong, fmt.Errorf("environment variable %s "+format, append([]any{name}, args...)...))
}

func (e *reader) required(name string) string {
	value := e.getenv(name)
	if value == "" {
		e.refusef(name, "must be set")
	}
	return value
}

func (e *reader) text(name, fallback string) string {
	if value := e.getenv(name); value != "" {
		return value
	}
	return fallback
}

func (e *reader) choice(name, fallback, other string) string {
	value := e.text(name, fallback)
	if value != fallback && value != other {
		e.refusef(name, "must be %q or %q, not %q", fallback, other, value)
	}
	return value
}

func (e *reader) count(name string, fallback int) int {
	const most = 24 * 366 // A year back is as far as anybody's measurements go.
	value := e.text(name, strconv.Itoa(fallback))
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > most {
		e.refusef(name, "must be a number of hours from 0 to %d, not %q", most, value)
	}
	return n
}

func (e *reader) duration(name string, fallback time.Duration) time.Duration {
	value := e.text(name, fallback.String())
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 {
		e.refusef(name, "must be a duration such as 10m, not %q", value)
	}
	return d
}

// timeout is lenient, as documented: what is no duration to wait for is passed
// over, and said in the log.
func (e *reader) timeout(name string, fallback time.Duration) time.Duration {
	value := e.getenv(name)
	if value == "" {
		return fallback
	}
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 {
		e.ignored = append(e.ignored, name)
		return fallback
	}
	return d
}

func (e *reader) aggregation(name string) string {
	list, err := collection.Aggregation(e.text(name, collection.DefaultAggregation))
	if err != nil {
		e.refusef(name, "is of no use: %w", err)
	}
	return list
}

// resolution is checked, because OpenCost takes its own default for one that it
// cannot read and says nothing.
func (e *reader) resolution(name string) string {
	value := e.text(name, defaultResolution)
	if d, err := time.ParseDuration(value); err != nil || d <= 0 || d > hour.Length {
		e.refusef(name, "must be a duration of up to an hour such as 1m, not %q", value)
	}
	return value
}

func (e *reader) step(name string) {
	value := e.text(name, step)
	if d, err := time.ParseDuration(value); err != nil || d != hour.Length {
		e.refusef(name, "must be an hour, not %q: hours are the unit of charging", value)
	}
}

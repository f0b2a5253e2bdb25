package allocation

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/provider-finops/provider-finops/internal/clients/opencost"
	"github.com/provider-finops/provider-finops/internal/finops/collection"
	"github.com/provider-finops/provider-finops/internal/finops/hour"
	"github.com/provider-finops/provider-finops/internal/jobs/environment"
)

const (
	// defaultResolution is asked of OpenCost if the pod says nothing (50.3).
	defaultResolution = "1m"

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
	ClusterIdentity string // What tells it from every other cluster, if it is known.
	Aggregation     string
	Resolution      string
	Limits          collection.Limits
	Hint            hour.Hint
	ActiveBookFirst bool
	Timeouts        Timeouts

	// Notes are what the settings have to say for the log: values that could not
	// be read, in whose place the default stands.
	Notes []string
}

// FromEnvironment reads the variables of part 50.3 and our own of part 80.5. The
// error names every variable that is missing or wrong, and shows no value that
// may hold a password.
func FromEnvironment(getenv func(string) string) (Settings, error) {
	v := environment.Of(getenv)
	job, database, owner := v.RequiredCostJob(), v.Database(""), v.Owner()
	s := Settings{
		CostJob:         job,
		PostgresDSN:     database.DSN,
		DatabaseSchema:  database.Schema,
		MigrationDir:    database.MigrationDir,
		OpenCostURL:     v.Required("OPENCOST_CONNECTION_STRING"),
		ClusterID:       owner.ClusterID,
		ClusterIdentity: owner.Identity,
		Aggregation:     v.Aggregation(),
		ActiveBookFirst: v.Choice("PRICEBOOK_RESOLUTION", "namespace", "active") == "active",
		Limits:          v.Limits(),
		Hint:            v.Hint(job),
		Timeouts: Timeouts{
			DatabaseInit:   v.DatabaseInitTimeout(),
			Kubernetes:     v.KubernetesTimeout(),
			OpenCostFetch:  v.Timeout("OPENCOST_FETCH_TIMEOUT", 2*time.Minute),
			HTTPClient:     v.Timeout("HTTP_CLIENT_TIMEOUT", opencost.DefaultTimeout),
			DatabaseInsert: v.Timeout("DATABASE_INSERT_TIMEOUT", 3*time.Minute),
			StatusUpdate:   v.StatusUpdateTimeout(),
		},

		// OpenCost takes its own default for a resolution that it cannot read, and
		// says nothing.
		Resolution: v.Within("OPENCOST_RESOLUTION", defaultResolution, "a duration of up to an hour such as 1m", time.Nanosecond, hour.Length),
	}
	// The width of a set is asked for and never used: hours are the unit of charging.
	_ = v.Within("OPENCOST_STEP", step, "an hour, which is the unit of charging", hour.Length, hour.Length)

	s.Notes = v.Notes()
	if err := v.Err(); err != nil {
		return Settings{}, err
	}
	return s, nil
}

package charge

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/charge"
	"github.com/provider-finops/provider-finops/internal/finops/collection"
	"github.com/provider-finops/provider-finops/internal/finops/hour"
	"github.com/provider-finops/provider-finops/internal/finops/money"
	"github.com/provider-finops/provider-finops/internal/jobs/environment"
)

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
	v := environment.Of(getenv)
	job, owner := v.CostJob(), v.Owner()
	s := Settings{
		Database:                   v.Database(application),
		ClusterID:                  owner.ClusterID,
		CostJob:                    job,
		Hint:                       v.Hint(job),
		Aggregation:                v.Aggregation(),
		Limits:                     v.Limits(),
		MaxAmount:                  money.Micros(v.Whole("MAX_CHARGE_MICROS", "micros", 1, int64(charge.DefaultMaxAmount))),
		DatabaseInitTimeout:        v.DatabaseInitTimeout(),
		KubernetesOperationTimeout: v.KubernetesTimeout(),
		StatusUpdateTimeout:        v.StatusUpdateTimeout(),
	}
	s.Database.Owner = owner
	s.Notes = v.Notes()
	return s, v.Err()
}

// recorded reports whether the run belongs to a CostJob.
func (s Settings) recorded() bool { return s.CostJob.Name != "" && s.CostJob.Namespace != "" }

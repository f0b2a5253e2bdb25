package environment

import (
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/types"

	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/collection"
	"github.com/provider-finops/provider-finops/internal/finops/hour"
)

// The compiled-in fallbacks (50.3), for a variable that is absent from the pod.
const (
	defaultClusterID     = "default"
	defaultLookbackHours = 2
	defaultBackfillHours = 72
	defaultConfirmAfter  = 3 * time.Hour
)

// Database is where everything durable is. Application is how the process shows
// among the sessions.
func (v *Variables) Database(application string) postgres.Config {
	return postgres.Config{
		DSN:          v.Required("POSTGRES_CONNECTION_STRING"),
		Schema:       v.getenv("FINOPS_DB_SCHEMA"),
		MigrationDir: v.getenv("FINOPS_MIGRATION_DIR"),
		Application:  application,
	}
}

// MaxClusterID is how long a cluster's id may be, in bytes. It is part of every
// key, and the entry of an index is bounded.
const MaxClusterID = 253

// ClusterID scopes all rows.
func (v *Variables) ClusterID() string {
	id := v.Text("CLUSTER_ID", defaultClusterID)
	if len(id) > MaxClusterID || !utf8.ValidString(id) {
		v.refusef("CLUSTER_ID", "must be text of at most %d bytes, not %d bytes that begin with %.20q", MaxClusterID, len(id), id)
	}
	return id
}

// Owner is the cluster whose rows a run writes. A run by hand need not know more
// of it than the id.
func (v *Variables) Owner() postgres.Owner {
	return postgres.Owner{ClusterID: v.ClusterID(), Identity: v.getenv("CLUSTER_IDENTITY")}
}

// Aggregation is what a measured row is, in the one form in which rows are keyed.
func (v *Variables) Aggregation() string {
	const name = "OPENCOST_AGGREGATE"
	list, err := collection.Aggregation(v.Text(name, collection.DefaultAggregation))
	if err != nil {
		v.refusef(name, "is of no use: %w", err)
	}
	return list
}

// Limits say how far back runs look. Collecting and charging have to agree on
// them.
func (v *Variables) Limits() collection.Limits {
	return collection.Limits{
		LookbackHours: v.hours("HOURS_LOOKBACK", defaultLookbackHours),
		BackfillHours: v.hours("MAX_BACKFILL_HOURS", defaultBackfillHours),
		SettleDelay:   v.Duration("SETTLE_DELAY", 0),
		ConfirmAfter:  v.Duration("EMPTY_CONFIRM_AFTER", defaultConfirmAfter),
	}
}

// CostJob is whose run this is; a part that is not set is empty.
func (v *Variables) CostJob() types.NamespacedName {
	return types.NamespacedName{Namespace: v.getenv("COSTJOB_NAMESPACE"), Name: v.getenv("COSTJOB_NAME")}
}

// RequiredCostJob is the same for a job that cannot do without.
func (v *Variables) RequiredCostJob() types.NamespacedName {
	return types.NamespacedName{Namespace: v.Required("COSTJOB_NAMESPACE"), Name: v.Required("COSTJOB_NAME")}
}

// Hint says why the run of a CostJob was started, which pins its hour. The name
// of its CronJob is that of 50.2.
func (v *Variables) Hint(job types.NamespacedName) hour.Hint {
	h := hour.Hint{Scheduled: v.getenv("SCHEDULED_TIMESTAMP"), Job: v.getenv("JOB_NAME")}
	if job.Name != "" {
		h.CronJob = job.Name + "-cronjob"
	}
	return h
}

// DatabaseInitTimeout bounds connecting, migrations included, and waiting for
// another run.
func (v *Variables) DatabaseInitTimeout() time.Duration {
	return v.Timeout("DATABASE_INIT_TIMEOUT", 2*time.Minute)
}

// KubernetesTimeout bounds each read of objects.
func (v *Variables) KubernetesTimeout() time.Duration {
	return v.Timeout("K8S_OPERATION_TIMEOUT", time.Minute)
}

// StatusUpdateTimeout bounds the execution record.
func (v *Variables) StatusUpdateTimeout() time.Duration {
	return v.Timeout("STATUS_UPDATE_TIMEOUT", time.Minute)
}

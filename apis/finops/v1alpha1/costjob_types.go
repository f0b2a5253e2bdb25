package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// AnnotationEffectiveSchedule is set on a CostJob whose interval is none of
	// the known ones, to the schedule it runs on instead (BETTER-CJ-2).
	AnnotationEffectiveSchedule = "finops.stakater.com/effective-schedule"

	// AnnotationServiceAccount on a CostJob names the ServiceAccount of its
	// pods, in the CostJob's namespace (OPEN-CFG-5).
	AnnotationServiceAccount = "finops.stakater.com/service-account"

	// LabelCostJob on whatever is made for a CostJob names it (OPEN-CJ-2).
	LabelCostJob = "finops.stakater.com/costjob"

	// LabelCostJobType beside it gives the CostJob's type.
	LabelCostJobType = "finops.stakater.com/costjob-type"
)

// MaxExecutionHistory is how many execution records a CostJob keeps.
const MaxExecutionHistory = 10

// A CostJobType is the work a CostJob does.
// +kubebuilder:validation:Enum=ResourceCostCollection;SubscriptionChargeCollection
type CostJobType string

const (
	// CostJobTypeResourceCostCollection fetches from OpenCost what workloads
	// consumed.
	CostJobTypeResourceCostCollection CostJobType = "ResourceCostCollection"

	// CostJobTypeSubscriptionChargeCollection computes what Subscriptions owe
	// and releases those that are deleted and settled.
	CostJobTypeSubscriptionChargeCollection CostJobType = "SubscriptionChargeCollection"
)

// CostJobSpec says what is collected and how often.
type CostJobSpec struct {
	// Type is the work to do: ResourceCostCollection fetches from OpenCost what
	// workloads consumed, SubscriptionChargeCollection computes what
	// Subscriptions owe and releases those that are deleted and settled.
	// +optional
	// +kubebuilder:default=ResourceCostCollection
	Type CostJobType `json:"type,omitempty"`

	// Interval is how often to run: 1m, 5m, 1h, 6h, 12h or 24h, however they
	// are written (60m is 1h). Anything else means daily. All schedules are in
	// UTC. The unit of work is the whole hour, so 1m and 5m only look at the
	// current hour more often.
	// +optional
	// +kubebuilder:default="24h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) == duration(self)",message="must be a Go duration such as 90s, 1h or 24h"
	Interval metav1.Duration `json:"interval,omitzero"`

	// DatabaseInitTimeout bounds connecting to PostgreSQL, migrations included.
	// +optional
	// +kubebuilder:default="2m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) == duration(self)",message="must be a Go duration such as 90s, 1h or 24h"
	DatabaseInitTimeout *metav1.Duration `json:"databaseInitTimeout,omitempty"`

	// KubernetesOperationTimeout bounds reading the CostJob back.
	// +optional
	// +kubebuilder:default="1m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) == duration(self)",message="must be a Go duration such as 90s, 1h or 24h"
	KubernetesOperationTimeout *metav1.Duration `json:"kubernetesOperationTimeout,omitempty"`

	// OpenCostFetchTimeout bounds the fetching and storing of each hour.
	// +optional
	// +kubebuilder:default="2m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) == duration(self)",message="must be a Go duration such as 90s, 1h or 24h"
	OpenCostFetchTimeout *metav1.Duration `json:"openCostFetchTimeout,omitempty"`

	// DatabaseInsertTimeout bounds the finalizing of allocation rows that
	// earlier runs left open.
	// +optional
	// +kubebuilder:default="3m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) == duration(self)",message="must be a Go duration such as 90s, 1h or 24h"
	DatabaseInsertTimeout *metav1.Duration `json:"databaseInsertTimeout,omitempty"`

	// DatabaseViewsRefreshTimeout is deprecated and has no effect. It can still
	// be set, so that older manifests apply.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) == duration(self)",message="must be a Go duration such as 90s, 1h or 24h"
	DatabaseViewsRefreshTimeout *metav1.Duration `json:"databaseViewsRefreshTimeout,omitempty"`

	// StatusUpdateTimeout bounds the writing of the execution record.
	// +optional
	// +kubebuilder:default="1m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) == duration(self)",message="must be a Go duration such as 90s, 1h or 24h"
	StatusUpdateTimeout *metav1.Duration `json:"statusUpdateTimeout,omitempty"`

	// HTTPClientTimeout bounds each single request to OpenCost.
	// +optional
	// +kubebuilder:default="90s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) == duration(self)",message="must be a Go duration such as 90s, 1h or 24h"
	HTTPClientTimeout *metav1.Duration `json:"httpClientTimeout,omitempty"`

	// Resources of the container that does the work. They replace the default
	// (requests of 50m CPU and 64Mi, limits of 500m and 256Mi) as a whole: a
	// value that has requests only leaves the container without limits.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// Sharding splits the query for each hour by namespace. It is for large
	// clusters, whose whole hour OpenCost cannot answer at once; what is stored
	// is the same. Ignored by SubscriptionChargeCollection.
	// +optional
	Sharding *CostJobSharding `json:"sharding,omitempty"`
}

// CostJobSharding says how an hour's query is split.
type CostJobSharding struct {
	// NamespacesPerShard is how many namespaces one query asks for.
	// +optional
	// +kubebuilder:default=25
	// +kubebuilder:validation:Minimum=1
	NamespacesPerShard int32 `json:"namespacesPerShard,omitempty"`

	// Concurrency is how many queries run at once.
	// +optional
	// +kubebuilder:default=4
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	Concurrency int32 `json:"concurrency,omitempty"`
}

// An ExecutionStatus is the outcome of a run.
type ExecutionStatus string

// The outcomes. Only Success and Failed are ever written.
const (
	ExecutionStatusSuccess ExecutionStatus = "Success"
	ExecutionStatusFailed  ExecutionStatus = "Failed"
	ExecutionStatusError   ExecutionStatus = "Error"
	ExecutionStatusPending ExecutionStatus = "Pending"
)

// CostJobStatus tells about the runs. The runs themselves write it, but for the
// conditions.
type CostJobStatus struct {
	// LastExecutionTime is when the last run started.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z') && self < timestamp('9999-01-01T00:00:00Z')",message="must be a time from 1970 to 9998"
	LastExecutionTime *metav1.Time `json:"lastExecutionTime,omitempty"`

	// LastSuccessfulExecutionTime is when the last run that succeeded started.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z') && self < timestamp('9999-01-01T00:00:00Z')",message="must be a time from 1970 to 9998"
	LastSuccessfulExecutionTime *metav1.Time `json:"lastSuccessfulExecutionTime,omitempty"`

	// LastExecutionStatus is the outcome of the last run.
	// +optional
	// +kubebuilder:validation:Enum=Success;Failed;Error;Pending
	LastExecutionStatus ExecutionStatus `json:"lastExecutionStatus,omitempty"`

	// ExecutionHistory are the last runs, at most ten, newest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	ExecutionHistory []ExecutionRecord `json:"executionHistory,omitempty"`

	// Conditions: Ready says whether the CronJob and its Secret stand as the spec
	// wants them, Synced whether the last attempt to see to that succeeded. What
	// the runs come to is said by lastExecutionStatus.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(c, c.lastTransitionTime >= timestamp('1970-01-01T00:00:00Z'))",message="must be of times from 1970 on"
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// An ExecutionRecord tells about one run.
type ExecutionRecord struct {
	// ExecutionTime is when the run started.
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z') && self < timestamp('9999-01-01T00:00:00Z')",message="must be a time from 1970 to 9998"
	ExecutionTime metav1.Time `json:"executionTime"`

	// Status is its outcome.
	// +kubebuilder:validation:Enum=Success;Failed;Error
	Status ExecutionStatus `json:"status"`

	// Duration is how long it took, as a Go duration in whole milliseconds, for
	// example 41.27s.
	// +optional
	Duration string `json:"duration,omitempty"`

	// Error says why it failed.
	// +optional
	Error string `json:"error,omitempty"`
}

// A CostJob is a schedule for one of the two collectors. It becomes a CronJob
// of the same namespace, named after it with the suffix -cronjob.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories={finops}
// +kubebuilder:printcolumn:name="Interval",type=string,JSONPath=`.spec.interval`
// +kubebuilder:printcolumn:name="Last Status",type=string,JSONPath=`.status.lastExecutionStatus`
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`
// +kubebuilder:printcolumn:name="SYNCED",type=string,JSONPath=`.status.conditions[?(@.type=='Synced')].status`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type CostJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says what is collected and how often. It may be left out: the
	// default is to collect resource costs daily.
	// +optional
	// +kubebuilder:default={}
	Spec CostJobSpec `json:"spec,omitempty"`

	// Status tells about the runs.
	// +optional
	Status CostJobStatus `json:"status,omitempty"`
}

// CostJobList is a list of CostJobs.
// +kubebuilder:object:root=true
type CostJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []CostJob `json:"items"`
}

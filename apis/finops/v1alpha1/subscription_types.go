package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SubscriptionFinalizer keeps a deleted Subscription until its last hour is
// settled. The charge collector removes it; the controller does for one that was
// never activated, if that is asked for (--release-never-activated).
const SubscriptionFinalizer = "subscriptions.finops.stakater.com/finalizer"

// AnnotationTargetGate on a Subscription says what its target has to be before
// it is activated: "ready" is more than to exist (BETTER-SUB-10).
const AnnotationTargetGate = "finops.stakater.com/target-gate"

// SubscriptionSpec binds somebody to an Offering.
// +kubebuilder:validation:XValidation:rule="self.offeringRef == oldSelf.offeringRef",message="offeringRef is immutable; create a new Subscription instead"
// +kubebuilder:validation:XValidation:rule="has(self.parent) == has(oldSelf.parent) && (!has(self.parent) || self.parent == oldSelf.parent)",message="parent is immutable; create a new Subscription instead"
type SubscriptionSpec struct {
	// OfferingRef names the Offering that is subscribed to. It cannot be changed.
	OfferingRef ObjectReference `json:"offeringRef"`

	// Parent makes this Subscription part of another one's family. It can be
	// neither changed nor added nor removed.
	// +optional
	Parent *SubscriptionParent `json:"parent,omitempty"`

	// UsageSources select the workloads whose consumption is charged. Without
	// any, no usage is charged.
	// +optional
	// +listType=atomic
	UsageSources []UsageSource `json:"usageSources,omitempty"`

	// Lifecycle says when the Subscription ends by itself. A block of its own
	// replaces the Offering's, defaults included.
	// +optional
	Lifecycle *SubscriptionLifecycle `json:"lifecycle,omitempty"`
}

// SubscriptionParent names the parent.
type SubscriptionParent struct {
	// SubscriptionRef names the Subscription above this one.
	SubscriptionRef ObjectReference `json:"subscriptionRef"`
}

// A UsageSource selects workloads. What is left out selects everything, so at
// least one field has to be set; several narrow each other.
// +kubebuilder:validation:XValidation:rule="(has(self.resourceType) && self.resourceType != \"\") || (has(self.name) && self.name != \"\") || (has(self.namespace) && self.namespace != \"\")",message="at least one of resourceType, name, or namespace must be set"
type UsageSource struct {
	// ResourceType is the kind of the workload. For Pod the name is that of the
	// pod, for all others that of the controller. An entry that says nothing but
	// Pod is ignored, since it would select the whole cluster.
	// +optional
	// +kubebuilder:validation:Enum=Deployment;StatefulSet;Pod;DaemonSet;Job;CronJob;ReplicaSet
	ResourceType string `json:"resourceType,omitempty"`

	// Name of the workload.
	// +optional
	Name string `json:"name,omitempty"`

	// Namespace of the workload.
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// SubscriptionLifecycle says when a Subscription ends by itself.
type SubscriptionLifecycle struct {
	// OnParentDeactivate is what happens when the parent of this active
	// Subscription ends: Deactivate ends it too, Orphan lets it go on without
	// one. A lifecycle block that does not say means Deactivate, also where the
	// Offering says Orphan.
	// +optional
	// +kubebuilder:default=Deactivate
	OnParentDeactivate ParentDeactivateAction `json:"onParentDeactivate,omitempty"`

	// TargetRef names what the Subscription pays for: it waits until the target
	// exists, and ends when it is deleted.
	// +optional
	TargetRef *TargetReference `json:"targetRef,omitempty"`
}

// TargetReference names one object of any kind.
type TargetReference struct {
	// APIVersion of the target, group and version: apps/v1.
	APIVersion string `json:"apiVersion"`

	// Kind of the target.
	Kind string `json:"kind"`

	// Name of the target.
	Name string `json:"name"`

	// Namespace of the target. Leave it out for a cluster-scoped target, and
	// only then: it is never filled in.
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// A CostGranularity is the span of a summary.
// +kubebuilder:validation:Enum=hour;day;month
type CostGranularity string

// The summaries, each of the span that holds the hour of the run.
const (
	CostGranularityHour  CostGranularity = "hour"
	CostGranularityDay   CostGranularity = "day"
	CostGranularityMonth CostGranularity = "month"
)

// SubscriptionStatus says how the Subscription stands and what it has cost.
type SubscriptionStatus struct {
	// Ready repeats the status of the condition Ready: True once every gate
	// passes, False otherwise, and also after the end.
	// +optional
	Ready metav1.ConditionStatus `json:"ready,omitempty"`

	// ActivatedAt is when every gate passed for the first time. Billing starts
	// here. It is written once.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z') && self < timestamp('9999-01-01T00:00:00Z')",message="must be a time from 1970 to 9998"
	ActivatedAt *metav1.Time `json:"activatedAt,omitempty"`

	// DeactivatedAt is when the Subscription ended. It is written once, and
	// nothing reopens a Subscription.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z') && self < timestamp('9999-01-01T00:00:00Z')",message="must be a time from 1970 to 9998"
	DeactivatedAt *metav1.Time `json:"deactivatedAt,omitempty"`

	// CompatibilityRoot is the uid of the topmost Subscription above this one,
	// its own if there is none. It names the family and is written once.
	// +optional
	CompatibilityRoot string `json:"compatibilityRoot,omitempty"`

	// Costs are summaries of the current hour, day and month of UTC: none, or
	// all three in this order.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=3
	Costs []CostBucket `json:"costs,omitempty"`

	// Conditions: Ready says whether every gate passes, Active whether the
	// Subscription is billed or why it no longer is, Deleting what it waits for
	// after it was deleted, CostsResolved where the costs come from,
	// ChargesParked whether an implausible charge is held back, Synced whether
	// the last attempt succeeded.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(c, c.lastTransitionTime >= timestamp('1970-01-01T00:00:00Z'))",message="must be of times from 1970 on"
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// A CostBucket is what accrues in one span of time.
type CostBucket struct {
	// Granularity is the length of the span.
	Granularity CostGranularity `json:"granularity"`

	// Start is the first instant of the span.
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z') && self < timestamp('9999-01-01T00:00:00Z')",message="must be a time from 1970 to 9998"
	Start metav1.Time `json:"start"`

	// EndExclusive is the first instant after it.
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z') && self < timestamp('9999-01-01T00:00:00Z')",message="must be a time from 1970 to 9998"
	EndExclusive metav1.Time `json:"endExclusive"`

	// Current is what has accrued so far, in millionths of the currency. Left
	// out when zero.
	// +optional
	Current int64 `json:"current,omitempty"`

	// Projected is what will have accrued at the end of the span, in millionths
	// of the currency. Left out when zero.
	// +optional
	Projected int64 `json:"projected,omitempty"`

	// Breakdown is the same by meter.
	// +optional
	// +listType=atomic
	Breakdown []CostMetric `json:"breakdown,omitempty"`
}

// A CostMetric is one meter's part of a summary.
type CostMetric struct {
	// Name is what was charged.
	Name MeterName `json:"name"`

	// Current is what has accrued so far, in millionths of the currency. Left
	// out when zero.
	// +optional
	Current int64 `json:"current,omitempty"`

	// Projected is what will have accrued at the end of the span, in millionths
	// of the currency. Left out when zero.
	// +optional
	Projected int64 `json:"projected,omitempty"`
}

// A Subscription binds somebody to an Offering. It is billed from the moment
// every gate passes for the first time until it ends, and ends once.
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.activatedAt) || (has(self.status) && has(self.status.activatedAt) && self.status.activatedAt == oldSelf.status.activatedAt)",message="status.activatedAt is written once"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.deactivatedAt) || (has(self.status) && has(self.status.deactivatedAt) && self.status.deactivatedAt == oldSelf.status.deactivatedAt)",message="status.deactivatedAt is written once"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.compatibilityRoot) || (has(self.status) && has(self.status.compatibilityRoot) && self.status.compatibilityRoot == oldSelf.status.compatibilityRoot)",message="status.compatibilityRoot is written once"
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories={finops}
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.ready`
// +kubebuilder:printcolumn:name="SYNCED",type=string,JSONPath=`.status.conditions[?(@.type=='Synced')].status`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="ACTIVE",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=='Active')].status`
// +kubebuilder:printcolumn:name="OFFERING",type=string,priority=1,JSONPath=`.spec.offeringRef.name`
// +kubebuilder:selectablefield:JSONPath=`.spec.offeringRef.name`
// +kubebuilder:selectablefield:JSONPath=`.spec.offeringRef.namespace`
// +kubebuilder:selectablefield:JSONPath=`.status.compatibilityRoot`
// +kubebuilder:selectablefield:JSONPath=`.status.ready`
type Subscription struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is subscribed to, and by which usage it is billed.
	Spec SubscriptionSpec `json:"spec"`

	// Status says how the Subscription stands and what it has cost.
	// +optional
	Status SubscriptionStatus `json:"status,omitempty"`
}

// SubscriptionList is a list of Subscriptions.
// +kubebuilder:object:root=true
type SubscriptionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Subscription `json:"items"`
}

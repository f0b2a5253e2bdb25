package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AnnotationActive with the exact value "true" puts a PriceBook before all that
// do not carry it when the active one is elected. A label of that name is not
// read.
const AnnotationActive = "finops.stakater.com/active"

// A ValuationMode is what the numbers of a PriceBook mean.
// +kubebuilder:validation:Enum=currency;percent
type ValuationMode string

const (
	// ValuationModeCurrency rates are amounts of money per unit.
	ValuationModeCurrency ValuationMode = "currency"

	// ValuationModePercent is accepted, and nothing implements it.
	ValuationModePercent ValuationMode = "percent"
)

// PriceBookSpec is a price list. It may be edited; hours that are settled keep
// the price they were settled with.
type PriceBookSpec struct {
	// Currency is the ISO 4217 code of the currency the rates are in, for
	// example EUR. It is a label: nothing is ever converted.
	// +kubebuilder:validation:Pattern=`^[A-Z]{3}$`
	Currency string `json:"currency"`

	// ValuationMode says what the rates mean. Only currency, money per unit, is
	// implemented: a percent book can be elected, but it prices nothing and is
	// not handed to OpenCost.
	ValuationMode ValuationMode `json:"valuationMode"`

	// Rates are the prices per unit. In currency mode they have to be given,
	// else the book is not ready; an empty block prices everything at zero in
	// OpenCost and bills nothing by usage.
	// +optional
	Rates *PriceRates `json:"rates,omitempty"`
}

// PriceRates are prices per unit as plain decimals, such as "0.025". They are
// exact to six fraction digits. A rate that is left out or empty is unset:
// what it would price is not billed at all, while "0" is billed at zero.
type PriceRates struct {
	// CPUHour is the price of one virtual CPU for an hour.
	// +optional
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?)?$`
	CPUHour string `json:"cpuHour,omitempty"`

	// SpotCPUHour is the price of one virtual CPU for an hour on spot nodes.
	// OpenCost shows it; charges never use it.
	// +optional
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?)?$`
	SpotCPUHour string `json:"spotCPUHour,omitempty"`

	// RAMGbHour is the price of one gigabyte of memory for an hour.
	// +optional
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?)?$`
	RAMGbHour string `json:"ramGbHour,omitempty"`

	// SpotRAMGbHour is the price of one gigabyte of memory for an hour on spot
	// nodes. OpenCost shows it; charges never use it.
	// +optional
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?)?$`
	SpotRAMGbHour string `json:"spotRAMGbHour,omitempty"`

	// PVGbHour is the price of one gigabyte of persistent volume for an hour.
	// +optional
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?)?$`
	PVGbHour string `json:"pvGbHour,omitempty"`

	// GPUHour is the price of one GPU for an hour.
	// +optional
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?)?$`
	GPUHour string `json:"gpuHour,omitempty"`

	// NetworkGiB is the price of one gibibyte moved over the network, in either
	// direction and whatever its other end.
	// +optional
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?)?$`
	NetworkGiB string `json:"networkGiB,omitempty"`
}

// PriceBookStatus says whether the book is sound and whether it is the one in
// force. Both may hold or fail independently.
type PriceBookStatus struct {
	// Active says that this book is the one of the cluster that is in force.
	// +optional
	Active bool `json:"active"`

	// Ready repeats the status of the condition Ready: this book's own rates
	// can be read.
	// +optional
	Ready metav1.ConditionStatus `json:"ready,omitempty"`

	// ObservedGeneration is the generation of the spec that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions: Ready says whether the book's own rates can be read, Active
	// whether it was elected, Synced whether the last attempt succeeded.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(c, c.lastTransitionTime >= timestamp('1970-01-01T00:00:00Z'))",message="must be of times from 1970 on"
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ActivePricing is the pricing document that OpenCost was given. It is
	// there on the book in force only, and only while that book is ready.
	// +optional
	ActivePricing map[string]string `json:"activePricing,omitempty"`
}

// A PriceBook is a price list. The books of all namespaces stand for election,
// and exactly one of them is in force: those annotated
// finops.stakater.com/active="true" come first, then the one in force, then any;
// among several the youngest.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories={finops}
// +kubebuilder:printcolumn:name="Active",type=boolean,JSONPath=`.status.active`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.ready`
// +kubebuilder:printcolumn:name="SYNCED",type=string,JSONPath=`.status.conditions[?(@.type=='Synced')].status`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type PriceBook struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the price list.
	Spec PriceBookSpec `json:"spec"`

	// Status says whether it is sound and in force.
	// +optional
	Status PriceBookStatus `json:"status,omitempty"`
}

// PriceBookList is a list of PriceBooks.
// +kubebuilder:object:root=true
type PriceBookList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []PriceBook `json:"items"`
}

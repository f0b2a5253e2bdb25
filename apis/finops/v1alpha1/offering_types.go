package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// OfferingFinalizer keeps a deleted Offering until nothing depends on it.
const OfferingFinalizer = "offerings.finops.stakater.com/finalizer"

// AnnotationAllowedNamespaces on an Offering lists, separated by commas, whose
// Subscriptions may be activated (BETTER-SEC-3).
const AnnotationAllowedNamespaces = "finops.stakater.com/allowed-namespaces"

// OfferingSpec is what is sold. It is frozen at creation, additions included:
// to change terms, create another Offering.
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="offering spec is immutable"
type OfferingSpec struct {
	// Pricing is what a Subscription to the Offering is charged. An empty block
	// charges nothing.
	Pricing Pricing `json:"pricing"`

	// Compatibility says what a Subscription to the Offering needs beside it.
	// +optional
	Compatibility *Compatibility `json:"compatibility,omitempty"`

	// Lifecycle says what becomes of a Subscription to the Offering when its
	// parent ends.
	// +optional
	Lifecycle *OfferingLifecycle `json:"lifecycle,omitempty"`
}

// Pricing is a fee, prices for usage, both or neither.
type Pricing struct {
	// SubscriptionFee is charged for every period, whatever is used.
	// +optional
	SubscriptionFee *SubscriptionFee `json:"subscriptionFee,omitempty"`

	// ResourcePricing are the meters by which usage is charged, at the rates of
	// the price book in force when the usage was measured.
	// +optional
	// +listType=atomic
	ResourcePricing []Meter `json:"resourcePricing,omitempty"`
}

// A TickAlignment is the grid on which fees fall due.
// +kubebuilder:validation:Enum=ActivatedAt;HourBoundary;DayBoundary;MonthBoundary
type TickAlignment string

const (
	// TickAlignmentActivatedAt counts periods from the activation.
	TickAlignmentActivatedAt TickAlignment = "ActivatedAt"

	// TickAlignmentHourBoundary counts whole hours of UTC.
	TickAlignmentHourBoundary TickAlignment = "HourBoundary"

	// TickAlignmentDayBoundary counts days from midnight UTC.
	TickAlignmentDayBoundary TickAlignment = "DayBoundary"

	// TickAlignmentMonthBoundary counts months from the first of the month.
	TickAlignmentMonthBoundary TickAlignment = "MonthBoundary"
)

// A SubscriptionFee falls due at the end of every period. The opening period of
// the three boundary alignments is charged in proportion to its length, the
// closing one always in full.
// +kubebuilder:validation:XValidation:rule="self.tickAlignment == 'ActivatedAt' ? self.period.matches('^0*[1-9][0-9]*[hms]$') : self.tickAlignment == 'HourBoundary' ? self.period.matches('^0*[1-9][0-9]{0,5}h?$') : self.tickAlignment == 'DayBoundary' ? self.period.matches('^0*[1-9][0-9]{0,4}d?$') : self.period.matches('^0*[1-9][0-9]{0,2}(mo)?$')",message="period must be a Go duration (e.g. '1h') for ActivatedAt alignment, or a plain integer for boundary alignments"
type SubscriptionFee struct {
	// Period is the length of a billing period. Under ActivatedAt it is a number
	// of hours, minutes or seconds with its unit: 1h, 90m, 3600s. Under the
	// boundary alignments it is a number of hours, days or months, with or
	// without its unit: "2" or 2h, "7" or 7d, "3" or 3mo. Zero is refused.
	// +kubebuilder:validation:MaxLength=8
	Period string `json:"period"`

	// TickAlignment is the grid on which the fee falls due: counted from the
	// activation, or on whole hours, days or months of UTC.
	TickAlignment TickAlignment `json:"tickAlignment"`

	// MinPeriods is how many periods have to pass since the activation before a
	// deleted Subscription is let go. It delays the deletion and is not charged:
	// nothing is billed after the end.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MinPeriods *int32 `json:"minPeriods,omitempty"`

	// PriceMicros is the price of one period, in millionths of the currency:
	// 19000000 is 19.00.
	// +kubebuilder:validation:Minimum=1
	PriceMicros int64 `json:"priceMicros"`
}

// A Meter charges one kind of usage.
type Meter struct {
	// Name is what is measured. A meter named subscription charges nothing: fees
	// are declared as subscriptionFee.
	Name MeterName `json:"name"`

	// Margins adjust the rate of the price book. Without them usage costs what
	// the book says.
	// +optional
	Margins *Margins `json:"margins,omitempty"`
}

// Margins adjust a rate, by a factor or by an amount. An explicit zero counts:
// a factor of zero makes the usage free, an amount of zero adds nothing.
// +kubebuilder:validation:XValidation:rule="!(has(self.absoluteMicros) && has(self.factorMilli))",message="absoluteMicros and factorMilli are mutually exclusive — set only one"
// +kubebuilder:validation:XValidation:rule="!has(self.absoluteMicros) || self.absoluteMicros >= 0",message="absoluteMicros must be >= 0"
// +kubebuilder:validation:XValidation:rule="!has(self.factorMilli) || self.factorMilli >= 0",message="factorMilli must be >= 0"
type Margins struct {
	// AbsoluteMicros is added to the rate, in millionths of the currency per
	// unit of the meter.
	// +optional
	AbsoluteMicros *int64 `json:"absoluteMicros,omitempty"`

	// FactorMilli multiplies the rate, in thousandths: 1250 is a quarter more.
	// +optional
	FactorMilli *int64 `json:"factorMilli,omitempty"`
}

// Compatibility says what an Offering needs beside it.
type Compatibility struct {
	// RequiredOfferings are the Offerings that other active Subscriptions of the
	// same family have to be bound to, descendants not counted, for a
	// Subscription to this Offering to be active and to stay so.
	// +optional
	// +listType=atomic
	RequiredOfferings []ObjectReference `json:"requiredOfferings,omitempty"`
}

// OfferingLifecycle is the default for Subscriptions that have no lifecycle
// block of their own.
type OfferingLifecycle struct {
	// OnParentDeactivate is what happens to an active Subscription when its
	// parent ends: Deactivate ends it too, Orphan lets it go on without one.
	// +optional
	// +kubebuilder:default=Deactivate
	OnParentDeactivate ParentDeactivateAction `json:"onParentDeactivate,omitempty"`

	// AllowOverride says whether a Subscription may choose otherwise. It is
	// enforced only where the controller is told to (--enforce-allow-override).
	// +optional
	AllowOverride *bool `json:"allowOverride,omitempty"`
}

// OfferingStatus says whether the Offering can be subscribed to, and at which
// prices it was published.
type OfferingStatus struct {
	// Ready repeats the status of the condition Ready.
	// +optional
	Ready metav1.ConditionStatus `json:"ready,omitempty"`

	// Conditions: Ready says whether the Offering can be subscribed to,
	// PricingResolved whether its prices are published, Deleting what holds it
	// after it was deleted, Synced whether the last attempt succeeded.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(c, c.lastTransitionTime >= timestamp('1970-01-01T00:00:00Z'))",message="must be of times from 1970 on"
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ResolvedPricing are the prices as they were when the Offering became
	// ready. They are published once: usage is charged at the rates in force
	// when it was measured, which may be others.
	// +optional
	ResolvedPricing *ResolvedPricing `json:"resolvedPricing,omitempty"`
}

// ResolvedPricing is a published price list.
type ResolvedPricing struct {
	// ResolvedAt is when the prices were published.
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z') && self < timestamp('9999-01-01T00:00:00Z')",message="must be a time from 1970 to 9998"
	ResolvedAt metav1.Time `json:"resolvedAt"`

	// Meters are the prices for usage, one for each meter of the spec.
	// +listType=map
	// +listMapKey=name
	Meters []ResolvedMeter `json:"meters"`

	// SubscriptionFee is the fee of the spec, its period with its unit.
	// +optional
	SubscriptionFee *SubscriptionFee `json:"subscriptionFee,omitempty"`
}

// A ResolvedMeter is the price for one kind of usage.
type ResolvedMeter struct {
	// Name is what is measured.
	Name MeterName `json:"name"`

	// UnitPriceMicros is the price of one unit with the margin applied, in
	// millionths of the currency.
	// +optional
	UnitPriceMicros int64 `json:"unitPriceMicros"`

	// IncludedUsage is reserved; it is never set.
	// +optional
	IncludedUsage *ResolvedIncludedUsage `json:"includedUsage,omitempty"`
}

// ResolvedIncludedUsage is an amount of usage without charge. Reserved.
type ResolvedIncludedUsage struct {
	// Value is how much.
	Value int64 `json:"value"`

	// Unit is of what.
	Unit string `json:"unit"`
}

// An Offering is something that can be subscribed to, with its price. Its spec
// never changes.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories={finops}
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.ready`
// +kubebuilder:printcolumn:name="SYNCED",type=string,JSONPath=`.status.conditions[?(@.type=='Synced')].status`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:selectablefield:JSONPath=`.status.ready`
type Offering struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is sold. It never changes.
	Spec OfferingSpec `json:"spec"`

	// Status says whether the Offering can be subscribed to.
	// +optional
	Status OfferingStatus `json:"status,omitempty"`
}

// OfferingList is a list of Offerings.
// +kubebuilder:object:root=true
type OfferingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Offering `json:"items"`
}

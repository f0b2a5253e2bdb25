package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// FinOpsProviderName is the only name a FinOpsProvider may have.
	FinOpsProviderName = "default"

	// PricingModelSourcePricebook is the one value of pricingModelSource that
	// means anything; it is compared letter by letter.
	PricingModelSourcePricebook = "Pricebook"
)

// FinOpsProviderSpec says where the cluster runs: exactly one block is set, and
// an empty block counts as set.
// +kubebuilder:validation:XValidation:rule="has(self.awsoptions) || has(self.gcpoptions) || has(self.azureoptions) || has(self.onpremoptions)",message="At least one provider option (awsoptions, gcpoptions, azureoptions, onpremoptions) must be set"
// +kubebuilder:validation:XValidation:rule="(has(self.awsoptions) ? 1 : 0) + (has(self.gcpoptions) ? 1 : 0) + (has(self.azureoptions) ? 1 : 0) + (has(self.onpremoptions) ? 1 : 0) == 1",message="Exactly one provider option (awsoptions, gcpoptions, azureoptions, onpremoptions) must be set"
type FinOpsProviderSpec struct {
	// AWSOptions: the cluster runs on Amazon Web Services.
	// +optional
	AWSOptions *AWSOptions `json:"awsoptions,omitempty"`

	// GCPOptions: the cluster runs on Google Cloud.
	// +optional
	GCPOptions *GCPOptions `json:"gcpoptions,omitempty"`

	// AzureOptions: the cluster runs on Microsoft Azure.
	// +optional
	AzureOptions *AzureOptions `json:"azureoptions,omitempty"`

	// OnPremOptions: the cluster runs on the owner's machines, so OpenCost is
	// always given custom pricing.
	// +optional
	OnPremOptions *OnPremOptions `json:"onpremoptions,omitempty"`
}

// AWSOptions configure OpenCost for Amazon Web Services.
type AWSOptions struct {
	CloudOptions `json:",inline"`
}

// GCPOptions configure OpenCost for Google Cloud.
type GCPOptions struct {
	CloudOptions `json:",inline"`
}

// AzureOptions configure OpenCost for Microsoft Azure.
type AzureOptions struct {
	CloudOptions `json:",inline"`
}

// CloudOptions are what the three cloud vendors have in common.
type CloudOptions struct {
	// CloudIntegrationSecret is the name of the Secret that OpenCost uses for
	// its cloud integration. The name is handed to OpenCost as it is; the
	// Secret itself is never read. While it is empty the block has no effect.
	// +optional
	CloudIntegrationSecret string `json:"cloudIntegrationSecret,omitempty"`

	// PricingModelSource says where OpenCost's prices come from. The exact
	// value Pricebook switches OpenCost's custom pricing on; any other value,
	// also an empty one, leaves that switch alone. Price books are written to
	// OpenCost's pricing document whatever stands here.
	// +optional
	PricingModelSource string `json:"pricingModelSource,omitempty"`
}

// OnPremOptions configure OpenCost for a cluster outside the clouds.
type OnPremOptions struct {
	// PricingModelSource has no effect here: custom pricing is always switched
	// on outside the clouds.
	// +optional
	PricingModelSource string `json:"pricingModelSource,omitempty"`
}

// FinOpsProviderStatus says whether OpenCost is configured as the spec wants.
type FinOpsProviderStatus struct {
	// ObservedGeneration is the generation of the spec that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions: Ready says whether a provider option matched and OpenCost's
	// resource carries its values, Synced whether the last attempt succeeded.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(c, c.lastTransitionTime >= timestamp('1970-01-01T00:00:00Z'))",message="must be of times from 1970 on"
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// LastSyncTime is when the values were last applied, or last found in
	// place after the spec had changed.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z') && self < timestamp('9999-01-01T00:00:00Z')",message="must be a time from 1970 to 9998"
	LastSyncTime *metav1.Time `json:"lastSyncTime,omitempty"`
}

// A FinOpsProvider says where the cluster runs. There is one, named default.
// Deleting it undoes nothing, and neither collection nor billing read it.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories={finops}
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`
// +kubebuilder:printcolumn:name="SYNCED",type=string,JSONPath=`.status.conditions[?(@.type=='Synced')].status`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name == 'default'",message="FinOpsProvider must be named 'default' (singleton)."
type FinOpsProvider struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says where the cluster runs.
	Spec FinOpsProviderSpec `json:"spec"`

	// Status says whether OpenCost is configured accordingly.
	// +optional
	Status FinOpsProviderStatus `json:"status,omitempty"`
}

// FinOpsProviderList is a list of FinOpsProviders.
// +kubebuilder:object:root=true
type FinOpsProviderList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []FinOpsProvider `json:"items"`
}

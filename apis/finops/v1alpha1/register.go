package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// Group is the API group of the billing kinds.
	Group = "finops.stakater.com"

	// Version is its only version, served and stored.
	Version = "v1alpha1"
)

var (
	// GroupVersion names group and version of this package.
	GroupVersion = schema.GroupVersion{Group: Group, Version: Version}

	// SchemeBuilder collects what AddToScheme registers.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme registers the kinds of this package.
	AddToScheme = SchemeBuilder.AddToScheme
)

// The kinds of the group, as the runtime and owner references want them.
var (
	FinOpsProviderGroupVersionKind = GroupVersion.WithKind("FinOpsProvider")
	PriceBookGroupVersionKind      = GroupVersion.WithKind("PriceBook")
	CostJobGroupVersionKind        = GroupVersion.WithKind("CostJob")
	OfferingGroupVersionKind       = GroupVersion.WithKind("Offering")
	SubscriptionGroupVersionKind   = GroupVersion.WithKind("Subscription")
)

func addKnownTypes(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&FinOpsProvider{}, &FinOpsProviderList{},
		&PriceBook{}, &PriceBookList{},
		&CostJob{}, &CostJobList{},
		&Offering{}, &OfferingList{},
		&Subscription{}, &SubscriptionList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)

	return nil
}

package v1alpha1

import (
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
)

// The kinds of this group are managed resources without the fields that managed
// resources usually have: no forProvider, no provider configuration, no
// connection secret, no management policies. These methods say so to the
// runtime, which then does without. Setters of absent fields do nothing.
var (
	_ resource.ModernManaged = &FinOpsProvider{}
	_ resource.ModernManaged = &PriceBook{}
	_ resource.ModernManaged = &CostJob{}
	_ resource.ModernManaged = &Offering{}
	_ resource.ModernManaged = &Subscription{}

	_ resource.ManagedList = &FinOpsProviderList{}
	_ resource.ManagedList = &PriceBookList{}
	_ resource.ManagedList = &CostJobList{}
	_ resource.ManagedList = &OfferingList{}
	_ resource.ManagedList = &SubscriptionList{}
)

// GetCondition returns the condition of the type, Unknown if there is none.
func (p *FinOpsProvider) GetCondition(t xpv2.ConditionType) xpv2.Condition {
	return runtimeCondition(p.Status.Conditions, t)
}

// SetConditions takes conditions of the runtime; its generic words on Ready are
// left out. Our own go through Report.
func (p *FinOpsProvider) SetConditions(c ...xpv2.Condition) {
	p.Report(fromRuntime(c)...)
}

// GetManagementPolicies returns none: everything is managed.
func (p *FinOpsProvider) GetManagementPolicies() xpv2.ManagementPolicies { return nil }

// SetManagementPolicies does nothing.
func (p *FinOpsProvider) SetManagementPolicies(xpv2.ManagementPolicies) {}

// GetProviderConfigReference returns nil: the process is configured, not the object.
func (p *FinOpsProvider) GetProviderConfigReference() *xpv2.ProviderConfigReference { return nil }

// SetProviderConfigReference does nothing.
func (p *FinOpsProvider) SetProviderConfigReference(*xpv2.ProviderConfigReference) {}

// GetWriteConnectionSecretToReference returns nil: there is nothing to connect to.
func (p *FinOpsProvider) GetWriteConnectionSecretToReference() *xpv2.LocalSecretReference { return nil }

// SetWriteConnectionSecretToReference does nothing.
func (p *FinOpsProvider) SetWriteConnectionSecretToReference(*xpv2.LocalSecretReference) {}

// GetItems returns the items as managed resources.
func (l *FinOpsProviderList) GetItems() []resource.Managed {
	items := make([]resource.Managed, len(l.Items))
	for i := range l.Items {
		items[i] = &l.Items[i]
	}

	return items
}

// GetCondition returns the condition of the type, Unknown if there is none.
func (b *PriceBook) GetCondition(t xpv2.ConditionType) xpv2.Condition {
	return runtimeCondition(b.Status.Conditions, t)
}

// SetConditions takes conditions of the runtime; its generic words on Ready are
// left out. Our own go through Report.
func (b *PriceBook) SetConditions(c ...xpv2.Condition) {
	b.Report(fromRuntime(c)...)
}

// GetManagementPolicies returns none: everything is managed.
func (b *PriceBook) GetManagementPolicies() xpv2.ManagementPolicies { return nil }

// SetManagementPolicies does nothing.
func (b *PriceBook) SetManagementPolicies(xpv2.ManagementPolicies) {}

// GetProviderConfigReference returns nil: the process is configured, not the object.
func (b *PriceBook) GetProviderConfigReference() *xpv2.ProviderConfigReference { return nil }

// SetProviderConfigReference does nothing.
func (b *PriceBook) SetProviderConfigReference(*xpv2.ProviderConfigReference) {}

// GetWriteConnectionSecretToReference returns nil: there is nothing to connect to.
func (b *PriceBook) GetWriteConnectionSecretToReference() *xpv2.LocalSecretReference { return nil }

// SetWriteConnectionSecretToReference does nothing.
func (b *PriceBook) SetWriteConnectionSecretToReference(*xpv2.LocalSecretReference) {}

// GetItems returns the items as managed resources.
func (l *PriceBookList) GetItems() []resource.Managed {
	items := make([]resource.Managed, len(l.Items))
	for i := range l.Items {
		items[i] = &l.Items[i]
	}

	return items
}

// GetCondition returns the condition of the type, Unknown if there is none.
func (j *CostJob) GetCondition(t xpv2.ConditionType) xpv2.Condition {
	return runtimeCondition(j.Status.Conditions, t)
}

// SetConditions takes conditions of the runtime; its generic words on Ready are
// left out. Our own go through Report.
func (j *CostJob) SetConditions(c ...xpv2.Condition) {
	j.Report(fromRuntime(c)...)
}

// GetManagementPolicies returns none: everything is managed.
func (j *CostJob) GetManagementPolicies() xpv2.ManagementPolicies { return nil }

// SetManagementPolicies does nothing.
func (j *CostJob) SetManagementPolicies(xpv2.ManagementPolicies) {}

// GetProviderConfigReference returns nil: the process is configured, not the object.
func (j *CostJob) GetProviderConfigReference() *xpv2.ProviderConfigReference { return nil }

// SetProviderConfigReference does nothing.
func (j *CostJob) SetProviderConfigReference(*xpv2.ProviderConfigReference) {}

// GetWriteConnectionSecretToReference returns nil: there is nothing to connect to.
func (j *CostJob) GetWriteConnectionSecretToReference() *xpv2.LocalSecretReference { return nil }

// SetWriteConnectionSecretToReference does nothing.
func (j *CostJob) SetWriteConnectionSecretToReference(*xpv2.LocalSecretReference) {}

// GetItems returns the items as managed resources.
func (l *CostJobList) GetItems() []resource.Managed {
	items := make([]resource.Managed, len(l.Items))
	for i := range l.Items {
		items[i] = &l.Items[i]
	}

	return items
}

// GetCondition returns the condition of the type, Unknown if there is none.
func (o *Offering) GetCondition(t xpv2.ConditionType) xpv2.Condition {
	return runtimeCondition(o.Status.Conditions, t)
}

// SetConditions takes conditions of the runtime; its generic words on Ready are
// left out. Our own go through Report.
func (o *Offering) SetConditions(c ...xpv2.Condition) {
	o.Report(fromRuntime(c)...)
}

// GetManagementPolicies returns none: everything is managed.
func (o *Offering) GetManagementPolicies() xpv2.ManagementPolicies { return nil }

// SetManagementPolicies does nothing.
func (o *Offering) SetManagementPolicies(xpv2.ManagementPolicies) {}

// GetProviderConfigReference returns nil: the process is configured, not the object.
func (o *Offering) GetProviderConfigReference() *xpv2.ProviderConfigReference { return nil }

// SetProviderConfigReference does nothing.
func (o *Offering) SetProviderConfigReference(*xpv2.ProviderConfigReference) {}

// GetWriteConnectionSecretToReference returns nil: there is nothing to connect to.
func (o *Offering) GetWriteConnectionSecretToReference() *xpv2.LocalSecretReference { return nil }

// SetWriteConnectionSecretToReference does nothing.
func (o *Offering) SetWriteConnectionSecretToReference(*xpv2.LocalSecretReference) {}

// GetItems returns the items as managed resources.
func (l *OfferingList) GetItems() []resource.Managed {
	items := make([]resource.Managed, len(l.Items))
	for i := range l.Items {
		items[i] = &l.Items[i]
	}

	return items
}

// GetCondition returns the condition of the type, Unknown if there is none.
func (s *Subscription) GetCondition(t xpv2.ConditionType) xpv2.Condition {
	return runtimeCondition(s.Status.Conditions, t)
}

// SetConditions takes conditions of the runtime; its generic words on Ready are
// left out. Our own go through Report.
func (s *Subscription) SetConditions(c ...xpv2.Condition) {
	s.Report(fromRuntime(c)...)
}

// GetManagementPolicies returns none: everything is managed.
func (s *Subscription) GetManagementPolicies() xpv2.ManagementPolicies { return nil }

// SetManagementPolicies does nothing.
func (s *Subscription) SetManagementPolicies(xpv2.ManagementPolicies) {}

// GetProviderConfigReference returns nil: the process is configured, not the object.
func (s *Subscription) GetProviderConfigReference() *xpv2.ProviderConfigReference { return nil }

// SetProviderConfigReference does nothing.
func (s *Subscription) SetProviderConfigReference(*xpv2.ProviderConfigReference) {}

// GetWriteConnectionSecretToReference returns nil: there is nothing to connect to.
func (s *Subscription) GetWriteConnectionSecretToReference() *xpv2.LocalSecretReference { return nil }

// SetWriteConnectionSecretToReference does nothing.
func (s *Subscription) SetWriteConnectionSecretToReference(*xpv2.LocalSecretReference) {}

// GetItems returns the items as managed resources.
func (l *SubscriptionList) GetItems() []resource.Managed {
	items := make([]resource.Managed, len(l.Items))
	for i := range l.Items {
		items[i] = &l.Items[i]
	}

	return items
}

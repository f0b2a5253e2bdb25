// Package cloud decides what OpenCost has to be told about the place where a
// cluster runs.
//
// The four blocks of a FinOpsProvider are looked at in one order, and the first
// that says something decides. A cloud block says something only if it names a
// Secret, which is not the same as running outside the clouds (part 20.1).
package cloud

import "fmt"

// Pricebook is the one pricing model source that means anything. Every other
// text leaves OpenCost's custom pricing as it is.
const Pricebook = "Pricebook"

// A Vendor is the block of one cloud vendor.
type Vendor struct {
	// IntegrationSecret is the name of the Secret that OpenCost uses.
	IntegrationSecret string

	// PricingModelSource is where prices come from.
	PricingModelSource string
}

// Options are the blocks of a FinOpsProvider; those not set are nil.
type Options struct {
	AWS   *Vendor
	GCP   *Vendor
	Azure *Vendor

	// OnPremises says that the block for clusters outside the clouds is set.
	OnPremises bool
}

// Settings are what OpenCost is to be told. They only switch things on: what a
// zero field would mean is left as it is.
type Settings struct {
	// IntegrationSecret switches the costs of the cloud's own services on, with
	// the Secret of that name.
	IntegrationSecret string

	// CustomPricing switches pricing by price books on.
	CustomPricing bool
}

// vendors are the blocks of the clouds in the order in which they are looked at,
// by the names that users know.
func (o Options) vendors() []block {
	return []block{{"awsoptions", o.AWS}, {"gcpoptions", o.GCP}, {"azureoptions", o.Azure}}
}

type block struct {
	name   string
	vendor *Vendor
}

// Select returns the settings of the first block that says something, or false
// if none does.
func (o Options) Select() (Settings, bool) {
	for _, v := range o.vendors() {
		if v.vendor != nil && v.vendor.IntegrationSecret != "" {
			return Settings{
				IntegrationSecret: v.vendor.IntegrationSecret,
				CustomPricing:     v.vendor.PricingModelSource == Pricebook,
			}, true
		}
	}
	if o.OnPremises {
		return Settings{CustomPricing: true}, true
	}

	return Settings{}, false
}

// Remark says what in the blocks has no effect, although whoever wrote it will
// have expected one; mostly nothing. It never repeats the name of a Secret.
func (o Options) Remark() string {
	for _, v := range o.vendors() {
		switch {
		case v.vendor == nil:
			continue
		case v.vendor.IntegrationSecret == "":
			return v.name + " needs a cloudIntegrationSecret and has no effect without"
		case v.vendor.PricingModelSource != "" && v.vendor.PricingModelSource != Pricebook:
			return fmt.Sprintf("pricingModelSource %q of %s has no effect; only %s switches custom pricing on", v.vendor.PricingModelSource, v.name, Pricebook)
		}
	}

	return ""
}

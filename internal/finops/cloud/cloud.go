// Package cloud decides what OpenCost has to be told about the place where a
// cluster runs.
//
// The four blocks of a FinOpsProvider are looked at in one order, and the first
// that says something decides. A cloud block says something only if it names a
// Secret, which is not the same as running outside the clouds (part 20.1).
package cloud

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

// Select returns the settings of the first block that says something, or false
// if none does.
func (o Options) Select() (Settings, bool) {
	for _, v := range []*Vendor{o.AWS, o.GCP, o.Azure} {
		if v != nil && v.IntegrationSecret != "" {
			return Settings{
				IntegrationSecret: v.IntegrationSecret,
				CustomPricing:     v.PricingModelSource == Pricebook,
			}, true
		}
	}
	if o.OnPremises {
		return Settings{CustomPricing: true}, true
	}

	return Settings{}, false
}

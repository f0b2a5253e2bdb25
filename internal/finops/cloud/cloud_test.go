package cloud

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSelect is the table of part 20.1, "Branch selection".
func TestSelect(t *testing.T) {
	type want struct {
		Settings Settings
		OK       bool
	}
	cases := map[string]struct {
		reason  string
		options Options
		want    want
	}{
		"AWS": {
			reason:  "A block with a Secret is a branch.",
			options: Options{AWS: &Vendor{IntegrationSecret: "aws"}},
			want:    want{Settings{IntegrationSecret: "aws"}, true},
		},
		"GCPPricebook": {
			reason:  "The one text that means something.",
			options: Options{GCP: &Vendor{IntegrationSecret: "gcp", PricingModelSource: "Pricebook"}},
			want:    want{Settings{IntegrationSecret: "gcp", CustomPricing: true}, true},
		},
		"AzurePriceBook": {
			reason:  "Capital P, lower-case b, and nothing else.",
			options: Options{Azure: &Vendor{IntegrationSecret: "azure", PricingModelSource: "PriceBook"}},
			want:    want{Settings{IntegrationSecret: "azure"}, true},
		},
		"CloudWithoutSecret": {
			reason:  "Pricing alone is no branch.",
			options: Options{AWS: &Vendor{PricingModelSource: "Pricebook"}},
			want:    want{Settings{}, false},
		},
		"OnPremises": {
			reason:  "Custom pricing is switched on without being asked for.",
			options: Options{OnPremises: true},
			want:    want{Settings{CustomPricing: true}, true},
		},
		"FirstThatHolds": {
			reason:  "The walk goes on past a block that says nothing.",
			options: Options{AWS: &Vendor{}, GCP: &Vendor{IntegrationSecret: "gcp"}, OnPremises: true},
			want:    want{Settings{IntegrationSecret: "gcp"}, true},
		},
		"None": {
			reason: "Nothing set, nothing said.",
			want:   want{Settings{}, false},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s, ok := tc.options.Select()
			if diff := cmp.Diff(tc.want, want{s, ok}); diff != "" {
				t.Errorf("\n%s\nSelect(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRemark lists what users write in vain.
func TestRemark(t *testing.T) {
	cases := map[string]struct {
		reason  string
		options Options
		want    string
	}{
		"Nothing": {
			reason: "Without a block there is nothing to remark on.",
		},
		"OnPremises": {
			reason:  "Outside the clouds everything has its effect.",
			options: Options{OnPremises: true},
		},
		"Effective": {
			reason:  "What works needs no words.",
			options: Options{AWS: &Vendor{IntegrationSecret: "s", PricingModelSource: "Pricebook"}},
		},
		"LeftAlone": {
			reason:  "No source means to leave pricing alone, and is no mistake.",
			options: Options{AWS: &Vendor{IntegrationSecret: "s"}},
		},
		"NoSecret": {
			reason:  "The block that was meant is named.",
			options: Options{Azure: &Vendor{PricingModelSource: "Pricebook"}},
			want:    "azureoptions needs a cloudIntegrationSecret and has no effect without",
		},
		"OtherSource": {
			reason:  "The value is compared exactly, which a typing error does not show; the Secret is not repeated.",
			options: Options{GCP: &Vendor{IntegrationSecret: "hidden", PricingModelSource: "pricebook"}},
			want:    `pricingModelSource "pricebook" of gcpoptions has no effect; only Pricebook switches custom pricing on`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.options.Remark()); diff != "" {
				t.Errorf("\n%s\nRemark(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

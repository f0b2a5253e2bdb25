package v1alpha1_test

import (
	"context"
	"testing"

	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

const (
	notNamedDefault = "FinOpsProvider must be named 'default' (singleton)."
	noOption        = "At least one provider option (awsoptions, gcpoptions, azureoptions, onpremoptions) must be set"
	notOneOption    = "Exactly one provider option (awsoptions, gcpoptions, azureoptions, onpremoptions) must be set"
	notADuration    = "must be a Go duration such as 90s, 1h or 24h"
	badPeriod       = "period must be a Go duration (e.g. '1h') for ActivatedAt alignment, or a plain integer for boundary alignments"
	bothMargins     = "absoluteMicros and factorMilli are mutually exclusive — set only one"
	emptySource     = "at least one of resourceType, name, or namespace must be set"
)

// TestCreate tries every rule of part 10 that holds for a new object, with an
// object that is accepted and one that is refused.
func TestCreate(t *testing.T) {
	c := apitest.Client(t)
	ns := apitest.Namespace(t, c)

	fee := func(alignment, period string) change {
		return change{"spec.pricing.subscriptionFee", map[string]any{"tickAlignment": alignment, "period": period, "priceMicros": int64(1)}}
	}
	feeWithout := func(field string) change {
		f := map[string]any{"tickAlignment": "ActivatedAt", "period": "1h", "priceMicros": int64(1)}
		delete(f, field)
		return change{"spec.pricing.subscriptionFee", f}
	}
	meter := func(name string, margins map[string]any) change {
		m := map[string]any{"name": name}
		if margins != nil {
			m["margins"] = margins
		}
		return change{"spec.pricing.resourcePricing", []any{m}}
	}
	source := func(s map[string]any) change { return change{"spec.usageSources", []any{s}} }
	empty := map[string]any{}

	cases := map[string]struct {
		reason   string
		manifest string
		changes  []change
		want     refusal
	}{
		"ProviderDefault": {reason: "The singleton has its name.", manifest: provider},
		"ProviderNamedOtherwise": {
			reason: "There is one provider.", manifest: provider,
			changes: []change{{"metadata.name", "other"}},
			want:    refusal{"<nil>", notNamedDefault},
		},
		"ProviderEmptyBlocks": {
			reason: "An empty block counts as set.", manifest: provider,
			changes: []change{{"spec.onpremoptions", absent}, {"spec.awsoptions", empty}},
		},
		"ProviderWithoutSpec": {
			reason: "Without a spec its rules would never run (OPEN-API-2).", manifest: provider,
			changes: []change{{"spec", absent}},
			want:    refusal{"spec", "Required value"},
		},
		"ProviderNoOption": {
			reason: "An empty spec says nothing.", manifest: provider,
			changes: []change{{"spec", empty}},
			want:    refusal{"spec", noOption},
		},
		"ProviderNoOptionEither": {
			reason: "An empty spec fails both rules.", manifest: provider,
			changes: []change{{"spec", empty}},
			want:    refusal{"spec", notOneOption},
		},
		"ProviderTwoOptions": {
			reason: "A cluster runs in one place.", manifest: provider,
			changes: []change{{"spec.gcpoptions", empty}},
			want:    refusal{"spec", notOneOption},
		},
		"ProviderAllOptions": {
			reason: "A cluster runs in one place.", manifest: provider,
			changes: []change{{"spec.awsoptions", empty}, {"spec.gcpoptions", empty}, {"spec.azureoptions", empty}},
			want:    refusal{"spec", notOneOption},
		},

		"BookMinimal":       {reason: "Rates are optional in the schema.", manifest: priceBook},
		"BookPercent":       {reason: "The mode is accepted.", manifest: priceBook, changes: []change{{"spec.valuationMode", "percent"}}},
		"BookOtherMode":     {reason: "There are two modes.", manifest: priceBook, changes: []change{{"spec.valuationMode", "Currency"}}, want: refusal{"spec.valuationMode", `supported values: "currency", "percent"`}},
		"BookWithoutMode":   {reason: "The mode has no default.", manifest: priceBook, changes: []change{{"spec.valuationMode", absent}}, want: refusal{"spec.valuationMode", "Required value"}},
		"BookWithoutSpec":   {reason: "A book is its prices.", manifest: priceBook, changes: []change{{"spec", absent}}, want: refusal{"spec", "Required value"}},
		"CurrencyLowerCase": {reason: "Currency codes are capitals.", manifest: priceBook, changes: []change{{"spec.currency", "eur"}}, want: refusal{"spec.currency", "in body should match '^[A-Z]{3}$'"}},
		"CurrencyTooLong":   {reason: "Currency codes have three letters.", manifest: priceBook, changes: []change{{"spec.currency", "EURO"}}, want: refusal{"spec.currency", "in body should match '^[A-Z]{3}$'"}},
		"CurrencyMissing":   {reason: "Amounts without a currency mean nothing.", manifest: priceBook, changes: []change{{"spec.currency", absent}}, want: refusal{"spec.currency", "Required value"}},

		"JobWithoutSpec":     {reason: "All of the spec has defaults.", manifest: costJob},
		"JobChargeType":      {reason: "The other collector.", manifest: costJob, changes: []change{{"spec.type", "SubscriptionChargeCollection"}}},
		"JobOtherType":       {reason: "There are two collectors.", manifest: costJob, changes: []change{{"spec.type", "Everything"}}, want: refusal{"spec.type", `supported values: "ResourceCostCollection", "SubscriptionChargeCollection"`}},
		"ShardBounds":        {reason: "The bounds themselves are allowed.", manifest: costJob, changes: []change{{"spec.sharding", map[string]any{"namespacesPerShard": int64(1), "concurrency": int64(32)}}}},
		"ShardOfNone":        {reason: "A query asks for something.", manifest: costJob, changes: []change{{"spec.sharding", map[string]any{"namespacesPerShard": int64(0)}}}, want: refusal{"spec.sharding.namespacesPerShard", "should be greater than or equal to 1"}},
		"ShardNoConcurrency": {reason: "Somebody has to ask.", manifest: costJob, changes: []change{{"spec.sharding", map[string]any{"concurrency": int64(0)}}}, want: refusal{"spec.sharding.concurrency", "should be greater than or equal to 1"}},
		"ShardConcurrency33": {reason: "OpenCost is not to be flooded.", manifest: costJob, changes: []change{{"spec.sharding", map[string]any{"concurrency": int64(33)}}}, want: refusal{"spec.sharding.concurrency", "should be less than or equal to 32"}},

		"OfferingFree":              {reason: "Empty pricing charges nothing and is allowed.", manifest: offering},
		"OfferingWithoutSpec":       {reason: "An Offering is its terms.", manifest: offering, changes: []change{{"spec", absent}}, want: refusal{"spec", "Required value"}},
		"OfferingWithoutPricing":    {reason: "Free is said, not left out.", manifest: offering, changes: []change{{"spec", empty}}, want: refusal{"spec.pricing", "Required value"}},
		"FeeByActivation":           {reason: "A number with a unit.", manifest: offering, changes: []change{fee("ActivatedAt", "90m")}},
		"FeeBadPeriod":              {reason: "One number, one unit.", manifest: offering, changes: []change{fee("ActivatedAt", "1h30m")}, want: refusal{"spec.pricing.subscriptionFee", badPeriod}},
		"FeePeriodTooLong":          {reason: "Eight characters at most.", manifest: offering, changes: []change{fee("ActivatedAt", "12345678h")}, want: refusal{"spec.pricing.subscriptionFee.period", "may not be more than 8 bytes"}},
		"FeeWithoutPeriod":          {reason: "A fee falls due.", manifest: offering, changes: []change{feeWithout("period")}, want: refusal{"spec.pricing.subscriptionFee.period", "Required value"}},
		"FeeWithoutAlignment":       {reason: "The grid has no default.", manifest: offering, changes: []change{feeWithout("tickAlignment")}, want: refusal{"spec.pricing.subscriptionFee.tickAlignment", "Required value"}},
		"FeeWithoutPrice":           {reason: "A fee has an amount.", manifest: offering, changes: []change{feeWithout("priceMicros")}, want: refusal{"spec.pricing.subscriptionFee.priceMicros", "Required value"}},
		"FeeOtherAlignment":         {reason: "There are four grids.", manifest: offering, changes: []change{fee("WeekBoundary", "1")}, want: refusal{"spec.pricing.subscriptionFee.tickAlignment", `supported values: "ActivatedAt", "HourBoundary", "DayBoundary", "MonthBoundary"`}},
		"FeeOfNothing":              {reason: "A free thing has no fee.", manifest: offering, changes: []change{fee("ActivatedAt", "1h"), {"spec.pricing.subscriptionFee.priceMicros", int64(0)}}, want: refusal{"spec.pricing.subscriptionFee.priceMicros", "should be greater than or equal to 1"}},
		"MinPeriodsOne":             {reason: "One period is the least.", manifest: offering, changes: []change{fee("ActivatedAt", "1h"), {"spec.pricing.subscriptionFee.minPeriods", int64(1)}}},
		"MinPeriodsNone":            {reason: "None is said by leaving it out.", manifest: offering, changes: []change{fee("ActivatedAt", "1h"), {"spec.pricing.subscriptionFee.minPeriods", int64(0)}}, want: refusal{"spec.pricing.subscriptionFee.minPeriods", "should be greater than or equal to 1"}},
		"MinPeriodsTooMany":         {reason: "The counter has 32 bits.", manifest: offering, changes: []change{fee("ActivatedAt", "1h"), {"spec.pricing.subscriptionFee.minPeriods", int64(1) << 31}}, want: refusal{"<nil>", "must be of type integer with format int32 in spec.pricing.subscriptionFee.minPeriods"}},
		"MeterEach":                 {reason: "Meters repeat without being refused.", manifest: offering, changes: []change{{"spec.pricing.resourcePricing", []any{map[string]any{"name": "subscription"}, map[string]any{"name": "cpuHour"}, map[string]any{"name": "gpuHour"}, map[string]any{"name": "ramGbHour"}, map[string]any{"name": "pvGbHour"}, map[string]any{"name": "networkGb"}, map[string]any{"name": "networkGb"}}}}},
		"MeterUnknown":              {reason: "The old name is gone.", manifest: offering, changes: []change{meter("pvcGbHour", nil)}, want: refusal{"spec.pricing.resourcePricing[0].name", `supported values: "subscription", "cpuHour", "gpuHour", "ramGbHour", "pvGbHour", "networkGb"`}},
		"MeterUnnamed":              {reason: "A meter is its name.", manifest: offering, changes: []change{{"spec.pricing.resourcePricing", []any{map[string]any{}}}}, want: refusal{"spec.pricing.resourcePricing[0].name", "Required value"}},
		"MarginAbsoluteZero":        {reason: "Plus nothing is a margin (OPEN-API-6).", manifest: offering, changes: []change{meter("cpuHour", map[string]any{"absoluteMicros": int64(0)})}},
		"MarginFactorZero":          {reason: "Times zero is a margin (OPEN-API-6).", manifest: offering, changes: []change{meter("cpuHour", map[string]any{"factorMilli": int64(0)})}},
		"MarginBoth":                {reason: "One adjustment at a time.", manifest: offering, changes: []change{meter("cpuHour", map[string]any{"absoluteMicros": int64(1), "factorMilli": int64(1)})}, want: refusal{"spec.pricing.resourcePricing[0].margins", bothMargins}},
		"MarginAbsoluteNegative":    {reason: "Margins do not subtract.", manifest: offering, changes: []change{meter("cpuHour", map[string]any{"absoluteMicros": int64(-1)})}, want: refusal{"spec.pricing.resourcePricing[0].margins", "absoluteMicros must be >= 0"}},
		"MarginFactorNegative":      {reason: "Usage does not earn.", manifest: offering, changes: []change{meter("cpuHour", map[string]any{"factorMilli": int64(-1)})}, want: refusal{"spec.pricing.resourcePricing[0].margins", "factorMilli must be >= 0"}},
		"RequiresAnother":           {reason: "A full reference.", manifest: offering, changes: []change{{"spec.compatibility.requiredOfferings", []any{map[string]any{"name": "db", "namespace": "catalogue"}}}}},
		"RequiresNoNamespace":       {reason: "A namespace is never filled in (OPEN-API-1).", manifest: offering, changes: []change{{"spec.compatibility.requiredOfferings", []any{map[string]any{"name": "db"}}}}, want: refusal{"spec.compatibility.requiredOfferings[0].namespace", "Required value"}},
		"RequiresEmptyNamespace":    {reason: "Nor is an empty one one.", manifest: offering, changes: []change{{"spec.compatibility.requiredOfferings", []any{map[string]any{"name": "db", "namespace": ""}}}}, want: refusal{"spec.compatibility.requiredOfferings[0].namespace", "should be at least 1 chars long"}},
		"RequiresEmptyName":         {reason: "An empty name can never resolve.", manifest: offering, changes: []change{{"spec.compatibility.requiredOfferings", []any{map[string]any{"name": "", "namespace": "catalogue"}}}}, want: refusal{"spec.compatibility.requiredOfferings[0].name", "should be at least 1 chars long"}},
		"OfferingOrphans":           {reason: "The other policy.", manifest: offering, changes: []change{{"spec.lifecycle", map[string]any{"onParentDeactivate": "Orphan", "allowOverride": false}}}},
		"OfferingOtherPolicy":       {reason: "There are two policies.", manifest: offering, changes: []change{{"spec.lifecycle", map[string]any{"onParentDeactivate": "Ignore"}}}, want: refusal{"spec.lifecycle.onParentDeactivate", `supported values: "Deactivate", "Orphan"`}},
		"SubscriptionMinimal":       {reason: "An Offering is enough.", manifest: subscription},
		"SubscriptionWithoutSpec":   {reason: "Something is subscribed to.", manifest: subscription, changes: []change{{"spec", absent}}, want: refusal{"spec", "Required value"}},
		"SubscriptionNoOffering":    {reason: "Something is subscribed to.", manifest: subscription, changes: []change{{"spec", empty}}, want: refusal{"spec.offeringRef", "Required value"}},
		"OfferingRefNoNamespace":    {reason: "A namespace is never filled in (OPEN-API-1).", manifest: subscription, changes: []change{{"spec.offeringRef.namespace", absent}}, want: refusal{"spec.offeringRef.namespace", "Required value"}},
		"OfferingRefEmptyNamespace": {reason: "Nor is an empty one one.", manifest: subscription, changes: []change{{"spec.offeringRef.namespace", ""}}, want: refusal{"spec.offeringRef.namespace", "should be at least 1 chars long"}},
		"OfferingRefEmptyName":      {reason: "An empty name can never resolve.", manifest: subscription, changes: []change{{"spec.offeringRef.name", ""}}, want: refusal{"spec.offeringRef.name", "should be at least 1 chars long"}},
		"Parent":                    {reason: "A full reference.", manifest: subscription, changes: []change{{"spec.parent.subscriptionRef", map[string]any{"name": "up", "namespace": "team"}}}},
		"ParentEmpty":               {reason: "A parent is named.", manifest: subscription, changes: []change{{"spec.parent", empty}}, want: refusal{"spec.parent.subscriptionRef", "Required value"}},
		"ParentNoNamespace":         {reason: "A namespace is never filled in (OPEN-API-1).", manifest: subscription, changes: []change{{"spec.parent.subscriptionRef", map[string]any{"name": "up"}}}, want: refusal{"spec.parent.subscriptionRef.namespace", "Required value"}},

		"SourceByType":      {reason: "One field is enough.", manifest: subscription, changes: []change{source(map[string]any{"resourceType": "Deployment"})}},
		"SourceByName":      {reason: "One field is enough.", manifest: subscription, changes: []change{source(map[string]any{"name": "pg"})}},
		"SourceByNamespace": {reason: "One field is enough.", manifest: subscription, changes: []change{source(map[string]any{"namespace": "blue"})}},
		"SourceEmpty":       {reason: "It would select the whole cluster.", manifest: subscription, changes: []change{source(empty)}, want: refusal{"spec.usageSources[0]", emptySource}},
		"SourceEmptyText":   {reason: "Empty text selects as much as none (OPEN-API-9).", manifest: subscription, changes: []change{source(map[string]any{"name": "", "namespace": ""})}, want: refusal{"spec.usageSources[0]", emptySource}},
		"SourceOtherType":   {reason: "OpenCost knows seven kinds.", manifest: subscription, changes: []change{source(map[string]any{"resourceType": "Node"})}, want: refusal{"spec.usageSources[0].resourceType", `supported values: "Deployment", "StatefulSet", "Pod", "DaemonSet", "Job", "CronJob", "ReplicaSet"`}},

		"Target":             {reason: "A cluster-scoped target has no namespace.", manifest: subscription, changes: []change{{"spec.lifecycle.targetRef", map[string]any{"apiVersion": "v1", "kind": "Namespace", "name": "blue"}}}},
		"TargetNoVersion":    {reason: "A target has a kind of a version.", manifest: subscription, changes: []change{{"spec.lifecycle.targetRef", map[string]any{"kind": "Namespace", "name": "blue"}}}, want: refusal{"spec.lifecycle.targetRef.apiVersion", "Required value"}},
		"TargetNoKind":       {reason: "A target has a kind.", manifest: subscription, changes: []change{{"spec.lifecycle.targetRef", map[string]any{"apiVersion": "v1", "name": "blue"}}}, want: refusal{"spec.lifecycle.targetRef.kind", "Required value"}},
		"TargetNoName":       {reason: "A target has a name.", manifest: subscription, changes: []change{{"spec.lifecycle.targetRef", map[string]any{"apiVersion": "v1", "kind": "Namespace"}}}, want: refusal{"spec.lifecycle.targetRef.name", "Required value"}},
		"PolicyOrphan":       {reason: "The other policy.", manifest: subscription, changes: []change{{"spec.lifecycle", map[string]any{"onParentDeactivate": "Orphan"}}}},
		"PolicyUnknown":      {reason: "There are two policies.", manifest: subscription, changes: []change{{"spec.lifecycle", map[string]any{"onParentDeactivate": "Delete"}}}, want: refusal{"spec.lifecycle.onParentDeactivate", `supported values: "Deactivate", "Orphan"`}},
		"SourcesInHundreds":  {reason: "No limit is documented.", manifest: subscription, changes: []change{{"spec.usageSources", repeat(500, map[string]any{"name": "x"})}}},
		"RequiresInHundreds": {reason: "No limit is documented.", manifest: offering, changes: []change{{"spec.compatibility.requiredOfferings", repeat(500, map[string]any{"name": "db", "namespace": "catalogue"})}}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			assertRefused(t, tc.reason, dryRun(t, c, object(t, ns, tc.manifest, tc.changes...)), tc.want)
		})
	}
}

func repeat(n int, v any) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = v
	}

	return list
}

// TestUpdate tries what may change on an object that exists and what may not.
func TestUpdate(t *testing.T) {
	c := apitest.Client(t)

	const offeringFixed = "offering spec is immutable"
	const refFixed = "offeringRef is immutable; create a new Subscription instead"
	const parentFixed = "parent is immutable; create a new Subscription instead"
	ref := func(name string) map[string]any { return map[string]any{"name": name, "namespace": "team"} }
	child := []change{{"spec.parent.subscriptionRef", ref("up")}}

	cases := map[string]struct {
		reason   string
		manifest string
		before   []change
		changes  []change
		want     refusal
	}{
		"ProviderMoves":          {reason: "The spec is mutable.", manifest: provider, changes: []change{{"spec", map[string]any{"awsoptions": map[string]any{"cloudIntegrationSecret": "s"}}}}},
		"ProviderSecondOption":   {reason: "The rules hold on update too.", manifest: provider, changes: []change{{"spec.awsoptions", map[string]any{}}}, want: refusal{"spec", notOneOption}},
		"ProviderLosesOption":    {reason: "The rules hold on update too.", manifest: provider, changes: []change{{"spec.onpremoptions", absent}}, want: refusal{"spec", noOption}},
		"BookRates":              {reason: "Price books are edited.", manifest: priceBook, changes: []change{{"spec.rates.cpuHour", "1.5"}}},
		"JobInterval":            {reason: "Schedules are edited.", manifest: costJob, changes: []change{{"spec.interval", "1h"}}},
		"JobPoison":              {reason: "Durations are checked on update too.", manifest: costJob, changes: []change{{"spec.interval", "1d"}}, want: refusal{"spec.interval", notADuration}},
		"OfferingLabels":         {reason: "Metadata stays writable.", manifest: offering, changes: []change{{"metadata.labels", map[string]any{"a": "b"}}, {"metadata.finalizers", []any{"example.org/hold"}}}},
		"OfferingPrice":          {reason: "Terms never change.", manifest: offering, changes: []change{{"spec.pricing.resourcePricing", []any{map[string]any{"name": "cpuHour"}}}}, want: refusal{"spec", offeringFixed}},
		"OfferingGainsCompat":    {reason: "Immutability covers additions.", manifest: offering, changes: []change{{"spec.compatibility", map[string]any{}}}, want: refusal{"spec", offeringFixed}},
		"OfferingGainsLifecycle": {reason: "Immutability covers additions.", manifest: offering, changes: []change{{"spec.lifecycle", map[string]any{}}}, want: refusal{"spec", offeringFixed}},
		"OfferingRefName":        {reason: "What was bought stays bought.", manifest: subscription, changes: []change{{"spec.offeringRef.name", "other"}}, want: refusal{"spec", refFixed}},
		"OfferingRefNamespace":   {reason: "What was bought stays bought.", manifest: subscription, changes: []change{{"spec.offeringRef.namespace", "other"}}, want: refusal{"spec", refFixed}},
		"ParentAdded":            {reason: "Families do not change.", manifest: subscription, changes: child, want: refusal{"spec", parentFixed}},
		"ParentRemoved":          {reason: "Families do not change.", manifest: subscription, before: child, changes: []change{{"spec.parent", absent}}, want: refusal{"spec", parentFixed}},
		"ParentChanged":          {reason: "Families do not change.", manifest: subscription, before: child, changes: []change{{"spec.parent.subscriptionRef", ref("elsewhere")}}, want: refusal{"spec", parentFixed}},
		"ParentKept":             {reason: "The rest stays mutable beside a parent.", manifest: subscription, before: child, changes: []change{{"spec.usageSources", []any{map[string]any{"name": "pg"}}}}},
		"SourcesChanged":         {reason: "What is measured may change.", manifest: subscription, before: []change{{"spec.usageSources", []any{map[string]any{"name": "pg"}}}}, changes: []change{{"spec.usageSources", absent}}},
		"SourcesEmptied":         {reason: "The rule on sources holds on update too.", manifest: subscription, changes: []change{{"spec.usageSources", []any{map[string]any{}}}}, want: refusal{"spec.usageSources[0]", emptySource}},
		"LifecycleChanged":       {reason: "Lifecycle is mutable.", manifest: subscription, changes: []change{{"spec.lifecycle", map[string]any{"onParentDeactivate": "Orphan", "targetRef": map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "namespace": "y"}}}}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u := object(t, apitest.Namespace(t, c), tc.manifest, tc.before...)
			if err := c.Create(context.Background(), u); err != nil {
				t.Fatalf("cannot create the object to change: %v", err)
			}
			t.Cleanup(func() {
				if err := c.Delete(context.Background(), u); err != nil {
					t.Errorf("cannot delete the object: %v", err)
				}
			})
			changed := u.DeepCopy()
			apply(t, changed, tc.changes...)
			err := c.Update(context.Background(), changed)
			if err == nil && len(changed.GetFinalizers()) > 0 {
				changed.SetFinalizers(nil)
				err = c.Update(context.Background(), changed)
			}
			assertRefused(t, tc.reason, err, tc.want)
		})
	}
}

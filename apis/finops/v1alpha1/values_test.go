package v1alpha1_test

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// TestDurations holds the server against Go's parser: whatever the server
// stores, a typed client has to be able to decode, or it could not list a
// single CostJob any more (OPEN-API-4).
func TestDurations(t *testing.T) {
	c := apitest.Client(t)
	ns := apitest.Namespace(t, c)

	fields := []string{
		"interval", "databaseInitTimeout", "kubernetesOperationTimeout", "openCostFetchTimeout", "databaseInsertTimeout",
		"databaseViewsRefreshTimeout", "statusUpdateTimeout", "httpClientTimeout",
	}
	texts := []string{
		"1m", "5m", "1h", "60m", "24h", "1440m", "1h30m", "90s", "1.5h", "0", ".5h", "-1h", "1h1m1s1ms1us1ns", "100µs",
		"1d", "5", "", " 1h", "1h ", "h", "1 h", "1H", "2562047h", "2562048h", "1w", "P1D", "daily",
	}
	for _, text := range texts {
		t.Run("interval="+text, func(t *testing.T) {
			want := refusal{}
			if _, err := time.ParseDuration(text); err != nil {
				want = refusal{"spec.interval", notADuration}
			}
			assertRefused(t, "The server accepts what Go can decode.", dryRun(t, c, object(t, ns, costJob, change{"spec.interval", text})), want)
		})
	}
	for _, field := range fields {
		t.Run(field, func(t *testing.T) {
			path := "spec." + field
			assertRefused(t, "A duration is accepted.", dryRun(t, c, object(t, ns, costJob, change{path, "45s"})), refusal{})
			assertRefused(t, "Days are not durations.", dryRun(t, c, object(t, ns, costJob, change{path, "1d"})), refusal{path, notADuration})
			assertRefused(t, "The rule's cost is bounded by the length.",
				dryRun(t, c, object(t, ns, costJob, change{path, strings.Repeat("0", 32) + "1s"})), refusal{path, "may not be more than 32 bytes"})
		})
	}
}

// TestPeriods is the list of OPEN-API-8 and the bounds of every alignment.
func TestPeriods(t *testing.T) {
	c := apitest.Client(t)
	ns := apitest.Namespace(t, c)

	cases := map[string]struct {
		accepted []string
		refused  []string
	}{
		"ActivatedAt":   {accepted: []string{"1h", "90m", "3600s", "9999999h", "01h"}, refused: []string{"1", "0h", "0", "1h30m", "1d", "1mo", "-1h", "1.5h", "h", "", "1H"}},
		"HourBoundary":  {accepted: []string{"1", "2h", "999999", "999999h", "007"}, refused: []string{"0", "0h", "1d", "1mo", "1m", "1000000", "-1", "1.5", "", "h"}},
		"DayBoundary":   {accepted: []string{"1", "7d", "99999d"}, refused: []string{"0", "1h", "1mo", "100000", "100000d", "-1", ""}},
		"MonthBoundary": {accepted: []string{"1", "3mo", "999mo"}, refused: []string{"0", "0mo", "1m", "1h", "1d", "1000", "1000mo", "-1", ""}},
	}
	for alignment, tc := range cases {
		create := func(t *testing.T, period string) error {
			t.Helper()
			return dryRun(t, c, object(t, ns, offering, change{"spec.pricing.subscriptionFee", map[string]any{
				"tickAlignment": alignment, "period": period, "priceMicros": int64(1),
			}}))
		}
		for _, period := range tc.accepted {
			t.Run(alignment+"="+period, func(t *testing.T) {
				assertRefused(t, "A period of this alignment.", create(t, period), refusal{})
			})
		}
		for _, period := range tc.refused {
			t.Run(alignment+"="+period, func(t *testing.T) {
				assertRefused(t, "No period of this alignment.", create(t, period), refusal{"spec.pricing.subscriptionFee", badPeriod})
			})
		}
	}
}

// TestRates tries the pattern, the same on all seven rates.
func TestRates(t *testing.T) {
	c := apitest.Client(t)
	ns := apitest.Namespace(t, c)

	const pattern = `in body should match '^([0-9]+(\.[0-9]+)?)?$'`
	for _, field := range []string{"cpuHour", "spotCPUHour", "ramGbHour", "spotRAMGbHour", "pvGbHour", "gpuHour", "networkGiB"} {
		path := "spec.rates." + field
		for _, rate := range []string{"", "0", "1", "0.025", "1.80", "007", "0.0000004", "99999999999999999999999999"} {
			t.Run(field+"="+rate, func(t *testing.T) {
				assertRefused(t, "A plain decimal, or nothing.", dryRun(t, c, object(t, ns, priceBook, change{path, rate})), refusal{})
			})
		}
		for _, rate := range []string{"-1", "+1", "1e3", "1,000", "€1", ".5", "5.", " 1", "1 ", "NaN", "abc", "١"} {
			t.Run(field+"="+rate, func(t *testing.T) {
				assertRefused(t, "No plain decimal.", dryRun(t, c, object(t, ns, priceBook, change{path, rate})), refusal{path, pattern})
			})
		}
		t.Run(field+"=number", func(t *testing.T) {
			assertRefused(t, "A number would have passed through a float.", dryRun(t, c, object(t, ns, priceBook, change{path, 0.5})),
				refusal{path, `must be of type string: "number"`})
		})
	}
}

// TestDefaults reads back what the server makes of an object: what is filled in,
// and what is thrown away because no field is of that name.
func TestDefaults(t *testing.T) {
	c := apitest.Client(t)
	ns := apitest.Namespace(t, c)
	jobDefaults := func(more map[string]any) map[string]any {
		spec := map[string]any{
			"type": "ResourceCostCollection", "interval": "24h", "databaseInitTimeout": "2m", "kubernetesOperationTimeout": "1m",
			"openCostFetchTimeout": "2m", "databaseInsertTimeout": "3m", "statusUpdateTimeout": "1m", "httpClientTimeout": "90s",
		}
		maps.Copy(spec, more)
		return spec
	}

	cases := map[string]struct {
		reason   string
		manifest string
		changes  []change
		want     map[string]any
	}{
		"JobWithoutSpec": {
			reason: "The spec may be left out altogether.", manifest: costJob,
			want: jobDefaults(nil),
		},
		"JobSharding": {
			reason: "An empty block means the default split.", manifest: costJob,
			changes: []change{{"spec.sharding", map[string]any{}}},
			want:    jobDefaults(map[string]any{"sharding": map[string]any{"namespacesPerShard": int64(25), "concurrency": int64(4)}}),
		},
		"JobUnknownField": {
			reason: "The chart's old key is thrown away, so the default stands.", manifest: costJob,
			changes: []change{{"spec.k8sOperationTimeout", "9m"}},
			want:    jobDefaults(nil),
		},
		"JobDeprecatedField": {
			reason: "The deprecated field can still be set.", manifest: costJob,
			changes: []change{{"spec.databaseViewsRefreshTimeout", "5m"}},
			want:    jobDefaults(map[string]any{"databaseViewsRefreshTimeout": "5m"}),
		},
		"MeterIncludedUsage": {
			reason: "Included usage does not exist in the spec.", manifest: offering,
			changes: []change{{"spec.pricing.resourcePricing", []any{map[string]any{"name": "cpuHour", "includedUsage": map[string]any{"value": int64(1)}}}}},
			want:    map[string]any{"pricing": map[string]any{"resourcePricing": []any{map[string]any{"name": "cpuHour"}}}},
		},
		"OfferingLifecycle": {
			reason: "The policy has a default inside its block, the override none (OPEN-API-7).", manifest: offering,
			changes: []change{{"spec.lifecycle", map[string]any{}}},
			want:    map[string]any{"pricing": map[string]any{}, "lifecycle": map[string]any{"onParentDeactivate": "Deactivate"}},
		},
		"OfferingWithoutLifecycle": {
			reason: "Without the block there is no default.", manifest: offering,
			want: map[string]any{"pricing": map[string]any{}},
		},
		"SubscriptionTargetOnly": {
			reason: "Setting only a target yields Deactivate.", manifest: subscription,
			changes: []change{{"spec.lifecycle.targetRef", map[string]any{"apiVersion": "v1", "kind": "Namespace", "name": "x"}}},
			want: map[string]any{
				"offeringRef": map[string]any{"name": "small-db-2026", "namespace": "catalogue"},
				"lifecycle": map[string]any{
					"onParentDeactivate": "Deactivate",
					"targetRef":          map[string]any{"apiVersion": "v1", "kind": "Namespace", "name": "x"},
				},
			},
		},
		"ProviderUnknownField": {
			reason: "On-premises has no cloud integration.", manifest: provider,
			changes: []change{{"spec.onpremoptions.cloudIntegrationSecret", "x"}, {"spec.onpremoptions.pricingModelSource", "Pricebook"}},
			want:    map[string]any{"onpremoptions": map[string]any{"pricingModelSource": "Pricebook"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u := object(t, ns, tc.manifest, tc.changes...)
			if err := dryRun(t, c, u); err != nil {
				t.Fatalf("the server refused the object: %v", err)
			}
			got, _, err := unstructured.NestedMap(u.Object, "spec")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nspec: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestStatusIsApart shows that status is written through its subresource alone.
func TestStatusIsApart(t *testing.T) {
	c := apitest.Client(t)
	ns := apitest.Namespace(t, c)

	for _, manifest := range []string{provider, priceBook, costJob, offering, subscription} {
		u := object(t, ns, manifest, change{"status.conditions", []any{}})
		t.Run(u.GetKind(), func(t *testing.T) {
			if err := c.Create(context.Background(), u); err != nil {
				t.Fatalf("cannot create: %v", err)
			}
			t.Cleanup(func() { _ = c.Delete(context.Background(), u) })
			if _, ok := u.Object["status"]; ok {
				t.Errorf("status was stored by a create: %v", u.Object["status"])
			}
			apply(t, u, change{"spec.unknown", "x"}, change{"status.conditions", []any{map[string]any{
				"type": "Synced", "status": "True", "reason": "ReconcileSuccess", "message": "", "lastTransitionTime": "2026-04-01T09:00:00Z",
			}}})
			if err := c.Status().Update(context.Background(), u); err != nil {
				t.Fatalf("cannot update status: %v", err)
			}
			if u.GetGeneration() != 1 {
				t.Errorf("a status write changed the spec: generation %d", u.GetGeneration())
			}
		})
	}
}

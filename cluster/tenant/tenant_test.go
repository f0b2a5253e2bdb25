package tenant

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// acme is the Tenant of the example.
func acme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(render.file("examples", "tenant", "tenant.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, tenant, _ := strings.Cut(string(text), "\n---\n") // What comes before is its namespace.
	return tenant
}

// ordering is that Tenant with another plan and add-ons.
func ordering(t *testing.T, order string) string {
	t.Helper()
	tenant := strings.Replace(acme(t), "  plan: standard\n", "  "+order+"\n", 1)
	if !strings.Contains(tenant, order) {
		t.Fatalf("the example's Tenant has no plan to replace:\n%s", tenant)
	}
	return tenant
}

// A subscription is one that exists, as Crossplane observes it.
type subscription struct {
	resource   string // In the Composition.
	name       string
	offering   string
	conditions string
	status     string // Beside the conditions.
}

const stamped = "lastTransitionTime: '2031-03-03T08:20:00Z', observedGeneration: 1"

func condition(t, status, reason, message string) string {
	return fmt.Sprintf("    - {type: %s, status: '%s', reason: %s, message: '%s', %s}\n", t, status, reason, message, stamped)
}

const synced = "    - {type: Synced, status: 'True', reason: ReconcileSuccess, message: '', " + stamped + "}\n"

func (s subscription) String() string {
	return fmt.Sprintf(`---
apiVersion: finops.stakater.com/v1alpha1
kind: Subscription
metadata:
  name: %s
  namespace: shop
  annotations: {crossplane.io/composition-resource-name: %s}
spec:
  offeringRef: {name: %s, namespace: catalogue}
status:
%s  conditions:
%s`, s.name, s.resource, s.offering, s.status, s.conditions)
}

var active = condition("Ready", "True", "ActivationSucceeded", "") + condition("Active", "True", "ActivationSucceeded", "") + synced

const (
	billed = "  ready: 'True'\n  activatedAt: '2031-03-03T08:20:01Z'\n"
	ended  = "  ready: 'False'\n  activatedAt: '2031-03-03T08:20:01Z'\n  deactivatedAt: '2031-03-03T10:30:00Z'\n"
)

func standard(resource, offering, status, conditions string) subscription {
	return subscription{resource: resource, name: "acme-" + resource, offering: offering, status: status, conditions: conditions}
}

func existing(s ...subscription) string {
	var text strings.Builder
	for _, one := range s {
		text.WriteString(one.String())
	}
	return text.String()
}

func TestRender(t *testing.T) {
	plan := standard("standard", "platform-standard", billed+`  costs:
    - {granularity: hour, start: '2031-03-03T12:00:00Z', endExclusive: '2031-03-03T13:00:00Z', current: 47135, projected: 400000}
    - {granularity: day, start: '2031-03-03T00:00:00Z', endExclusive: '2031-03-04T00:00:00Z', current: 1653514, projected: 6266444}
    - {granularity: month, start: '2031-03-01T00:00:00Z', endExclusive: '2031-04-01T00:00:00Z', current: 1653514, projected: 275066444}
`, active+condition("CostsResolved", "True", "FromDB", "currency=EUR"))
	backup := standard("standard-backup", "backup", billed, active)
	audit := standard("standard-audit", "audit", billed, active)
	uncovered := standard("standard-audit", "audit", "  ready: 'False'\n", condition("Ready", "False", "CompatibilityRequirementNotMet", "")+synced)
	web := standard("standard-web", "managed-web", "  ready: 'False'\n", condition("Ready", "False", "TargetNotFound", "")+synced)
	fell := condition("Ready", "False", "ValidationSucceeded", "deactivated: ParentDeactivated") + condition("Active", "False", "ParentDeactivated", "") + synced

	const nothing, audited = "plan: standard", "plan: standard\n  addOns: {backup: true, audit: true}"

	cases := map[string]struct {
		reason      string
		order       string
		composition string // If it is not the example's.
		observed    string
	}{
		"new":           {reason: "A new Tenant gets its plan, with its workloads, and nothing that it has not ordered.", order: nothing},
		"costs":         {reason: "The Tenant is ready with its plan, and shows what the month has cost.", order: nothing, observed: existing(plan)},
		"audited":       {reason: "Add-ons hang below the plan.", order: audited},
		"audited-waits": {reason: "One that waits keeps the Tenant from being ready, and says for what.", order: audited, observed: existing(plan, backup, uncovered)},
		"audited-ready": {reason: "A Tenant is ready when all that is composed is.", order: audited, observed: existing(plan, backup, audit)},
		"web":           {reason: "What is paid for is the Deployment in the Tenant's namespace.", order: "plan: standard\n  addOns: {backup: true, web: true}", observed: existing(plan, backup, web)},
		"add-on-cancelled": {
			reason: "An add-on that is false is not desired any more; the rest stays as it is. The Tenant shows it until it is looked at again.",
			order:  "plan: standard\n  addOns: {backup: true, audit: false}", observed: existing(plan, backup, audit),
		},
		"add-on-taken-out": {reason: "Taking the field out is the same.", order: nothing, observed: existing(plan, backup)},
		"business":         {reason: "Another plan shares nothing with the old one.", order: "plan: business\n  addOns: {backup: true}", observed: existing(plan, backup)},
		"plan-withdrawn": {
			reason: "Without its plan what hung below it has ended, and the Tenant is not ready again.", order: audited, composition: render.withdrawn(t),
			observed: existing(standard("standard-backup", "backup", ended, fell), standard("standard-audit", "audit", ended, fell)),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			golden(t, tc.reason, name+".yaml", render.run(t, ordering(t, tc.order), cmp.Or(tc.composition, render.composition()), tc.observed))
		})
	}
}

// What no filter names is everybody's, and a filter of which the name is wrong
// filters nothing. So each resource has a filter, and each filter its resource.
func TestFilters(t *testing.T) {
	text, err := os.ReadFile(render.composition())
	if err != nil {
		t.Fatal(err)
	}
	sold, ordered, _ := strings.Cut(string(text), "    - step: what-is-ordered\n")
	_, sold, _ = strings.Cut(sold, "        resources:\n")
	names := func(text string) (found []string) {
		for line := range strings.Lines(text) {
			if name, is := strings.CutPrefix(line, "          - name: "); is {
				found = append(found, name)
			}
		}
		return found
	}
	if diff := gocmp.Diff(names(sold), names(ordered)); diff != "" || len(names(sold)) < 8 {
		t.Errorf("%d resources; -resources, +filters:\n%s", len(names(sold)), diff)
	}
}

// Whatever a Subscription says of itself, the Tenant says too: it is ready if
// and only if the Subscription is.
func TestReasons(t *testing.T) {
	waits := func(reason, message string) string { return condition("Ready", "False", reason, message) + synced }
	trouble := func(reason, message string) string {
		return condition("Ready", "False", reason, message) + condition("Active", "True", "ActivationSucceeded", "") + synced
	}
	over := func(reason string) string {
		return condition("Ready", "False", "ValidationSucceeded", "deactivated: "+reason) + condition("Active", "False", reason, "") + synced
	}
	const waiting, disturbed = "  ready: 'False'\n", "  ready: 'False'\n  activatedAt: '2031-03-03T08:20:01Z'\n"
	cases := []struct {
		name               string
		status, conditions string
		ready              bool
	}{
		{name: "new", status: "  activatedAt: null\n", conditions: synced},
		{name: "offering missing", status: waiting, conditions: waits("OfferingNotFound", "offering catalogue/platform-standard not found")},
		{name: "offering not ready", status: waiting, conditions: waits("OfferingNotReady", "")},
		{name: "parent missing", status: waiting, conditions: waits("ParentSubscriptionNotFound", "")},
		{name: "parent not ready", status: waiting, conditions: waits("ParentSubscriptionNotReady", "")},
		{name: "parent ended", status: waiting, conditions: waits("ParentSubscriptionDeactivated", "")},
		{name: "its own parent", status: waiting, conditions: waits("CircularDependencyDetected", "")},
		{name: "not covered", status: waiting, conditions: waits("CompatibilityRequirementNotMet", "required offering catalogue/backup not covered by an active subscription in the family")},
		{name: "target missing", status: waiting, conditions: waits("TargetNotFound", "")},
		{name: "its own target", status: waiting, conditions: waits("TargetIsSelfReference", "")},
		{name: "cannot tell", status: waiting, conditions: waits("ValidationError", "")},
		{name: "active", status: billed, conditions: active, ready: true},
		{name: "orphan", status: billed, conditions: condition("Ready", "True", "Orphaned", "") + condition("Active", "True", "Orphaned", "") + synced, ready: true},
		{name: "active, offering missing", status: disturbed, conditions: trouble("OfferingNotFound", "")},
		{name: "active, cannot tell", status: disturbed, conditions: trouble("ValidationError", "")},
		{name: "active, not synced", status: billed, ready: true, conditions: condition("Ready", "True", "ActivationSucceeded", "") + condition("Active", "True", "ActivationSucceeded", "") +
			condition("Synced", "False", "ReconcileError", "the database does not answer")},
		{name: "ended with its parent", status: ended, conditions: over("ParentDeactivated")},
		{name: "ended without cover", status: ended, conditions: over("CompatibilityRequirementNotMet")},
		{name: "ended with its target", status: ended, conditions: over("TargetNotFound")},
		{name: "deleted", status: ended, conditions: over("MarkedForDeletion") + condition("Deleting", "False", "WaitingForCollectionJob", "DeletionBlocked: waiting for a SubscriptionChargeCollection run to settle the charges")},
	}
	var all strings.Builder
	for _, tc := range cases {
		got := render.run(t, acme(t), render.composition(), standard("standard", "platform-standard", tc.status, tc.conditions).String())
		tenant, _, _ := strings.Cut(strings.TrimPrefix(got, "---\n"), "---\n")
		_, _ = fmt.Fprintf(&all, "--- # %s\n%s", tc.name, tenant)
		if ready := strings.Contains(tenant, "    reason: Available\n    status: \"True\"\n    type: Ready\n"); ready != tc.ready {
			t.Errorf("%s: the Tenant is ready: want %v, got %v:\n%s", tc.name, tc.ready, ready, tenant)
		}
	}
	golden(t, "The Tenant's status for everything that a Subscription can say.", "reasons.yaml", all.String())
}

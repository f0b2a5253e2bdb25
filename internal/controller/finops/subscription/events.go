package subscription

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/finops/gate"
	"github.com/provider-finops/provider-finops/internal/finops/hour"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

// The events of a Subscription (part 80.2).
const (
	reasonActivated          event.Reason = "Activated"
	reasonDeactivated        event.Reason = "Deactivated"
	reasonDeletionBlocked    event.Reason = "DeletionBlocked"
	reasonGateFailed         event.Reason = "GateFailed"
	reasonNoChargeCollector  event.Reason = "NoChargeCollector"
	reasonNoUsageBilled      event.Reason = "NoUsageBilled"
	reasonOfferingReplaced   event.Reason = "OfferingReplaced"
	reasonParentCycle        event.Reason = "ParentCycle"
	reasonPolicyOverridden   event.Reason = "PolicyOverridden"
	reasonRootUnresolvable   event.Reason = "RootUnresolvable"
	reasonUsageSourceIgnored event.Reason = "UsageSourceIgnored"
)

func activated(why string) event.Event {
	return event.Normal(reasonActivated, "billed from now on: "+why)
}

// deactivated says what cannot be seen in the object: that nothing opens the
// contract again, whatever is repaired.
func deactivated(d gate.Decision) event.Event {
	if d.Reason == gate.MarkedForDeletion {
		return event.Normal(reasonDeactivated, "billed no longer: "+string(d.Reason))
	}
	return event.Normal(reasonDeactivated, fmt.Sprintf("billed no longer: %s: %s; this is final, another subscription has to take its place", d.Reason, d.Message))
}

// deletionBlocked says until when nothing can release it, if that is known: the
// zero time is not.
func deletionBlocked(message string, until time.Time) event.Event {
	if !until.IsZero() {
		message += "; its minPeriods keep it until a run for the hour " + until.Format(time.RFC3339) + " or a later one"
	}
	return event.Normal(reasonDeletionBlocked, message)
}

func gateFailed(why, message string, active bool) event.Event {
	follows := "nothing is billed until every gate passes"
	if active {
		follows = "it is billed on meanwhile"
	}
	return event.Warning(reasonGateFailed, errors.Errorf("%s: %s; %s", why, message, follows))
}

// noChargeCollector says from when on the controller does what nobody else does,
// if it does at all: else that is the zero time.
func noChargeCollector(from time.Time) event.Event {
	if from.IsZero() {
		return event.Warning(reasonNoChargeCollector, errors.New("nothing releases deleted Subscriptions: no SubscriptionChargeCollection CostJob exists"))
	}
	return event.Warning(reasonNoChargeCollector, errors.Errorf(
		"no SubscriptionChargeCollection CostJob exists; the controller settles this one itself from %s on", from.Format(time.RFC3339)))
}

func noUsageBilled(why string) event.Event { return event.Normal(reasonNoUsageBilled, why) }

func policyOverridden(offering ref.Key) event.Event {
	return event.Warning(reasonPolicyOverridden, errors.Errorf(
		"offering %s says Orphan, but the lifecycle block of the subscription says or defaults to Deactivate: it will end with its parent", offering))
}

func offeringReplaced(offering ref.Key) event.Event {
	return event.Warning(reasonOfferingReplaced, errors.Errorf("offering %s was replaced by one with other terms; the recorded terms apply", offering))
}

func parentCycle(loop []ref.Key) event.Event {
	return event.Warning(reasonParentCycle, errors.Errorf("parent cycle: %s; none of them can activate", ref.Path(loop)))
}

func rootUnresolvable(err error) event.Event {
	return event.Warning(reasonRootUnresolvable, errors.Wrap(err, "restore the missing parent, or set status.compatibilityRoot to the uid of the root"))
}

func usageSourceIgnored(i int) event.Event {
	return event.Warning(reasonUsageSourceIgnored, errors.Errorf("usageSources[%d] says nothing but resourceType Pod and would select the whole cluster", i))
}

// announce says what has just become different, once it is stored.
func (e *external) announce(ctx context.Context, before, after *v1alpha1.Subscription, d gate.Decision, unserved *gate.Unserved) {
	if before.Status.ActivatedAt == nil && after.Status.ActivatedAt != nil {
		e.record.Event(after, activated(string(d.Reason)))
	}
	if before.Status.DeactivatedAt == nil && after.Status.DeactivatedAt != nil {
		e.record.Event(after, deactivated(d))
	}
	e.announceHold(before, after, d)
	e.announceDeletion(ctx, before, after, unserved)

	if d.Replaced && e.said.first(after.UID, reasonOfferingReplaced, 0) {
		e.record.Event(after, offeringReplaced(key(after.Spec.OfferingRef)))
	}
	if d.Rootless != nil && e.said.first(after.UID, reasonRootUnresolvable, 0) {
		e.record.Event(after, rootUnresolvable(d.Rootless))
	}
	for i, u := range after.Spec.UsageSources {
		if u == (v1alpha1.UsageSource{ResourceType: "Pod"}) && e.said.first(after.UID, reasonUsageSourceIgnored, i) {
			e.record.Event(after, usageSourceIgnored(i)) // BETTER-SUB-12.
		}
	}
}

// announceTerms says, with the activation, what of the terms may be other than
// meant: usage that nobody is charged for (L23), and a policy that the
// Subscription's own block overrides (L31).
func (e *external) announceTerms(before, after *v1alpha1.Subscription, in gate.Input) {
	offering, err := in.Offering.Get()
	if err != nil || offering == nil || before.Status.ActivatedAt != nil || after.Status.ActivatedAt == nil {
		return
	}
	switch sources := len(after.Spec.UsageSources) > 0; {
	case sources && !offering.Metered:
		e.record.Event(after, noUsageBilled("usageSources are given, but the offering has no resourcePricing: no usage is billed"))
	case !sources && offering.Metered:
		e.record.Event(after, noUsageBilled("the offering has resourcePricing, but no usageSources are given: no usage is billed"))
	}
	if in.Self.Parent != nil && in.Overrides(gate.Orphan) {
		e.record.Event(after, policyOverridden(in.Self.Offering))
	}
}

func (e *external) announceHold(before, after *v1alpha1.Subscription, d gate.Decision) {
	if d.Kind != gate.Held {
		return
	}
	was := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.TypeReady)
	if was == nil || was.Reason != string(d.Reason) {
		e.record.Event(after, gateFailed(string(d.Reason), d.Message, after.Status.ActivatedAt != nil))
	}
	if len(d.Loop) > 0 && e.said.first(after.UID, reasonParentCycle, 0) {
		e.record.Event(after, parentCycle(d.Loop))
	}
}

func (e *external) announceDeletion(ctx context.Context, before, after *v1alpha1.Subscription, unserved *gate.Unserved) {
	is := meta.FindStatusCondition(after.Status.Conditions, v1alpha1.TypeDeleting)
	if is == nil {
		return
	}
	was := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.TypeDeleting)
	if was == nil {
		until, asked := minPeriodsEnd(ctx, e.cached, after)
		if asked && !hour.Of(e.clock.Now()).Before(until) {
			until = time.Time{}
		}
		e.record.Event(after, deletionBlocked(is.Message, until))
	}
	lacks := strings.HasSuffix(is.Message, gate.NoCollector)
	if lacks && (was == nil || !strings.HasSuffix(was.Message, gate.NoCollector)) {
		var from time.Time
		if unserved != nil {
			from = unserved.From
		}
		e.record.Event(after, noChargeCollector(from))
	}
}

// remembered bounds what once remembers.
const remembered = 4096

// once remembers what was said about whom, for what leaves no trace in the
// object by which a later pass could tell. A restart says it once more.
type once struct{ said *lru.Cache }

func newOnce() once { return once{said: lru.New(remembered)} }

type statement struct {
	about  types.UID
	reason event.Reason
	detail int
}

// first reports whether something is said for the first time.
func (o once) first(about types.UID, reason event.Reason, detail int) bool {
	s := statement{about, reason, detail}
	if _, ok := o.said.Get(s); ok {
		return false
	}
	o.said.Add(s, true)
	return true
}

package subscription

import (
	"fmt"
	"maps"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

// An oracle reads the rules word by word and looks at everybody: it knows no
// index, no cache and no event. Part 40.6 is its pattern.
type oracle struct {
	world *world

	// removed are the parents that those named who are gone, for ever.
	removed map[ref.Key]ref.Key
}

// gap is the first required Offering that nobody covers for a Subscription with
// that root.
func (o oracle) gap(s *v1alpha1.Subscription, root string) string {
	beneath := o.descendants(s, root)
	for _, required := range o.required(s) {
		covered := false
		for _, p := range o.world.subs {
			covered = covered || p.Status.CompatibilityRoot == root && p.UID != s.UID && !beneath[keyOf(p)] &&
				p.Status.ActivatedAt != nil && p.Status.DeactivatedAt == nil && key(p.Spec.OfferingRef) == required
		}
		if !covered {
			return required.String()
		}
	}
	return ""
}

func (o oracle) required(s *v1alpha1.Subscription) []ref.Key {
	var required []ref.Key
	if c := o.world.offerings[key(s.Spec.OfferingRef)].Spec.Compatibility; c != nil {
		for _, r := range c.RequiredOfferings {
			required = append(required, key(r))
		}
	}
	return required
}

// descendants adds children of descendants until there are no more.
func (o oracle) descendants(s *v1alpha1.Subscription, root string) map[ref.Key]bool {
	links := maps.Clone(o.removed)
	for _, p := range o.world.subs {
		delete(links, keyOf(p)) // The name is a living one's now.
		if p.Status.CompatibilityRoot == root && p.Spec.Parent != nil {
			links[keyOf(p)] = key(p.Spec.Parent.SubscriptionRef)
		}
	}
	beneath := map[ref.Key]bool{keyOf(s): true}
	for grown := true; grown; {
		grown = false
		for child, parent := range links {
			if beneath[parent] && !beneath[child] {
				beneath[child], grown = true, true
			}
		}
	}
	return beneath
}

// root walks up to who has no parent.
func (o oracle) root(s *v1alpha1.Subscription) string {
	seen := map[ref.Key]bool{}
	for s != nil && !seen[keyOf(s)] {
		if s.Status.CompatibilityRoot != "" {
			return s.Status.CompatibilityRoot
		}
		if s.Spec.Parent == nil {
			return string(s.UID)
		}
		seen[keyOf(s)] = true
		s = o.world.subs[key(s.Spec.Parent.SubscriptionRef)]
	}
	return ""
}

// verdict is what Ready has to say of a Subscription that nobody has deleted:
// status and reason. An end is told by the reason of Active, with a cross.
func (o oracle) verdict(s *v1alpha1.Subscription) string {
	active := s.Status.ActivatedAt != nil
	offering := o.world.offerings[key(s.Spec.OfferingRef)]
	orphan := false
	objection := ""
	object := func(reason string) {
		if objection == "" {
			objection = "False/" + reason
		}
	}

	if offering.Status.Ready != "True" {
		object(v1alpha1.ReasonOfferingNotReady)
	}
	if s.Spec.Parent != nil {
		parent, reason := o.world.subs[key(s.Spec.Parent.SubscriptionRef)], ""
		switch {
		case key(s.Spec.Parent.SubscriptionRef) == keyOf(s):
			object(v1alpha1.ReasonCircularDependencyDetected)
		case parent == nil:
			reason = v1alpha1.ReasonParentSubscriptionNotFound
		case parent.Status.DeactivatedAt != nil:
			reason = v1alpha1.ReasonParentSubscriptionDeactivated
		case parent.Status.Ready != "True":
			object(v1alpha1.ReasonParentSubscriptionNotReady)
		}
		switch {
		case reason == "":
		case !active:
			object(reason)
		case s.Spec.Lifecycle != nil && s.Spec.Lifecycle.OnParentDeactivate == v1alpha1.ParentDeactivateActionOrphan:
			orphan = true
		default:
			return "ended/" + v1alpha1.ReasonParentDeactivated
		}
	}
	if root := o.root(s); root != "" && o.gap(s, root) != "" {
		if active {
			return "ended/" + v1alpha1.ReasonCompatibilityRequirementNotMet
		}
		object(v1alpha1.ReasonCompatibilityRequirementNotMet)
	}
	switch {
	case objection != "":
		return objection
	case orphan:
		return "True/" + v1alpha1.ReasonOrphaned
	}
	return "True/" + v1alpha1.ReasonActivationSucceeded
}

func keyOf(s *v1alpha1.Subscription) ref.Key { return ref.Key{Namespace: s.Namespace, Name: s.Name} }

// said is what a Subscription says of itself, in the oracle's words.
func said(s *v1alpha1.Subscription) string {
	if s.Status.DeactivatedAt != nil {
		for _, c := range s.Status.Conditions {
			if c.Type == v1alpha1.TypeActive {
				return "ended/" + c.Reason
			}
		}
	}
	for _, c := range s.Status.Conditions {
		if c.Type == v1alpha1.TypeReady {
			return fmt.Sprintf("%s/%s", c.Status, c.Reason)
		}
	}
	return ""
}

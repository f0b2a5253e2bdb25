package invariants

import (
	"context"
	"fmt"
	"time"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// subscriptions are all there are.
func (w World) subscriptions(ctx context.Context) ([]v1alpha1.Subscription, error) {
	var l v1alpha1.SubscriptionList
	err := w.API.List(ctx, &l)
	return l.Items, err
}

// lives looks at what each Subscription says of itself, and of its life in the
// database.
func (w World) lives(ctx context.Context) ([]string, error) {
	all, err := w.subscriptions(ctx)
	if err != nil {
		return nil, err
	}
	var found []string
	for i := range all {
		s := &all[i]
		from, to := s.Status.ActivatedAt, s.Status.DeactivatedAt
		if from != nil && to != nil && to.Before(from) {
			found = append(found, fmt.Sprintf("I5: %s/%s ended at %s and began at %s", s.Namespace, s.Name, to, from))
		}
		if w.DB == nil {
			continue
		}
		var mirroredFrom, mirroredTo *time.Time
		err := w.DB.QueryRow(ctx, "SELECT max(activated_at), max(deactivated_at) FROM subscriptions WHERE cluster_id = $1 AND uid = $2",
			w.Cluster, string(s.UID)).Scan(&mirroredFrom, &mirroredTo)
		if err != nil {
			return found, err
		}
		if mirroredFrom != nil && (from == nil || !from.Time.Equal(*mirroredFrom)) || mirroredTo != nil && (to == nil || !to.Time.Equal(*mirroredTo)) {
			found = append(found, fmt.Sprintf("I5: %s/%s lived from %v to %v, the database says from %v to %v", s.Namespace, s.Name, from, to, mirroredFrom, mirroredTo))
		}
	}
	return found, nil
}

// active reports whether a Subscription is billed.
func active(s *v1alpha1.Subscription) bool {
	return s.Status.ActivatedAt != nil && s.Status.DeactivatedAt == nil
}

// families looks at what everybody's being active rests on.
func (w World) families(ctx context.Context) ([]string, error) {
	all, err := w.subscriptions(ctx)
	if err != nil {
		return nil, err
	}
	var sold v1alpha1.OfferingList
	if err := w.API.List(ctx, &sold); err != nil {
		return nil, err
	}
	offerings := map[v1alpha1.ObjectReference]*v1alpha1.Offering{}
	for i := range sold.Items {
		offerings[v1alpha1.ObjectReference{Namespace: sold.Items[i].Namespace, Name: sold.Items[i].Name}] = &sold.Items[i]
	}
	named := map[v1alpha1.ObjectReference]*v1alpha1.Subscription{}
	for i := range all {
		named[v1alpha1.ObjectReference{Namespace: all[i].Namespace, Name: all[i].Name}] = &all[i]
	}

	var found []string
	for i := range all {
		s := &all[i]
		if !active(s) || s.DeletionTimestamp != nil {
			continue
		}
		if p := s.Spec.Parent; p != nil && !orphaned(s) {
			if parent := named[p.SubscriptionRef]; parent == nil || parent.Status.DeactivatedAt != nil {
				found = append(found, fmt.Sprintf("I6: %s/%s is active, and its parent is not", s.Namespace, s.Name))
			}
		}
		o := offerings[s.Spec.OfferingRef]
		if o == nil || o.Spec.Compatibility == nil {
			continue
		}
		for _, required := range o.Spec.Compatibility.RequiredOfferings {
			if !covered(s, required, all, named) {
				found = append(found, fmt.Sprintf("I6: %s/%s is active, and nobody covers %s/%s", s.Namespace, s.Name, required.Namespace, required.Name))
			}
		}
	}
	return found, nil
}

func orphaned(s *v1alpha1.Subscription) bool {
	return s.Spec.Lifecycle != nil && s.Spec.Lifecycle.OnParentDeactivate == v1alpha1.ParentDeactivateActionOrphan
}

// covered reports whether some active member of the family has the Offering that
// is not below the one who requires it.
func covered(s *v1alpha1.Subscription, required v1alpha1.ObjectReference, all []v1alpha1.Subscription, named map[v1alpha1.ObjectReference]*v1alpha1.Subscription) bool {
	for i := range all {
		p := &all[i]
		if p.Status.CompatibilityRoot == s.Status.CompatibilityRoot && active(p) && p.Spec.OfferingRef == required && !below(p, s, named) {
			return true
		}
	}
	return false
}

// below reports whether one is another, or among its descendants.
func below(s, of *v1alpha1.Subscription, named map[v1alpha1.ObjectReference]*v1alpha1.Subscription) bool {
	for range len(named) + 1 { // Parents may go round in a circle.
		if s == nil {
			return false
		}
		if s.UID == of.UID {
			return true
		}
		if s.Spec.Parent == nil {
			return false
		}
		s = named[s.Spec.Parent.SubscriptionRef]
	}
	return false
}

// departed looks at whom the database knows and the API server does not: all of
// their hours have to be final.
func (w World) departed(ctx context.Context) ([]string, error) {
	all, err := w.subscriptions(ctx)
	if err != nil {
		return nil, err
	}
	uids := make([]string, 0, len(all))
	for i := range all {
		uids = append(uids, string(all[i].UID))
	}
	return w.texts(ctx, `
SELECT concat_ws(' ', 'I7:', v.namespace || '/' || v.name, 'lived from', v.activated_at, 'to', v.deactivated_at,
       'and is gone, settled through', w.finalized_through)
  FROM (SELECT DISTINCT ON (uid) * FROM subscriptions WHERE cluster_id = $1 ORDER BY uid, id DESC) AS v
  LEFT JOIN subscription_watermarks AS w ON w.cluster_id = $1 AND w.subscription_uid = v.uid
 WHERE NOT v.uid = ANY ($2::text[]::uuid[])
   AND v.activated_at IS NOT NULL
   AND (v.deactivated_at IS NULL
        OR w.finalized_through IS NULL
        OR w.finalized_through + interval '1 hour' < v.deactivated_at
        OR EXISTS (SELECT FROM subscription_charges AS c
                    WHERE c.cluster_id = $1 AND c.subscription_uid = v.uid AND NOT c.finalized))
 ORDER BY 1`, w.Cluster, uids)
}

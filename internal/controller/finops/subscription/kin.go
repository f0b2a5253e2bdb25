package subscription

import (
	"context"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/finops/index"
	"github.com/provider-finops/provider-finops/internal/finops/family"
	"github.com/provider-finops/provider-finops/internal/finops/gate"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

// A view is where a reconcile reads from: the cache or the server itself.
type view struct {
	client.Reader

	// live is set for the server.
	live bool
}

// readFamily reads as much of the family of a Subscription as decides about its
// coverage, if somebody asks.
//
// From the cache these are, for each requirement, its providers up to the first
// that covers, and their ancestors. From the server it is the same with each
// provider read anew, as long as the Subscription waits: it can only gain. For
// one that is active, and may have to end for what is missing, the server lists.
func (e *external) readFamily(ctx context.Context, from view, in gate.Input) gate.Read[family.Family] {
	required := requirements(in)
	root := in.Self.Root
	if found, err := in.Root.Get(); root == "" && err == nil && found != nil {
		root = *found
	}
	if len(required) == 0 || root == "" {
		return gate.Read[family.Family]{} // Nobody asks.
	}

	gone := e.removed.parents(ctx)
	if from.live && in.Self.Active() {
		kin, err := e.evidence.kin(ctx, root, required, gone)
		if err != nil {
			return gate.Failed[family.Family](errors.Wrap(err, "cannot list the family"))
		}
		return gate.Found(kin)
	}

	known := map[ref.Key]family.Member{}
	for _, offering := range required {
		if err := e.addProviders(ctx, from, known, in.Self.Member(), root, offering, gone); err != nil {
			return gate.Failed[family.Family](errors.Wrapf(err, "cannot find who covers offering %s", offering))
		}
	}
	return gate.Found(kin(root, known, gone))
}

func kin(root string, known map[ref.Key]family.Member, gone map[ref.Key]ref.Key) family.Family {
	members := make([]family.Member, 0, len(known))
	for _, m := range known {
		members = append(members, m)
	}
	return family.New(root, members, gone)
}

// addProviders adds the members that provide an Offering, each with its
// ancestors, until one of them covers it. If the server is to be asked, those
// are left out that it does not confirm.
func (e *external) addProviders(ctx context.Context, from view, known map[ref.Key]family.Member, of family.Member, root string, offering ref.Key, gone map[ref.Key]ref.Key) error {
	candidates, err := list(ctx, e.cached, client.MatchingFields{index.SubscriptionsByProvision: index.Binding(root, offering.String())})
	if err != nil {
		return err
	}
	slices.SortFunc(candidates, func(a, b family.Member) int { return ref.Compare(a.Key, b.Key) })
	for _, m := range candidates {
		if from.live {
			s := &v1alpha1.Subscription{}
			ok, err := get(ctx, from, "provider", m.Key, s)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			m = member(s)
		}
		known[m.Key] = m
		if err := e.addAncestors(ctx, known, m); err != nil {
			return err
		}
		if _, covered := kin(root, known, gone).Provider(of, offering); covered {
			return nil
		}
	}
	return nil
}

// addAncestors adds those of a member that are there. Parents never change, so
// the cache is as good as the server.
func (e *external) addAncestors(ctx context.Context, known map[ref.Key]family.Member, m family.Member) error {
	for !m.Parent.IsZero() {
		if _, done := known[m.Parent]; done {
			return nil
		}
		s := &v1alpha1.Subscription{}
		ok, err := get(ctx, e.cached, "ancestor", m.Parent, s)
		if err != nil || !ok {
			return err
		}
		m = member(s)
		m.Active = false // It only links: whether it covers was not asked.
		known[m.Key] = m
	}
	return nil
}

// requirements are all that somebody may ask the family for: what the Offering
// requires now, and what was recorded.
func requirements(in gate.Input) []ref.Key {
	var required []ref.Key
	if o, err := in.Offering.Get(); err == nil && o != nil {
		required = append(required, o.Terms.Requires...)
	}
	if r, err := in.Recorded.Get(); err == nil && r != nil {
		required = append(required, r.Terms.Requires...)
	}
	return required
}

// list returns the members that a list of the cache holds. Nothing of what it
// reads is changed, so nothing is copied.
func list(ctx context.Context, cache client.Reader, which ...client.ListOption) ([]family.Member, error) {
	l := &v1alpha1.SubscriptionList{}
	if err := cache.List(ctx, l, append(which, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, err
	}
	return membersOf(l), nil
}

func membersOf(list *v1alpha1.SubscriptionList) []family.Member {
	members := make([]family.Member, 0, len(list.Items))
	for i := range list.Items {
		members = append(members, member(&list.Items[i]))
	}
	return members
}

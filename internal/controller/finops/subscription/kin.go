package subscription

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/finops/index"
	"github.com/provider-finops/provider-finops/internal/finops/family"
	"github.com/provider-finops/provider-finops/internal/finops/gate"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
)

// pageSize bounds one answer of the API server.
const pageSize = 500

// A view is where a reconcile reads from: the cache or the server itself.
type view struct {
	client.Reader

	// live is set for the server.
	live bool
}

// readFamily reads the family of a Subscription, as far as somebody asks.
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
	members, err := e.members(ctx, from, in.Self, root)
	if err != nil {
		return gate.Failed[family.Family](err)
	}
	kin := family.New(root, members, gone)
	if from.live && !in.Self.Active() {
		kin, err = e.confirmed(ctx, from, in.Self.Member(), required, root, members, gone)
	}
	if err != nil {
		return gate.Failed[family.Family](err)
	}
	return gate.Found(kin)
}

// members lists a family. Who is active may have to end for what is missing
// from the list, so for that one the server lists. Who waits can only gain from
// the list, so for that one the cache does, and each provider it names is
// confirmed by itself: a thousand siblings that start together would otherwise
// list one another a thousand times.
func (e *external) members(ctx context.Context, from view, self gate.Subscription, root string) ([]family.Member, error) {
	if from.live && self.Active() {
		return liveMembers(ctx, from, root)
	}
	list := &v1alpha1.SubscriptionList{}
	if err := e.cached.List(ctx, list, client.MatchingFields{index.SubscriptionsByRoot: root}); err != nil {
		return nil, errors.Wrap(err, "cannot list the family")
	}
	return membersOf(list), nil
}

// liveMembers lists a family from the server, which selects by root where it
// can, or else lists everybody.
func liveMembers(ctx context.Context, from client.Reader, root string) ([]family.Member, error) {
	members, err := pages(ctx, from, client.MatchingFields{index.SubscriptionsByRoot: root})
	if kerrors.IsBadRequest(err) {
		return pages(ctx, from)
	}
	return members, err
}

func pages(ctx context.Context, from client.Reader, which ...client.ListOption) ([]family.Member, error) {
	var members []family.Member
	for next := ""; ; {
		list := &v1alpha1.SubscriptionList{}
		if err := from.List(ctx, list, append(which, client.Limit(pageSize), client.Continue(next))...); err != nil {
			return nil, errors.Wrap(err, "cannot list the family")
		}
		members = append(members, membersOf(list)...)
		if next = list.Continue; next == "" {
			return members, nil
		}
	}
}

func membersOf(list *v1alpha1.SubscriptionList) []family.Member {
	members := make([]family.Member, 0, len(list.Items))
	for i := range list.Items {
		members = append(members, member(&list.Items[i]))
	}
	return members
}

// confirmed reads each provider that a Subscription would be covered by once
// more from the server, until all that it is covered by have been.
func (e *external) confirmed(ctx context.Context, from view, of family.Member, required []ref.Key, root string, members []family.Member, gone map[ref.Key]ref.Key) (family.Family, error) {
	byKey := map[ref.Key]family.Member{}
	for _, m := range members {
		byKey[m.Key] = m
	}
	kin := family.New(root, members, gone)
	done := map[ref.Key]bool{}
	for {
		asked := false
		for _, offering := range required {
			p, ok := kin.Provider(of, offering)
			if !ok || done[p.Key] {
				continue
			}
			s := &v1alpha1.Subscription{}
			exists, err := get(ctx, from, "provider", p.Key, s)
			if err != nil {
				return family.Family{}, err
			}
			delete(byKey, p.Key)
			if exists {
				byKey[p.Key] = member(s)
			}
			done[p.Key], asked = true, true
		}
		if !asked {
			return kin, nil
		}
		members = members[:0]
		for _, m := range byKey {
			members = append(members, m)
		}
		kin = family.New(root, members, gone)
	}
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

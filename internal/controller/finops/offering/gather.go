package offering

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/finops/index"
	"github.com/provider-finops/provider-finops/internal/finops/money"
	"github.com/provider-finops/provider-finops/internal/finops/offer"
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
	"github.com/provider-finops/provider-finops/internal/finops/ref"
	"github.com/provider-finops/provider-finops/internal/objects"
)

// pageSize bounds one answer of the API server.
const pageSize = 500

// gather reads what decides about an Offering.
func gather(ctx context.Context, from client.Reader, o *v1alpha1.Offering) offer.Input {
	in := offer.Input{Self: Seen(o), Terms: terms(o), Lookup: Lookup(ctx, from)}
	if p := o.Status.ResolvedPricing; p != nil {
		in.Published = &offer.Published{Units: published(p), Message: messageOf(o, v1alpha1.TypePricingResolved)}
	}
	if len(o.Spec.Pricing.ResourcePricing) > 0 {
		in.Books, in.BooksErr = books(ctx, from)
	}
	return in
}

// Seen is an Offering as others see it.
func Seen(o *v1alpha1.Offering) offer.Offering {
	seen := offer.Offering{
		Key:      ref.Key{Namespace: o.Namespace, Name: o.Name},
		Ready:    o.Status.Ready == "True",
		Deleting: o.DeletionTimestamp != nil,
	}
	if o.Spec.Compatibility != nil {
		for _, r := range o.Spec.Compatibility.RequiredOfferings {
			seen.Requires = append(seen.Requires, ref.Key{Namespace: r.Namespace, Name: r.Name})
		}
	}
	return seen
}

// Lookup finds Offerings by name.
func Lookup(ctx context.Context, from client.Reader) offer.Lookup {
	return func(k ref.Key) (*offer.Offering, error) {
		if k.Namespace == "" {
			// Objects of older releases may lack it. It is never filled in
			// (OPEN-API-1).
			return nil, errors.Errorf("requiredOfferings entry %q has no namespace", k.Name)
		}
		o := &v1alpha1.Offering{}
		err := from.Get(ctx, client.ObjectKey{Namespace: k.Namespace, Name: k.Name}, o)
		if kerrors.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		seen := Seen(o)
		return &seen, nil
	}
}

// terms are what the Offering charges for.
func terms(o *v1alpha1.Offering) pricing.Terms {
	t := pricing.Terms{Offering: ref.Key{Namespace: o.Namespace, Name: o.Name}}
	if fee := o.Spec.Pricing.SubscriptionFee; fee != nil {
		t.Fee = &pricing.Fee{Alignment: string(fee.TickAlignment), Period: fee.Period, PriceMicros: money.Micros(fee.PriceMicros)}
	}
	for _, m := range o.Spec.Pricing.ResourcePricing {
		item := pricing.Item{Meter: pricing.Meter(m.Name)}
		if m.Margins != nil {
			item.Margin = money.Margin{AbsoluteMicros: m.Margins.AbsoluteMicros, FactorMilli: m.Margins.FactorMilli}
		}
		t.Items = append(t.Items, item)
	}
	return t
}

func published(p *v1alpha1.ResolvedPricing) []pricing.UnitPrice {
	units := make([]pricing.UnitPrice, 0, len(p.Meters))
	for _, m := range p.Meters {
		units = append(units, pricing.UnitPrice{Meter: pricing.Meter(m.Name), Micros: money.Micros(m.UnitPriceMicros)})
	}
	return units
}

// books are all PriceBooks of the cluster.
func books(ctx context.Context, from client.Reader) ([]pricing.Book, error) {
	list := &v1alpha1.PriceBookList{}
	if err := from.List(ctx, list); err != nil {
		return nil, errors.Wrap(err, "cannot list price books")
	}
	all := make([]pricing.Book, 0, len(list.Items))
	for i := range list.Items {
		all = append(all, objects.Book(&list.Items[i]))
	}
	return all, nil
}

// Deletable tests whether anything depends on an Offering. What the cache holds
// is enough to keep it; to let it go, the server itself is asked.
func Deletable(ctx context.Context, cache, live client.Reader, self ref.Key, guard offer.Guard) (offer.Verdict, error) {
	bound := &v1alpha1.SubscriptionList{}
	if err := cache.List(ctx, bound, client.MatchingFields{index.SubscriptionsByOffering: self.String()}); err != nil {
		return offer.Verdict{}, errors.Wrap(err, "cannot list subscriptions")
	}
	requiring := &v1alpha1.OfferingList{}
	if err := cache.List(ctx, requiring, client.MatchingFields{index.OfferingsByRequired: self.String()}); err != nil {
		return offer.Verdict{}, errors.Wrap(err, "cannot list offerings")
	}
	if v := guard.Deletable(self, subscribers(bound), others(requiring)); !v.Passes() {
		return v, nil
	}
	return confirmed(ctx, live, self, guard)
}

// confirmed asks the server itself.
func confirmed(ctx context.Context, live client.Reader, self ref.Key, guard offer.Guard) (offer.Verdict, error) {
	bound, err := liveSubscribers(ctx, live, self)
	if err != nil {
		return offer.Verdict{}, err
	}
	offerings := &v1alpha1.OfferingList{}
	var requiring []offer.Offering
	for page := ""; ; {
		if err := live.List(ctx, offerings, client.Limit(pageSize), client.Continue(page)); err != nil {
			return offer.Verdict{}, errors.Wrap(err, "cannot list offerings")
		}
		requiring = append(requiring, others(offerings)...)
		if page = offerings.Continue; page == "" {
			break
		}
	}
	return guard.Deletable(self, bound, requiring), nil
}

// liveSubscribers lists who is bound to an Offering from the server, which
// selects them where it can, or else lists everybody.
func liveSubscribers(ctx context.Context, live client.Reader, self ref.Key) ([]offer.Subscriber, error) {
	bound, err := subscriberPages(ctx, live, client.MatchingFields{
		"spec.offeringRef.namespace": self.Namespace, "spec.offeringRef.name": self.Name,
	})
	if kerrors.IsBadRequest(err) {
		return subscriberPages(ctx, live)
	}
	return bound, err
}

func subscriberPages(ctx context.Context, live client.Reader, which ...client.ListOption) ([]offer.Subscriber, error) {
	var bound []offer.Subscriber
	for page := ""; ; {
		list := &v1alpha1.SubscriptionList{}
		if err := live.List(ctx, list, append(which, client.Limit(pageSize), client.Continue(page))...); err != nil {
			return nil, errors.Wrap(err, "cannot list subscriptions")
		}
		bound = append(bound, subscribers(list)...)
		if page = list.Continue; page == "" {
			return bound, nil
		}
	}
}

func subscribers(list *v1alpha1.SubscriptionList) []offer.Subscriber {
	all := make([]offer.Subscriber, 0, len(list.Items))
	for i := range list.Items {
		s := &list.Items[i]
		all = append(all, offer.Subscriber{
			Key:      ref.Key{Namespace: s.Namespace, Name: s.Name},
			Ready:    s.Status.Ready == "True",
			Offering: ref.Key{Namespace: s.Spec.OfferingRef.Namespace, Name: s.Spec.OfferingRef.Name},
		})
	}
	return all
}

func others(list *v1alpha1.OfferingList) []offer.Offering {
	all := make([]offer.Offering, 0, len(list.Items))
	for i := range list.Items {
		all = append(all, Seen(&list.Items[i]))
	}
	return all
}

func messageOf(o *v1alpha1.Offering, condition string) string {
	if c := meta.FindStatusCondition(o.Status.Conditions, condition); c != nil {
		return c.Message
	}
	return ""
}

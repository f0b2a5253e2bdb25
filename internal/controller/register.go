// Package controller lists the controllers of the provider.
package controller

import (
	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/finops/costjob"
	"github.com/provider-finops/provider-finops/internal/controller/finops/finopsprovider"
	"github.com/provider-finops/provider-finops/internal/controller/finops/offering"
	"github.com/provider-finops/provider-finops/internal/controller/finops/pricebook"
	"github.com/provider-finops/provider-finops/internal/controller/finops/subscription"
	"github.com/provider-finops/provider-finops/internal/controller/frame"
	"github.com/provider-finops/provider-finops/internal/controller/mirror"
	"github.com/provider-finops/provider-finops/internal/controller/opencost"
	"github.com/provider-finops/provider-finops/internal/controller/timeline"
)

// Settings are what single controllers need beside the options of all.
type Settings struct {
	// Mirror is where Offerings and Subscriptions are recorded; nil is none.
	Mirror *mirror.Mirror

	// OpenCost is the installation that is told prices and restarted.
	OpenCost opencost.Installation

	// PriceBookNamespaces are those whose books take part in the election; none
	// means all.
	PriceBookNamespaces []string

	// Bundled says that the multi-tenant operator runs OpenCost (MTO_ENABLED).
	Bundled bool

	// Offering and Subscription choose what differs from the documented
	// behaviour.
	Offering     offering.Settings
	Subscription subscription.Settings

	// CostJob is what the pods of the collectors are given.
	CostJob costjob.Settings
}

// Setup adds all controllers to the manager. All kinds have to be served.
func Setup(mgr ctrl.Manager, o frame.Options, s Settings) error {
	for _, p := range parts(mgr, o, s, nil) {
		if err := p.setup(); err != nil {
			return err
		}
	}

	return nil
}

// A part is what is set up at once: controllers, and the kinds that all have to
// be served before, because a cache of one that is not ends the process.
type part struct {
	kinds []schema.GroupVersionKind
	setup func() error
}

// parts lists them. Who sells needs both kinds, because each watches the other,
// the books that prices come from and the CostJobs that charge and release; then
// is called when those controllers are set up.
func parts(mgr ctrl.Manager, o frame.Options, s Settings, then func() error) []part {
	named := func(name string, setup func() error) func() error {
		return func() error { return errors.Wrapf(setup(), "cannot set up %s", name) }
	}
	if then == nil {
		then = func() error { return nil }
	}
	inOrder := func(steps ...func() error) func() error {
		return func() error {
			for _, step := range steps {
				if err := step(); err != nil {
					return err
				}
			}
			return nil
		}
	}

	return []part{
		{
			kinds: []schema.GroupVersionKind{v1alpha1.FinOpsProviderGroupVersionKind},
			setup: named(finopsprovider.Name, func() error { return finopsprovider.Setup(mgr, o, s.OpenCost, s.Bundled) }),
		},
		{
			kinds: []schema.GroupVersionKind{v1alpha1.PriceBookGroupVersionKind},
			setup: named(pricebook.Name, func() error {
				return pricebook.Setup(mgr, o, pricebook.Settings{OpenCost: s.OpenCost, Namespaces: s.PriceBookNamespaces})
			}),
		},
		{
			kinds: []schema.GroupVersionKind{v1alpha1.CostJobGroupVersionKind},
			setup: named(costjob.Name, func() error { return costjob.Setup(mgr, o, s.CostJob) }),
		},
		{
			kinds: []schema.GroupVersionKind{
				v1alpha1.OfferingGroupVersionKind, v1alpha1.SubscriptionGroupVersionKind,
				v1alpha1.PriceBookGroupVersionKind, v1alpha1.CostJobGroupVersionKind,
			},
			setup: inOrder(
				named(offering.Name, func() error { return offering.Setup(mgr, o, s.Mirror, s.Offering) }),
				named(subscription.Name, func() error { return subscription.Setup(mgr, o, s.Mirror, s.Subscription) }),
				func() error { return timeline.Setup(mgr, timeline.LookEvery) },
				then,
			),
		},
	}
}

// Package controller lists the controllers of the provider.
package controller

import (
	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/provider-finops/provider-finops/internal/controller/finops/costjob"
	"github.com/provider-finops/provider-finops/internal/controller/finops/finopsprovider"
	"github.com/provider-finops/provider-finops/internal/controller/finops/offering"
	"github.com/provider-finops/provider-finops/internal/controller/finops/pricebook"
	"github.com/provider-finops/provider-finops/internal/controller/finops/subscription"
	"github.com/provider-finops/provider-finops/internal/controller/frame"
	"github.com/provider-finops/provider-finops/internal/controller/mirror"
	"github.com/provider-finops/provider-finops/internal/controller/opencost"
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

// Setup adds all controllers to the manager.
func Setup(mgr ctrl.Manager, o frame.Options, s Settings) error {
	controllers := []struct {
		name  string
		setup func() error
	}{
		{finopsprovider.Name, func() error { return finopsprovider.Setup(mgr, o, s.OpenCost, s.Bundled) }},
		{pricebook.Name, func() error {
			return pricebook.Setup(mgr, o, pricebook.Settings{OpenCost: s.OpenCost, Namespaces: s.PriceBookNamespaces})
		}},
		{costjob.Name, func() error { return costjob.Setup(mgr, o, s.CostJob) }},
		{offering.Name, func() error { return offering.Setup(mgr, o, s.Mirror, s.Offering) }},
		{subscription.Name, func() error { return subscription.Setup(mgr, o, s.Mirror, s.Subscription) }},
	}
	for _, c := range controllers {
		if err := c.setup(); err != nil {
			return errors.Wrapf(err, "cannot set up %s", c.name)
		}
	}

	return nil
}

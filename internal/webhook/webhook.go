// Package webhook answers the API server's questions at admission: it refuses
// what could never become valid, and the deletion of what others depend on.
//
// Every check here is made again by a controller, on every pass: admission only
// tells the user earlier, and may be switched off. What can become valid later,
// such as a reference to something that does not exist yet, is admitted on
// purpose, so that a set of objects can be applied in any order.
//
// It is asked about the creation of Offerings and Subscriptions and about the
// deletion of Offerings, and about nothing else: updates, status writes and the
// removal of finalizers have to work while nobody answers. Not to know is no
// permission: where a read fails the request is refused.
package webhook

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/provider-finops/provider-finops/internal/finops/offer"
)

// Where each webhook is served. The installed configuration names the same.
const (
	OfferingPath     = "/validate-finops-stakater-com-v1alpha1-offering"
	SubscriptionPath = "/validate-finops-stakater-com-v1alpha1-subscription"
)

// Settings choose what is checked beyond the documented.
type Settings struct {
	// DetectParentCycles refuses a Subscription whose parents lead back to it
	// (BETTER-SUB-3).
	DetectParentCycles bool

	// Guard says who keeps an Offering from being deleted (BETTER-OFF-4).
	Guard offer.Guard
}

// Setup registers both webhooks with the manager's server, and lets the manager
// be ready only once they can answer. The controllers of Offerings and
// Subscriptions have to be set up as well: their indexes are used.
func Setup(mgr ctrl.Manager, s Settings) error {
	open, err := SetupClosed(mgr, s)
	if err != nil {
		return err
	}

	return open()
}

// SetupClosed is Setup before those controllers are set up, which may be long
// after the manager has started. Until open is called every request is refused;
// the manager is ready meanwhile, because nobody can create what is not served.
func SetupClosed(mgr ctrl.Manager, s Settings) (open func() error, err error) {
	offerings := &offerings{cache: mgr.GetClient(), live: mgr.GetAPIReader(), guard: s.Guard}
	subscriptions := &subscriptions{cache: mgr.GetClient(), detectParentCycles: s.DetectParentCycles}
	d := &door{}

	server := mgr.GetWebhookServer()
	server.Register(OfferingPath, &admission.Webhook{Handler: d.before(offerings.handler())})
	server.Register(SubscriptionPath, &admission.Webhook{Handler: d.before(subscriptions.handler())})
	for name, ready := range map[string]func(*http.Request) error{"webhooks": server.StartedChecker(), "webhook-caches": d.check} {
		if err := mgr.AddReadyzCheck(name, ready); err != nil {
			return nil, errors.Wrapf(err, "cannot add readiness check %q", name)
		}
	}

	return func() error {
		d.open.Store(true)
		return errors.Wrap(mgr.Add(&d.filled), "cannot tell when the webhooks can answer")
	}, nil
}

// A door is closed until there is somebody to answer.
type door struct {
	open   atomic.Bool
	filled filled
}

func (d *door) before(next admission.Handler) admission.Handler {
	return admission.HandlerFunc(func(ctx context.Context, req admission.Request) admission.Response {
		if !d.open.Load() {
			return admission.Errored(http.StatusServiceUnavailable,
				errors.New("the controllers of Offerings and Subscriptions are being set up: try again in a moment"))
		}
		return next.Handle(ctx, req)
	})
}

func (d *door) check(r *http.Request) error {
	if !d.open.Load() {
		return nil
	}
	return d.filled.check(r)
}

// filled knows whether the caches are: the server starts before they do, and
// without them it can only refuse.
type filled struct{ done atomic.Bool }

var _ manager.LeaderElectionRunnable = &filled{}

// Start is called by the manager once the caches are filled.
func (f *filled) Start(context.Context) error {
	f.done.Store(true)
	return nil
}

// NeedLeaderElection is false, because replicas that stand by answer as well.
func (f *filled) NeedLeaderElection() bool { return false }

func (f *filled) check(*http.Request) error {
	if !f.done.Load() {
		return errors.New("the caches are being filled")
	}
	return nil
}

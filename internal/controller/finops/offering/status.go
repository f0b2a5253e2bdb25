package offering

import (
	"encoding/json"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/controller/legacy"
	"github.com/provider-finops/provider-finops/internal/finops/offer"
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
)

const (
	messageReady   = "the Offering can be subscribed to"
	messageAllowed = "nothing depends on the Offering any more"
)

// report says on the Offering what was decided. The two conditions are always
// written together and always agree.
func report(o *v1alpha1.Offering, d offer.Decision, now time.Time) {
	if d.Publish != nil {
		o.Status.ResolvedPricing = resolved(o, *d.Publish, now)
	}
	if !d.Held.Passes() {
		r := reason(d.Held.Reason)
		o.Report(v1alpha1.NotReady(r, legacy.Noted(d.Held.Message, o)), v1alpha1.PricingUnresolved(r, d.Pricing))
		return
	}
	o.Report(v1alpha1.Ready(v1alpha1.ReasonValidationSucceeded, legacy.Noted(messageReady, o)), v1alpha1.PricingResolved(d.Pricing))
}

// reportDeletion says on a deleted Offering what keeps it.
func reportDeletion(o *v1alpha1.Offering, objection offer.Verdict) {
	if !objection.Passes() {
		o.Report(v1alpha1.DeletionHeld(reason(objection.Reason), objection.Message))
		return
	}
	o.Report(v1alpha1.DeletionAllowed(messageAllowed))
}

// resolved is a price as it is published.
func resolved(o *v1alpha1.Offering, p pricing.Price, now time.Time) *v1alpha1.ResolvedPricing {
	r := &v1alpha1.ResolvedPricing{
		ResolvedAt: metav1.NewTime(now.UTC().Truncate(time.Second)),
		Meters:     make([]v1alpha1.ResolvedMeter, 0, len(p.Units)),
	}
	for _, u := range p.Units {
		r.Meters = append(r.Meters, v1alpha1.ResolvedMeter{Name: v1alpha1.MeterName(u.Meter), UnitPriceMicros: int64(u.Micros)})
	}
	if fee := o.Spec.Pricing.SubscriptionFee; fee != nil {
		r.SubscriptionFee = fee.DeepCopy()
		r.SubscriptionFee.Period = p.FeePeriod
	}
	return r
}

func reason(r offer.Reason) string {
	switch r {
	case offer.CircularDependencyDetected:
		return v1alpha1.ReasonCircularDependencyDetected
	case offer.RequiredOfferingNotFound:
		return v1alpha1.ReasonRequiredOfferingNotFound
	case offer.RequiredOfferingNotReady:
		return v1alpha1.ReasonRequiredOfferingNotReady
	case offer.NoActivePricebook:
		return v1alpha1.ReasonNoActivePricebook
	case offer.PricebookParseFailed:
		return v1alpha1.ReasonPricebookParseFailed
	case offer.DependentSubscriptionsExist:
		return v1alpha1.ReasonDependentSubscriptionsExist
	case offer.DependentOfferingsExist:
		return v1alpha1.ReasonDependentOfferingsExist
	case offer.ValidationError:
		return v1alpha1.ReasonValidationError
	}
	return v1alpha1.ReasonValidationError
}

// version is the Offering as the mirror stores it.
func version(o *v1alpha1.Offering) (postgres.Offering, error) {
	v := postgres.Offering{Object: postgres.Object{
		Namespace: o.Namespace, Name: o.Name, UID: string(o.UID), Generation: o.Generation,
		Labels: o.Labels, Annotations: o.Annotations,
	}}
	var err error
	if v.Spec, err = json.Marshal(o.Spec); err != nil {
		return v, errors.Wrap(err, "cannot encode the spec of the Offering")
	}
	if o.Status.ResolvedPricing != nil {
		if v.ResolvedPricing, err = json.Marshal(o.Status.ResolvedPricing); err != nil {
			return v, errors.Wrap(err, "cannot encode the price of the Offering")
		}
	}
	return v, nil
}

package charge

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// An event is something that happened to a Subscription and that its user cares
// about.
type event struct {
	kind    string
	reason  string
	message string
}

// subscriptionReleased says that nothing holds a deleted Subscription any more,
// and, if it was not a collector that let it go, why not.
func subscriptionReleased(alone bool) event {
	message := "all charges are settled"
	if alone {
		message += "; the controller has done it, since no SubscriptionChargeCollection CostJob exists"
	}
	return event{corev1.EventTypeNormal, "Released", message}
}

// chargeParked says which charge is held back.
func chargeParked(why error) event {
	return event{corev1.EventTypeWarning, v1alpha1.ReasonImplausibleCharge, why.Error()}
}

// reportUnrated says what was used and cannot be billed, in the log and, for those
// who do not read it, on the CostJob.
func (r *run) reportUnrated(ctx context.Context) {
	if len(r.unrated.hours) == 0 {
		return
	}
	message := r.unrated.String()
	r.log.Info(message)
	if !r.recorded() {
		return
	}
	r.write(ctx, corev1.ObjectReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "CostJob", Namespace: r.CostJob.Namespace, Name: r.CostJob.Name,
	}, event{corev1.EventTypeWarning, "UsageWithoutRate", message})
}

// emit writes an event of a Subscription.
func (r *run) emit(ctx context.Context, s *subject, e event) {
	r.write(ctx, corev1.ObjectReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "Subscription",
		Namespace: s.key.Namespace, Name: s.key.Name, UID: types.UID(s.uid),
	}, e)
}

// write writes an event. A run that may not, or cannot, goes on without: an event
// is never the only signal.
func (r *run) write(ctx context.Context, about corev1.ObjectReference, e event) {
	ctx, cancel := context.WithTimeout(ctx, r.KubernetesOperationTimeout)
	defer cancel()

	at := metav1.NewTime(r.now)
	err := r.client.Create(ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: about.Namespace, GenerateName: about.Name + "."},
		InvolvedObject: about,
		Type:           e.kind, Reason: e.reason, Message: e.message,
		Source:         corev1.EventSource{Component: FieldManager},
		FirstTimestamp: at, LastTimestamp: at, Count: 1,
	})
	if err != nil {
		r.log.V(1).Info("cannot emit an event", "kind", about.Kind, "object", about.Namespace+"/"+about.Name, "reason", e.reason, "error", err.Error())
	}
}

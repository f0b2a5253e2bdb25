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

// subscriptionReleased says that nothing holds a deleted Subscription any more.
func subscriptionReleased() event {
	return event{corev1.EventTypeNormal, "Released", "all charges are settled"}
}

// chargeParked says which charge is held back.
func chargeParked(why error) event {
	return event{corev1.EventTypeWarning, v1alpha1.ReasonImplausibleCharge, why.Error()}
}

// emit writes an event. A run that may not, or cannot, goes on without: an event
// is never the only signal.
func (r *run) emit(ctx context.Context, s *subject, e event) {
	at := metav1.NewTime(r.now)
	err := r.client.Create(ctx, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, GenerateName: s.key.Name + "."},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "Subscription",
			Namespace: s.key.Namespace, Name: s.key.Name, UID: types.UID(s.uid),
		},
		Type: e.kind, Reason: e.reason, Message: e.message,
		Source:         corev1.EventSource{Component: FieldManager},
		FirstTimestamp: at, LastTimestamp: at, Count: 1,
	})
	if err != nil {
		r.log.V(1).Info("cannot emit an event", "subscription", s.key, "reason", e.reason, "error", err.Error())
	}
}

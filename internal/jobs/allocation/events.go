package allocation

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// Reasons of the events a run leaves on its CostJob.
const (
	// ReasonPriceBookNotActive surfaces when allocations are priced with another
	// book than the active one. Collect in the namespace of the active book, or
	// set PRICEBOOK_RESOLUTION to active.
	ReasonPriceBookNotActive = "PriceBookNotActive"

	// ReasonHourGivenUp surfaces once for an hour that OpenCost did not answer
	// for as long as it was asked. Its usage is not charged.
	ReasonHourGivenUp = "HourGivenUp"
)

// warn leaves a warning on the CostJob. It is written at once, because a run
// ends before a recorder would get to it, and it is never the only signal, so a
// run does not fail for it.
func (j *Job) warn(ctx context.Context, costJob *v1alpha1.CostJob, reason, message string) {
	ctx, cancel := context.WithTimeout(ctx, j.Settings.Timeouts.Kubernetes)
	defer cancel()

	at := metav1.NewTime(j.Clock.Now())
	err := j.Kube.Create(ctx, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: costJob.Namespace, GenerateName: costJob.Name + "."},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "CostJob",
			Namespace: costJob.Namespace, Name: costJob.Name, UID: costJob.UID,
		},
		Type:           corev1.EventTypeWarning,
		Reason:         reason,
		Message:        message,
		Source:         corev1.EventSource{Component: "finops-allocation-collector"},
		FirstTimestamp: at,
		LastTimestamp:  at,
		Count:          1,
	})
	if err != nil {
		j.Log.Error(err, "Cannot leave an event on the CostJob", "reason", reason)
	}
}

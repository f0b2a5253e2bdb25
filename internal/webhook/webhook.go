// Package webhook answers the API server's questions at admission: it refuses
// what could never become valid, and the deletion of what others depend on.
//
// Every check here is made again by a controller, on every pass: admission only
// tells the user earlier, and may be switched off. What can become valid later,
// such as a reference to something that does not exist yet, is admitted on
// purpose, so that a set of objects can be applied in any order.
package webhook

import (
	"net/http"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// Setup registers both webhooks with the manager's server. The controllers of
// Offerings and Subscriptions have to be set up as well: their indexes are used.
func Setup(mgr ctrl.Manager) error {
	offerings := &offeringValidator{cache: mgr.GetClient(), live: mgr.GetAPIReader()}
	if err := ctrl.NewWebhookManagedBy(mgr, &v1alpha1.Offering{}).WithValidator(offerings).Complete(); err != nil {
		return errors.Wrap(err, "cannot set up the webhook of Offerings")
	}
	err := ctrl.NewWebhookManagedBy(mgr, &v1alpha1.Subscription{}).WithValidator(&subscriptionValidator{}).Complete()
	return errors.Wrap(err, "cannot set up the webhook of Subscriptions")
}

// refuse returns the error that refuses a request. The reason stands twice: the
// text that a user sees is made of the message alone.
func refuse(reason, message string) error {
	return &kerrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusForbidden,
		Reason:  metav1.StatusReason(reason),
		Message: reason + ": " + message,
	}}
}

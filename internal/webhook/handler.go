package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// patience is how long an answer may take. It is shorter than what the
// configuration allows, so that a user gets to read why there was none.
const patience = 8 * time.Second

// An objection is why a request is refused. The zero objection admits it.
type objection struct{ reason, message string }

// A check decides about one request. An error means that it could not be
// decided.
type check func(context.Context, admission.Request) (objection, error)

// A handler answers for one resource. What it has no check for it admits at
// once, whatever the API server was told to ask about: that keeps updates
// independent of everything (OPEN-CFG-4).
type handler struct {
	resource string
	checks   map[admissionv1.Operation]check
}

// Handle answers one request. A dry run gets the same answer as any other, for
// nothing is changed by asking.
func (h *handler) Handle(ctx context.Context, req admission.Request) admission.Response {
	if req.Resource.Group != v1alpha1.GroupVersion.Group || req.Resource.Resource != h.resource {
		return refuse(http.StatusBadRequest, objection{string(metav1.StatusReasonBadRequest), fmt.Sprintf(
			"this webhook judges %s.%s only, not %s.%s: correct the webhook configuration",
			h.resource, v1alpha1.GroupVersion.Group, req.Resource.Resource, req.Resource.Group)})
	}
	check := h.checks[req.Operation]
	if check == nil || req.SubResource != "" {
		return admission.Allowed("")
	}

	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	found, err := check(ctx, req)
	switch {
	case err != nil:
		ctrl.LoggerFrom(ctx).Info("cannot judge a request, so it is refused", "operation", req.Operation, "error", err.Error())
		return refuse(http.StatusInternalServerError, objection{v1alpha1.ReasonValidationError, err.Error()})
	case found != objection{}:
		return refuse(http.StatusForbidden, found)
	}
	return admission.Allowed("")
}

// refuse carries the reason twice: the text that a user sees is made of the
// message alone.
func refuse(code int32, o objection) admission.Response {
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    code,
		Reason:  metav1.StatusReason(o.reason),
		Message: o.reason + ": " + o.message,
	}}}
}

// decode reads the object of a request. Its name and namespace are the
// object's own: a request for a whole collection names none.
func decode(raw runtime.RawExtension, req admission.Request, into client.Object) error {
	if err := json.Unmarshal(raw.Raw, into); err != nil {
		return errors.Wrap(err, "cannot read the object of the request")
	}
	if into.GetNamespace() == "" {
		into.SetNamespace(req.Namespace)
	}
	if into.GetName() == "" {
		into.SetName(req.Name)
	}
	if into.GetNamespace() == "" || into.GetName() == "" {
		return errors.New("cannot tell which object the request is about")
	}
	return nil
}

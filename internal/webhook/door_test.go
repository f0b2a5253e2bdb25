package webhook

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// TestDoor: until the controllers are set up nothing is admitted, and the
// replica counts as ready, because nobody can create what is not served; then it
// is ready once its caches are filled.
func TestDoor(t *testing.T) {
	d := &door{}
	h := d.before(admission.HandlerFunc(func(context.Context, admission.Request) admission.Response { return admission.Allowed("") }))
	cases := []struct {
		reason  string
		before  func()
		allowed bool
		ready   bool
	}{
		{reason: "Nothing is set up.", before: func() {}, ready: true},
		{reason: "The caches are being filled.", before: func() { d.open.Store(true) }, allowed: true},
		{reason: "They are.", before: func() { d.filled.done.Store(true) }, allowed: true, ready: true},
	}
	for _, tc := range cases {
		tc.before()
		answer := h.Handle(t.Context(), admission.Request{})
		if diff := cmp.Diff(tc.allowed, answer.Allowed); diff != "" {
			t.Errorf("%s\nadmitted: -want, +got:\n%s", tc.reason, diff)
		}
		if !answer.Allowed && (answer.Result.Code != http.StatusServiceUnavailable || !strings.Contains(answer.Result.Message, "try again")) {
			t.Errorf("%s\nrefused with %+v", tc.reason, answer.Result)
		}
		if diff := cmp.Diff(tc.ready, d.check(nil) == nil); diff != "" {
			t.Errorf("%s\nready: -want, +got:\n%s", tc.reason, diff)
		}
	}
}

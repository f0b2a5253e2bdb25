package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/finops/offer"
)

// reads is a reader made of functions. Where there is none, nothing exists.
type reads struct {
	client.Reader

	get  func(context.Context, client.ObjectKey, client.Object) error
	list func(context.Context, client.ObjectList) error

	// old is set for a server that cannot select by our fields.
	old bool
}

func (r reads) Get(ctx context.Context, k client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	return r.get(ctx, k, o)
}

func (r reads) List(ctx context.Context, l client.ObjectList, options ...client.ListOption) error {
	if asked := (&client.ListOptions{}).ApplyOptions(options); r.old && asked.FieldSelector != nil {
		return kerrors.NewBadRequest("field label not supported")
	}
	return r.list(ctx, l)
}

func request(operation admissionv1.Operation, object string) admission.Request {
	r := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Operation: operation, Namespace: "ns", Name: "a",
		Resource: metav1.GroupVersionResource{Group: "finops.stakater.com", Version: "v1alpha1", Resource: "offerings"},
	}}
	raw := runtime.RawExtension{Raw: []byte(object)}
	if operation == admissionv1.Delete {
		r.OldObject = raw
	} else {
		r.Object = raw
	}
	return r
}

// refused is a refusal as the API server gets it.
type refused struct {
	Code            int32
	Reason, Message string
}

func refusal(r admission.Response) refused {
	if r.Allowed {
		return refused{}
	}
	return refused{r.Result.Code, string(r.Result.Reason), r.Result.Message}
}

var errTimeout = errors.New("the server did not answer")

// TestHandle covers what cannot be had from a real API server: reads that fail,
// and requests that it would not make.
func TestHandle(t *testing.T) {
	down := reads{
		get:  func(context.Context, client.ObjectKey, client.Object) error { return errTimeout },
		list: func(context.Context, client.ObjectList) error { return errTimeout },
	}
	empty := reads{list: func(context.Context, client.ObjectList) error { return nil }}
	bound := reads{list: func(_ context.Context, l client.ObjectList) error {
		if s, ok := l.(*v1alpha1.SubscriptionList); ok {
			s.Items = []v1alpha1.Subscription{{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"},
				Spec:       v1alpha1.SubscriptionSpec{OfferingRef: v1alpha1.ObjectReference{Namespace: "ns", Name: "a"}},
			}}
		}
		return nil
	}}
	hangs := reads{get: func(ctx context.Context, _ client.ObjectKey, _ client.Object) error {
		<-ctx.Done()
		return ctx.Err()
	}}
	ending := func(from reads) reads {
		from.get = func(_ context.Context, _ client.ObjectKey, o client.Object) error {
			o.(*corev1.Namespace).DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
			return nil
		}
		return from
	}
	legacy := reads{get: func(_ context.Context, k client.ObjectKey, o client.Object) error {
		o.(*v1alpha1.Offering).Spec.Compatibility = &v1alpha1.Compatibility{RequiredOfferings: []v1alpha1.ObjectReference{{Name: "old"}, {Namespace: "ns", Name: "a"}}}
		o.SetNamespace(k.Namespace)
		o.SetName(k.Name)
		return nil
	}}

	const (
		plain     = `{"metadata":{"namespace":"ns","name":"a"}}`
		held      = `{"metadata":{"namespace":"ns","name":"a","finalizers":["offerings.finops.stakater.com/finalizer"]}}`
		requiring = `{"metadata":{"namespace":"ns","name":"a"},"spec":{"compatibility":{"requiredOfferings":[{"namespace":"ns","name":"b"}]}}}`
	)
	inUse := refused{http.StatusForbidden, "DependentSubscriptionsExist", "DependentSubscriptionsExist: offering ns/a is still referenced by subscriptions ns/s"}

	cases := map[string]struct {
		reason  string
		cache   reads
		live    reads
		guard   offer.Guard
		request admission.Request
		want    refused
	}{
		"Update": {
			reason:  "Whatever somebody registers, an update is admitted, unread (OPEN-CFG-4).",
			request: request(admissionv1.Update, `{"metadata":`),
		},
		"Connect": {
			reason:  "So is what there is no check for.",
			request: request(admissionv1.Connect, ""),
		},
		"Subresource": {
			reason:  "So is a write of a subresource.",
			request: func() admission.Request { r := request(admissionv1.Create, ""); r.SubResource = "status"; return r }(),
		},
		"OtherKind": {
			reason: "What the wrong path is asked about is refused, or it would be admitted unjudged.",
			request: func() admission.Request {
				r := request(admissionv1.Create, plain)
				r.Resource.Resource = "subscriptions"
				return r
			}(),
			want: refused{http.StatusBadRequest, "BadRequest", "BadRequest: this webhook judges offerings.finops.stakater.com only, not subscriptions.finops.stakater.com: correct the webhook configuration"},
		},
		"NoObject": {
			reason:  "A request without an object is refused, not guessed at.",
			request: request(admissionv1.Delete, ""),
			want:    refused{http.StatusInternalServerError, "ValidationError", "ValidationError: cannot read the object of the request: unexpected end of JSON input"},
		},
		"NoNames": {
			reason:  "So is one that names nothing.",
			request: func() admission.Request { r := request(admissionv1.Delete, "{}"); r.Name = ""; return r }(),
			want:    refused{http.StatusInternalServerError, "ValidationError", "ValidationError: cannot tell which object the request is about"},
		},
		"CreateUnread": {
			reason:  "Not to know is no permission.",
			cache:   down,
			request: request(admissionv1.Create, requiring),
			want:    refused{http.StatusInternalServerError, "ValidationError", "ValidationError: cannot look up required offering ns/b: the server did not answer"},
		},
		"CreateHangs": {
			reason:  "An answer does not take forever.",
			cache:   hangs,
			request: request(admissionv1.Create, requiring),
			want:    refused{http.StatusInternalServerError, "ValidationError", "ValidationError: cannot look up required offering ns/b: context deadline exceeded"},
		},
		"CreateLegacy": {
			reason:  "An old entry without a namespace closes no cycle, and does not hide one.",
			cache:   legacy,
			request: request(admissionv1.Create, requiring),
			want:    refused{http.StatusForbidden, "CircularDependencyDetected", "CircularDependencyDetected: circular dependency: ns/a -> ns/b -> ns/a"},
		},
		"DeleteUnread": {
			reason:  "Nobody knows who depends on it, so it stays.",
			cache:   empty,
			live:    down,
			request: request(admissionv1.Delete, plain),
			want:    refused{http.StatusInternalServerError, "ValidationError", "ValidationError: cannot list subscriptions: the server did not answer"},
		},
		"DeleteStaleCache": {
			reason:  "A cache that has not seen the Subscription yet lets nothing go: the server is asked.",
			cache:   empty,
			live:    bound,
			request: request(admissionv1.Delete, plain),
			want:    inUse,
		},
		"DeleteOldServer": {
			reason:  "A server that cannot select lists everybody.",
			cache:   empty,
			live:    reads{list: bound.list, old: true},
			request: request(admissionv1.Delete, plain),
			want:    inUse,
		},
		"DeleteReadyGuard": {
			reason:  "Who asks for it lets an Offering go when nobody that is ready is left (BETTER-OFF-4).",
			cache:   bound,
			live:    bound,
			guard:   offer.GuardReady,
			request: request(admissionv1.Delete, plain),
		},
		"DeleteOdd": {
			reason:  "Whatever its spec holds, an Offering can be judged by its name.",
			cache:   empty,
			live:    empty,
			request: request(admissionv1.Delete, `{"metadata":{"namespace":"ns","name":"a"},"spec":{"compatibility":{"requiredOfferings":"none"}}}`),
		},
		"DeleteTwice": {
			reason:  "One that is being deleted already is held by its finalizer.",
			cache:   down,
			live:    down,
			request: request(admissionv1.Delete, `{"metadata":{"namespace":"ns","name":"a","deletionTimestamp":"2026-01-01T00:00:00Z"}}`),
		},
		"DeleteInEndingNamespace": {
			reason:  "One that the controller holds may go with its namespace.",
			cache:   bound,
			live:    ending(bound),
			request: request(admissionv1.Delete, held),
		},
		"DeleteUnheldInEndingNamespace": {
			reason:  "One that it does not hold would be gone at once.",
			cache:   bound,
			live:    ending(bound),
			request: request(admissionv1.Delete, plain),
			want:    inUse,
		},
		"DeleteNamespaceUnread": {
			reason:  "A namespace that cannot be read is none that ends.",
			cache:   bound,
			live:    down,
			request: request(admissionv1.Delete, held),
			want:    inUse,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // However long the deadline is, it takes no time.
				o := &offerings{cache: tc.cache, live: tc.live, guard: tc.guard}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				got := refusal(o.handler().Handle(ctx, tc.request))
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
				}
			})
		})
	}
}

// FuzzHandle asks about anything at all. Nothing may panic, what is refused says
// why, and what no cycle can be ruled out for is not admitted.
func FuzzHandle(f *testing.F) {
	f.Add("CREATE", "", []byte(`{"metadata":{"namespace":"ns","name":"a"},"spec":{"compatibility":{"requiredOfferings":[{"namespace":"ns","name":"a"}]}}}`))
	f.Add("CREATE", "", []byte(`{"spec":{"parent":{"subscriptionRef":{"namespace":"ns","name":"a"}},"lifecycle":{"targetRef":{}}}}`))
	f.Add("DELETE", "", []byte(`{"metadata":{"deletionTimestamp":null,"finalizers":[null]}}`))
	f.Add("UPDATE", "status", []byte("null"))
	f.Add("CREATE", "", []byte(`{"metadata":null,"spec":null}`))

	none := reads{
		get:  func(context.Context, client.ObjectKey, client.Object) error { return errTimeout },
		list: func(context.Context, client.ObjectList) error { return nil },
	}
	o := (&offerings{cache: none, live: none}).handler()
	s := (&subscriptions{cache: none, detectParentCycles: true}).handler()
	f.Fuzz(func(t *testing.T, operation, subresource string, object []byte) {
		for _, h := range []*handler{o, s} {
			r := request(admissionv1.Operation(operation), string(object))
			r.SubResource, r.Resource.Resource = subresource, h.resource
			got := h.Handle(t.Context(), r)
			if !got.Allowed && (got.Result == nil || got.Result.Code < 400 || !strings.HasPrefix(got.Result.Message, string(got.Result.Reason)+": ")) {
				t.Errorf("a refusal without reason: %+v", got)
			}
			if got.Allowed && h.checks[r.Operation] != nil && subresource == "" && !json.Valid(object) {
				t.Errorf("%s of what is no object was admitted: %q", operation, object)
			}
		}
	})
}

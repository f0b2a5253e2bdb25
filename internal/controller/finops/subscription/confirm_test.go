package subscription

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/finops/index"
	"github.com/provider-finops/provider-finops/internal/controller/frame"
	"github.com/provider-finops/provider-finops/internal/controller/mirror"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// These tests show a reconcile a cache that lags behind the server, which a
// real server cannot be made to do on purpose.

var (
	errDown = errors.New("the server did not answer")
	noon    = metav1.NewTime(time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC))
	earlier = metav1.NewTime(noon.Add(-time.Hour))
)

// indexes gives the fake client the indexes of the cache.
type indexes struct{ *fake.ClientBuilder }

func (i indexes) IndexField(_ context.Context, obj client.Object, field string, values client.IndexerFunc) error {
	i.WithIndex(obj, field, values)
	return nil
}

func store(t *testing.T, broken interceptor.Funcs, objects ...client.Object) client.Client {
	t.Helper()
	b := fake.NewClientBuilder().WithScheme(apitest.Scheme()).WithObjects(objects...).
		WithStatusSubresource(&v1alpha1.Subscription{}).WithInterceptorFuncs(broken)
	for _, add := range []func(context.Context, client.FieldIndexer) error{index.AddSubscriptions, index.AddOfferings} {
		if err := add(t.Context(), indexes{b}); err != nil {
			t.Fatal(err)
		}
	}
	return b.Build()
}

func sub(name, parent, offering string, with ...func(*v1alpha1.Subscription)) *v1alpha1.Subscription {
	s := &v1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), Finalizers: []string{v1alpha1.SubscriptionFinalizer}},
		Spec:       v1alpha1.SubscriptionSpec{OfferingRef: v1alpha1.ObjectReference{Namespace: "ns", Name: offering}},
	}
	if parent != "" {
		s.Spec.Parent = &v1alpha1.SubscriptionParent{SubscriptionRef: v1alpha1.ObjectReference{Namespace: "ns", Name: parent}}
	}
	for _, f := range with {
		f(s)
	}
	return s
}

func isActive(s *v1alpha1.Subscription) {
	s.Status.ActivatedAt = &earlier
	s.Status.CompatibilityRoot = "uid-root"
	s.Report(v1alpha1.Ready("ActivationSucceeded", ""), v1alpha1.Active("ActivationSucceeded", ""))
}

func hasEndedAt(s *v1alpha1.Subscription) { s.Status.DeactivatedAt = &earlier }

func offeringOf(name string, requires ...string) *v1alpha1.Offering {
	o := &v1alpha1.Offering{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name)}}
	for _, r := range requires {
		if o.Spec.Compatibility == nil {
			o.Spec.Compatibility = &v1alpha1.Compatibility{}
		}
		o.Spec.Compatibility.RequiredOfferings = append(o.Spec.Compatibility.RequiredOfferings, v1alpha1.ObjectReference{Namespace: "ns", Name: r})
	}
	o.Status.Ready = metav1.ConditionTrue
	return o
}

// TestConfirmedByTheServer has a cache that says one thing and a server that
// says another. What cannot be taken back follows the server; what the server
// could not be asked about is not decided.
func TestConfirmedByTheServer(t *testing.T) {
	type want struct {
		Ready       string
		Activated   bool
		Deactivated bool
		Err         error
	}

	root := sub("root", "", "basic", isActive)
	vm := sub("vm", "root", "vm", isActive)
	offerings := []client.Object{offeringOf("basic"), offeringOf("vm"), offeringOf("disk", "vm")}
	listsFail := interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return errDown
	}}
	readsFail := interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return errDown
	}}

	notServed := interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		if key.Name != "root" {
			return c.Get(ctx, key, o, opts...)
		}
		subscriptions := schema.GroupResource{Group: "finops.stakater.com", Resource: "subscriptions"}
		return errors.Join(errDown, kerrors.NewGenericServerResponse(http.StatusNotFound, "get", subscriptions, key.Name, "404 page not found", 0, true))
	}}

	cases := map[string]struct {
		reason string
		self   *v1alpha1.Subscription
		cached []client.Object
		server []client.Object
		broken interceptor.Funcs // Of the server.
		want   want
	}{
		"ParentNotInCacheYet": {
			reason: "A parent that the server has is not gone.",
			self:   sub("self", "root", "basic", isActive),
			server: []client.Object{root},
			want:   want{Ready: "ActivationSucceeded", Activated: true},
		},
		"ParentGone": {
			reason: "A parent that the server does not have is.",
			self:   sub("self", "root", "basic", isActive),
			want:   want{Ready: "ValidationSucceeded", Activated: true, Deactivated: true},
		},
		"ParentGoneUnconfirmed": {
			reason: "If the server cannot be asked nothing ends.",
			self:   sub("self", "root", "basic", isActive),
			broken: readsFail,
			want:   want{Ready: "ValidationError", Activated: true, Err: errDown},
		},
		"ParentNotServed": {
			reason: "A server, or who stands before it, that knows no such path says nothing about the parent.",
			self:   sub("self", "root", "basic", isActive),
			broken: notServed,
			want:   want{Ready: "ValidationError", Activated: true, Err: errDown},
		},
		"ParentEndedInTheMeantime": {
			reason: "A parent that was fine in the cache, and is not, activates nobody.",
			self:   sub("self", "root", "basic"),
			cached: []client.Object{root},
			server: []client.Object{sub("root", "", "basic", isActive, hasEndedAt)},
			want:   want{Ready: "ParentSubscriptionDeactivated"},
		},
		"ProviderNotInCacheYet": {
			reason: "A family is listed from the server before somebody ends for what is missing in it.",
			self:   sub("self", "root", "disk", isActive),
			cached: []client.Object{root},
			server: []client.Object{root, vm},
			want:   want{Ready: "ActivationSucceeded", Activated: true},
		},
		"ProviderGone": {
			reason: "A provider that the server does not list covers nothing.",
			self:   sub("self", "root", "disk", isActive),
			cached: []client.Object{root},
			server: []client.Object{root},
			want:   want{Ready: "ValidationSucceeded", Activated: true, Deactivated: true},
		},
		"ProviderGoneUnconfirmed": {
			reason: "If the server cannot list nothing ends.",
			self:   sub("self", "root", "disk", isActive),
			cached: []client.Object{root},
			server: []client.Object{root},
			broken: listsFail,
			want:   want{Ready: "ValidationError", Activated: true, Err: errDown},
		},
		"ProviderEndedInTheMeantime": {
			reason: "A provider that was active in the cache, and is not, activates nobody.",
			self:   sub("self", "root", "disk"),
			cached: []client.Object{root, vm},
			server: []client.Object{root, sub("vm", "root", "vm", isActive, hasEndedAt)},
			want:   want{Ready: "CompatibilityRequirementNotMet"},
		},
		"SecondProvider": {
			reason: "If the first provider has gone in the meantime, the next one is asked.",
			self:   sub("self", "root", "disk"),
			cached: []client.Object{root, vm, sub("vm-2", "root", "vm", isActive)},
			server: []client.Object{root, sub("vm-2", "root", "vm", isActive)},
			broken: listsFail, // A list is not needed: nobody ends.
			want:   want{Ready: "ActivationSucceeded", Activated: true},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}}
			both := append([]client.Object{ns, tc.self}, offerings...)
			cached := store(t, interceptor.Funcs{}, append(tc.cached, both...)...)
			server := store(t, tc.broken, append(tc.server, both...)...)
			e := &external{connector: &connector{
				cached:   view{Reader: cached},
				live:     view{Reader: newSharing(server), live: true},
				removed:  &removed{tombstones: (*mirror.Mirror)(nil).Tombstones},
				replaced: newReplaced(),
				evidence: newEvidence(server),
				targets:  targets{watches: &targetWatches{}},
				statuses: frame.NewStatuses(cached),
				clock:    clocktesting.NewFakePassiveClock(noon.Time),
				record:   event.NewNopRecorder(),
				said:     newOnce(),
			}}

			s := &v1alpha1.Subscription{}
			if err := cached.Get(t.Context(), client.ObjectKeyFromObject(tc.self), s); err != nil {
				t.Fatal(err)
			}
			_, err := e.Observe(t.Context(), s)

			stored := &v1alpha1.Subscription{}
			if err := cached.Get(t.Context(), client.ObjectKeyFromObject(tc.self), stored); err != nil {
				t.Fatal(err)
			}
			got := want{Activated: stored.Status.ActivatedAt != nil, Deactivated: stored.Status.DeactivatedAt != nil}
			for _, c := range stored.Status.Conditions {
				if c.Type == v1alpha1.TypeReady {
					got.Ready = c.Reason
				}
			}
			if errors.Is(err, errDown) {
				got.Err = errDown
			} else if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.Comparer(errors.Is)); diff != "" {
				t.Errorf("%s\nObserve(...): -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestConflict decides on an object that somebody has changed since it was
// read. Nothing is stored, nothing follows; the runtime looks again.
func TestConflict(t *testing.T) {
	self := sub("self", "", "basic")
	c := store(t, interceptor.Funcs{}, self, offeringOf("basic"), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}})
	said := 0
	e := &external{connector: &connector{
		cached:   view{Reader: c},
		live:     view{Reader: c, live: true},
		removed:  &removed{tombstones: (*mirror.Mirror)(nil).Tombstones},
		replaced: newReplaced(),
		statuses: frame.NewStatuses(c),
		targets:  targets{watches: &targetWatches{}},
		clock:    clocktesting.NewFakePassiveClock(noon.Time),
		record:   counting{&said},
		said:     newOnce(),
	}}

	stale := &v1alpha1.Subscription{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(self), stale); err != nil {
		t.Fatal(err)
	}
	fresh := stale.DeepCopy()
	fresh.Spec.UsageSources = []v1alpha1.UsageSource{{Namespace: "ns"}}
	if err := c.Update(t.Context(), fresh); err != nil {
		t.Fatal(err)
	}

	if _, err := e.Observe(t.Context(), stale); !kerrors.IsConflict(err) {
		t.Errorf("Observe of a stale object: want a conflict, got %v", err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(self), fresh); err != nil {
		t.Fatal(err)
	}
	if fresh.Status.ActivatedAt != nil || said > 0 {
		t.Errorf("An activation was stored (%v) or announced (%d events) on a stale object", fresh.Status.ActivatedAt, said)
	}
	if _, err := e.Observe(t.Context(), fresh); err != nil || fresh.Status.ActivatedAt == nil {
		t.Errorf("The next look: error %v, activated %v", err, fresh.Status.ActivatedAt)
	}
}

// TestTheHourPassesMeanwhile has the server take so long to answer that the hour
// passes. A charge run may have made it final by then, so the end lies after it.
func TestTheHourPassesMeanwhile(t *testing.T) {
	self := sub("self", "gone", "basic", isActive)
	there := []client.Object{self, offeringOf("basic"), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}}}
	cached := store(t, interceptor.Funcs{}, there...)
	clk := clocktesting.NewFakePassiveClock(noon.Add(-time.Second))
	after := metav1.NewTime(noon.Add(3 * time.Second))
	slow := interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		clk.SetTime(after.Time)
		return c.Get(ctx, key, o, opts...)
	}}
	e := &external{connector: &connector{
		cached:   view{Reader: cached},
		live:     view{Reader: store(t, slow, there...), live: true},
		removed:  &removed{tombstones: (*mirror.Mirror)(nil).Tombstones},
		replaced: newReplaced(),
		statuses: frame.NewStatuses(cached),
		targets:  targets{watches: &targetWatches{}},
		clock:    clk,
		record:   event.NewNopRecorder(),
		said:     newOnce(),
	}}

	s := &v1alpha1.Subscription{}
	if err := cached.Get(t.Context(), client.ObjectKeyFromObject(self), s); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Observe(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if at := s.Status.DeactivatedAt; at == nil || !at.Equal(&after) {
		t.Errorf("It ends at %v, want %v", at, after)
	}
}

// TestClockBehindTheChargeRuns ends what has been charged beyond the clock.
func TestClockBehindTheChargeRuns(t *testing.T) {
	charged := metav1.NewTime(noon.Add(time.Hour))
	s := sub("self", "", "basic", isActive)
	s.Status.Costs = []v1alpha1.CostBucket{
		{Granularity: v1alpha1.CostGranularityDay, Start: earlier},
		{Granularity: v1alpha1.CostGranularityHour, Start: charged},
	}
	if got := self(s).ChargedTo; got == nil || !got.Equal(charged.Time) {
		t.Errorf("It is charged to %v, want %v", got, charged)
	}
}

// counting counts events.
type counting struct{ n *int }

func (r counting) Event(runtime.Object, event.Event) { *r.n++ }

func (r counting) WithAnnotations(...string) event.Recorder { return r }

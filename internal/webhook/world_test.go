package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/finops/offering"
	"github.com/provider-finops/provider-finops/internal/controller/finops/subscription"
	"github.com/provider-finops/provider-finops/internal/controller/frame"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
	"github.com/provider-finops/provider-finops/internal/testkit/invariants"
	"github.com/provider-finops/provider-finops/internal/webhook"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(apitest.Main(m))
}

// A world is an API server that asks our webhooks.
type world struct {
	client.Client

	ns   string
	hook *admissionregistrationv1.ValidatingWebhookConfiguration
}

// serve runs the webhooks, and the controllers whose indexes they use, and
// installs the configuration that is shipped.
func serve(t *testing.T, door apitest.Door, s webhook.Settings) *world {
	t.Helper()
	run(t, door, s)
	w := install(t, door)
	w.isAsked(t, true)
	return w
}

// run runs the webhooks until the test ends.
func run(t *testing.T, door apitest.Door, s webhook.Settings) {
	t.Helper()
	mgr, _ := apitest.Manager(t, door.Serve)
	o := frame.Options{Logger: logging.NewNopLogger(), Clock: clock.RealClock{}, MaxConcurrentReconciles: 2, Limiter: ratelimiter.NewGlobal(500)}
	for _, setup := range []func() error{
		func() error { return offering.Setup(mgr, o, nil, offering.Settings{}) },
		func() error { return subscription.Setup(mgr, o, nil, subscription.Settings{}) },
		func() error { return webhook.Setup(mgr, s) },
	} {
		if err := setup(); err != nil {
			t.Fatal(err)
		}
	}
	apitest.Run(t, mgr)
}

// install has the API server ask at the door.
func install(t *testing.T, door apitest.Door) *world {
	t.Helper()
	w := &world{Client: apitest.Client(t)}
	t.Cleanup(func() { w.isAsked(t, false) }) // After the configuration is gone.
	w.ns, w.hook = apitest.Namespace(t, w), door.Install(t, w)
	return w
}

// isAsked waits until the API server asks, or has ceased to.
func (w *world) isAsked(t *testing.T, want bool) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	what := map[bool]string{true: "an API server that asks", false: "an API server that does not ask"}[want]
	eventually(ctx, t, what, func() error {
		for _, o := range []client.Object{selfParent(metav1.NamespaceDefault, "probe"), newOffering(metav1.NamespaceDefault, "probe", "probe")} {
			err := w.Create(ctx, o, client.DryRunAll)
			if asked := refusalOf(err).Reason == v1alpha1.ReasonCircularDependencyDetected; asked != want || (!want && err != nil) {
				return errors.Join(errors.New("not yet"), err)
			}
		}
		return nil
	})
}

// patience is how long something may take: the namespace controller looks again
// after many seconds only.
const patience = 3 * time.Minute

// eventually is apitest's, also for what happens after a test.
func eventually(ctx context.Context, t *testing.T, what string, check func() error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		t.Errorf("%s did not come true: %v", what, last)
	}
}

// known waits until the controllers hold the objects, and so their cache does.
func (w *world) known(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		apitest.Eventually(t, "a finalizer on "+o.GetName(), func(ctx context.Context) error {
			if err := w.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
				return err
			}
			if len(o.GetFinalizers()) == 0 {
				return errors.New("there is none")
			}
			return nil
		})
	}
}

// create creates what has to be admitted.
func (w *world) create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		if err := w.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

// merge patches an object.
func (w *world) merge(t *testing.T, o client.Object, patch string) error {
	t.Helper()
	return w.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(patch)))
}

// gone waits until the objects do not exist.
func (w *world) gone(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		eventually(t.Context(), t, "the end of "+o.GetName(), func() error {
			if err := w.Get(t.Context(), client.ObjectKeyFromObject(o), o); !kerrors.IsNotFound(err) {
				return errors.Join(fmt.Errorf("it is still there: %+v", o), err)
			}
			return nil
		})
	}
}

// holds checks what has to hold after a fault, rest among it.
func (w *world) holds(t *testing.T) {
	t.Helper()
	invariants.Check(t, invariants.World{API: w, Rest: 25})
}

func newOffering(ns, name string, requires ...string) *v1alpha1.Offering {
	o := &v1alpha1.Offering{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	for _, r := range requires {
		require(o, ns, r)
	}
	return o
}

func require(o *v1alpha1.Offering, ns, name string) {
	if o.Spec.Compatibility == nil {
		o.Spec.Compatibility = &v1alpha1.Compatibility{}
	}
	o.Spec.Compatibility.RequiredOfferings = append(o.Spec.Compatibility.RequiredOfferings, v1alpha1.ObjectReference{Namespace: ns, Name: name})
}

func newSubscription(ns, name, offering string) *v1alpha1.Subscription {
	return &v1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec:       v1alpha1.SubscriptionSpec{OfferingRef: v1alpha1.ObjectReference{Namespace: ns, Name: offering}},
	}
}

func childOf(s *v1alpha1.Subscription, ns, name string) *v1alpha1.Subscription {
	s.Spec.Parent = &v1alpha1.SubscriptionParent{SubscriptionRef: v1alpha1.ObjectReference{Namespace: ns, Name: name}}
	return s
}

func selfParent(ns, name string) *v1alpha1.Subscription {
	return childOf(newSubscription(ns, name, "any"), ns, name)
}

func targeting(s *v1alpha1.Subscription, apiVersion, name string) *v1alpha1.Subscription {
	s.Spec.Lifecycle = &v1alpha1.SubscriptionLifecycle{TargetRef: &v1alpha1.TargetReference{
		APIVersion: apiVersion, Kind: "Subscription", Namespace: s.Namespace, Name: name,
	}}
	return s
}

// refusal is what a user gets to see.
type refusal struct{ Reason, Message string }

func refusalOf(err error) refusal {
	var status kerrors.APIStatus
	switch {
	case err == nil:
		return refusal{}
	case !errors.As(err, &status):
		return refusal{Message: err.Error()} // Nobody was refused, and nothing was admitted.
	}
	return refusal{string(status.Status().Reason), status.Status().Message}
}

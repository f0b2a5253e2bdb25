package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/finops/offering"
	"github.com/provider-finops/provider-finops/internal/controller/finops/subscription"
	"github.com/provider-finops/provider-finops/internal/controller/frame"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
	"github.com/provider-finops/provider-finops/internal/webhook"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(apitest.Main(m))
}

// serve runs the webhooks, and the controllers whose indexes they use, and
// tells the API server to ask them.
func serve(t *testing.T) (client.Client, string) {
	t.Helper()
	local := envtest.WebhookInstallOptions{}
	if err := local.PrepWithoutInstalling(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Cleanup(); err != nil {
			t.Error(err)
		}
	})
	again := true
	mgr, err := ctrl.NewManager(apitest.Config(t), ctrl.Options{
		Scheme:                 apitest.Scheme(),
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		Controller:             config.Controller{SkipNameValidation: &again},
		WebhookServer: ctrlwebhook.NewServer(ctrlwebhook.Options{
			Host: local.LocalServingHost, Port: local.LocalServingPort, CertDir: local.LocalServingCertDir,
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	o := frame.Options{Logger: logging.NewNopLogger(), Clock: clock.RealClock{}, MaxConcurrentReconciles: 1, Limiter: ratelimiter.NewGlobal(100)}
	for _, setup := range []func() error{
		func() error { return offering.Setup(mgr, o, nil) },
		func() error { return subscription.Setup(mgr, o, nil) },
		func() error { return webhook.Setup(mgr) },
	} {
		if err := setup(); err != nil {
			t.Fatal(err)
		}
	}
	apitest.Run(t, mgr)

	c := apitest.Client(t)
	ns := apitest.Namespace(t, c)
	register(t, c, local, "offering", "voffering-v1alpha1.kb.io",
		admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.Delete)
	register(t, c, local, "subscription", "vsubscription-v1alpha1.kb.io", admissionregistrationv1.Create)
	apitest.Eventually(t, "a webhook that is asked", func(ctx context.Context) error {
		err := c.Create(ctx, selfParent(ns, "probe"), client.DryRunAll)
		if err == nil || !kerrors.IsForbidden(err) && kerrors.ReasonForError(err) != "CircularDependencyDetected" {
			return fmt.Errorf("it was not asked: %w", errors.Join(err, errors.New("admitted or failed")))
		}
		return nil
	})
	return c, ns
}

// register tells the API server which requests to ask about, as the installed
// configuration does (part 80.8).
func register(t *testing.T, c client.Client, local envtest.WebhookInstallOptions, kind, name string, on ...admissionregistrationv1.OperationType) {
	t.Helper()
	url := "https://" + net.JoinHostPort(local.LocalServingHost, strconv.Itoa(local.LocalServingPort)) + "/validate-finops-stakater-com-v1alpha1-" + kind
	fail, none := admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone
	hook := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:                    name,
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: local.LocalServingCAData},
			FailurePolicy:           &fail,
			SideEffects:             &none,
			AdmissionReviewVersions: []string{"v1"},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: on,
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{v1alpha1.GroupVersion.Group}, APIVersions: []string{v1alpha1.GroupVersion.Version}, Resources: []string{kind + "s"},
				},
			}},
		}},
	}
	if err := c.Create(t.Context(), hook); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Delete(context.Background(), hook); err != nil {
			t.Error(err)
		}
	})
}

func newOffering(ns, name string, requires ...string) *v1alpha1.Offering {
	o := &v1alpha1.Offering{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	for _, r := range requires {
		if o.Spec.Compatibility == nil {
			o.Spec.Compatibility = &v1alpha1.Compatibility{}
		}
		o.Spec.Compatibility.RequiredOfferings = append(o.Spec.Compatibility.RequiredOfferings, v1alpha1.ObjectReference{Namespace: ns, Name: r})
	}
	return o
}

func newSubscription(ns, name, offering string) *v1alpha1.Subscription {
	return &v1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec:       v1alpha1.SubscriptionSpec{OfferingRef: v1alpha1.ObjectReference{Namespace: ns, Name: offering}},
	}
}

func selfParent(ns, name string) *v1alpha1.Subscription {
	s := newSubscription(ns, name, "any")
	s.Spec.Parent = &v1alpha1.SubscriptionParent{SubscriptionRef: v1alpha1.ObjectReference{Namespace: ns, Name: name}}
	return s
}

// refusal is what a user gets to see.
type refusal struct{ Reason, Message string }

func refusalOf(err error) refusal {
	var status kerrors.APIStatus
	if !errors.As(err, &status) {
		return refusal{}
	}
	return refusal{string(status.Status().Reason), status.Status().Message}
}

// TestAdmission makes every request that is refused, and for each one that is
// not, on a real API server.
func TestAdmission(t *testing.T) {
	c, ns := serve(t)
	const asked = `admission webhook "voffering-v1alpha1.kb.io" denied the request: `
	const askedSub = `admission webhook "vsubscription-v1alpha1.kb.io" denied the request: `
	target := func(s *v1alpha1.Subscription, name string) *v1alpha1.Subscription {
		s.Spec.Lifecycle = &v1alpha1.SubscriptionLifecycle{TargetRef: &v1alpha1.TargetReference{
			APIVersion: "finops.stakater.com/v1alpha1", Kind: "Subscription", Namespace: ns, Name: name,
		}}
		return s
	}
	cached := func(o client.Object) {
		t.Helper()
		apitest.Eventually(t, "a finalizer, which shows that the controllers know "+o.GetName(), func(ctx context.Context) error {
			if err := c.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
				return err
			}
			if len(o.GetFinalizers()) == 0 {
				return errors.New("there is none")
			}
			return nil
		})
	}
	create := func(o client.Object) error { return c.Create(t.Context(), o) }

	vm := newOffering(ns, "vm", "disk")
	steps := []struct {
		reason string
		do     func() error
		want   refusal
	}{
		{"What does not exist yet may be required: sets are applied in any order.", func() error { return create(vm) }, refusal{}},
		{"An Offering that requires itself is refused.", func() error { return create(newOffering(ns, "self", "self")) }, refusal{
			"CircularDependencyDetected", fmt.Sprintf("%sCircularDependencyDetected: circular dependency: %[2]s/self -> %[2]s/self", asked, ns),
		}},
		{"One that closes a cycle is refused, with the path.", func() error { cached(vm); return create(newOffering(ns, "disk", "vm")) }, refusal{
			"CircularDependencyDetected", fmt.Sprintf("%sCircularDependencyDetected: circular dependency: %[2]s/disk -> %[2]s/vm -> %[2]s/disk", asked, ns),
		}},
		{"An update is never refused here.", func() error {
			before := vm.DeepCopy()
			vm.Labels = map[string]string{"a": "b"}
			return c.Patch(t.Context(), vm, client.MergeFrom(before))
		}, refusal{}},
		{"A Subscription to what does not exist is admitted.", func() error { return create(newSubscription(ns, "early", "missing")) }, refusal{}},
		{"A Subscription that is its own parent is refused.", func() error { return create(selfParent(ns, "s")) }, refusal{
			"CircularDependencyDetected", fmt.Sprintf("%sCircularDependencyDetected: subscription %s/s names itself as its parent", askedSub, ns),
		}},
		{"A Subscription that is its own target is refused.", func() error { return create(target(newSubscription(ns, "s", "vm"), "s")) }, refusal{
			"TargetIsSelfReference", fmt.Sprintf("%sTargetIsSelfReference: subscription %s/s names itself as its target", askedSub, ns),
		}},
		{"Another Subscription may be the target.", func() error { return create(target(newSubscription(ns, "s", "vm"), "early")) }, refusal{}},
		{"An Offering that is subscribed to is not deleted.", func() error { return c.Delete(t.Context(), vm) }, refusal{
			"DependentSubscriptionsExist", fmt.Sprintf("%sDependentSubscriptionsExist: offering %[2]s/vm is still referenced by subscriptions %[2]s/s", asked, ns),
		}},
		{"One that is required is not deleted.", func() error {
			return errors.Join(create(newOffering(ns, "base")), create(newOffering(ns, "top", "base")), c.Delete(t.Context(), newOffering(ns, "base")))
		}, refusal{
			"DependentOfferingsExist", fmt.Sprintf("%sDependentOfferingsExist: offering %[2]s/base is still required by dependent resources %[2]s/top", asked, ns),
		}},
		{"What nobody depends on is deleted.", func() error { return c.Delete(t.Context(), newOffering(ns, "top")) }, refusal{}},
	}

	for _, s := range steps {
		err := s.do()
		if diff := cmp.Diff(s.want, refusalOf(err)); diff != "" {
			t.Errorf("%s\n-want +got:\n%s\n%v", s.reason, diff, err)
		}
	}
}

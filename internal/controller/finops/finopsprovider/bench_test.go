package finopsprovider

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/frame"
	"github.com/provider-finops/provider-finops/internal/controller/opencost"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

func TestMain(m *testing.M) { os.Exit(apitest.Main(m)) }

var start = time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)

const group = "dependencies.tenantoperator.stakater.com"

// A bench is the one FinOpsProvider and a namespace for OpenCost.
type bench struct {
	c        client.WithWatch
	r        reconcile.Reconciler
	opencost opencost.Installation
	clock    *clocktesting.FakePassiveClock
	writes   *apitest.Writes
	p        *v1alpha1.FinOpsProvider

	log []string // All lines, those of debugging included.
}

func newBench(t *testing.T, bundled bool, spec v1alpha1.FinOpsProviderSpec) *bench {
	t.Helper()
	mgr, writes := apitest.Manager(t)
	apitest.Run(t, mgr)
	c := apitest.Client(t)
	b := &bench{
		c: c, writes: writes,
		opencost: opencost.Installation{Namespace: apitest.Namespace(t, c), Deployment: "opencost"},
		clock:    clocktesting.NewFakePassiveClock(start),
	}
	log := funcr.New(func(prefix, args string) { b.log = append(b.log, prefix+" "+args) }, funcr.Options{Verbosity: 10})
	b.r = newReconciler(mgr, frame.Options{
		Logger: logging.NewLogrLogger(log), Clock: b.clock, Poll: time.Hour, MaxConcurrentReconciles: 1, Limiter: ratelimiter.NewGlobal(1000),
	}, b.opencost, bundled)

	b.p = &v1alpha1.FinOpsProvider{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Spec: spec}
	if err := c.Create(t.Context(), b.p); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Delete(context.Background(), b.p); err != nil {
			t.Errorf("cannot delete the provider: %v", err)
		}
	})

	return b
}

// A standing is what a user sees of the provider.
type standing struct {
	Ready   metav1.ConditionStatus
	Reason  string
	Message string
	Synced  metav1.ConditionStatus
	Time    string
}

func (b *bench) stands(want standing) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		if err := b.c.Get(ctx, client.ObjectKeyFromObject(b.p), b.p); err != nil {
			return err
		}
		got := standing{}
		if c := meta.FindStatusCondition(b.p.Status.Conditions, v1alpha1.TypeReady); c != nil {
			got.Ready, got.Reason, got.Message = c.Status, c.Reason, strings.ReplaceAll(c.Message, b.opencost.Namespace, "NAMESPACE")
		}
		if c := meta.FindStatusCondition(b.p.Status.Conditions, v1alpha1.TypeSynced); c != nil {
			got.Synced = c.Status
		}
		if at := b.p.Status.LastSyncTime; at != nil {
			got.Time = at.UTC().Format(time.TimeOnly)
		}
		if b.p.Status.ObservedGeneration != b.p.Generation {
			return fmt.Errorf("generation %d is not observed yet", b.p.Generation)
		}
		if got != want {
			return fmt.Errorf("-want, +got:\n%s", cmp.Diff(want, got))
		}
		return nil
	}
}

func (b *bench) settle(t *testing.T, want standing) {
	t.Helper()
	apitest.Settle(t, b.r, b.p, b.writes, b.stands(want))
	apitest.AssertQuiet(t, b.r, b.p, b.writes)
}

func (b *bench) edit(t *testing.T, spec v1alpha1.FinOpsProviderSpec) {
	t.Helper()
	b.p.Spec = spec
	if err := b.c.Update(t.Context(), b.p); err != nil {
		t.Fatal(err)
	}
}

func onPremises() v1alpha1.FinOpsProviderSpec {
	return v1alpha1.FinOpsProviderSpec{OnPremOptions: &v1alpha1.OnPremOptions{}}
}

func aws(secret, source string) v1alpha1.FinOpsProviderSpec {
	return v1alpha1.FinOpsProviderSpec{AWSOptions: &v1alpha1.AWSOptions{
		CloudOptions: v1alpha1.CloudOptions{CloudIntegrationSecret: secret, PricingModelSource: source},
	}}
}

// install adds the definition of OpenCost's resource to the server.
func install(t *testing.T) {
	t.Helper()
	if _, err := envtest.InstallCRDs(apitest.Config(t), envtest.CRDInstallOptions{Paths: []string{"testdata/opencosts.yaml"}}); err != nil {
		t.Fatal(err)
	}
}

// uninstall removes it, so that other tests begin as on any cluster.
func uninstall(t *testing.T, c client.Client) {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "opencosts." + group}}
	if err := c.Delete(context.Background(), crd); err != nil {
		t.Errorf("cannot remove the definition: %v", err)
	}
	apitest.Eventually(t, "the end of the definition", func(ctx context.Context) error {
		return gone(c.Get(ctx, client.ObjectKeyFromObject(crd), crd))
	})
}

func gone(err error) error {
	if kerrors.IsNotFound(err) {
		return nil
	}

	return fmt.Errorf("it is still there: %w", err)
}

func (b *bench) resource(t *testing.T, name string, spec map[string]any) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"opencost": spec}}}
	u.SetAPIVersion(group + "/v1alpha1")
	u.SetKind("OpenCost")
	u.SetNamespace(b.opencost.Namespace)
	u.SetName(name)
	if err := b.c.Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}

	return u
}

func (b *bench) spec(t *testing.T, u *unstructured.Unstructured) map[string]any {
	t.Helper()
	if err := b.c.Get(t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
		t.Fatal(err)
	}
	spec, _, err := unstructured.NestedMap(u.Object, "spec")
	if err != nil {
		t.Fatal(err)
	}

	return spec
}

func (b *bench) deployment(t *testing.T) {
	t.Helper()
	labels := map[string]string{"app": "opencost"}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.opencost.Namespace, Name: b.opencost.Deployment},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "opencost", Image: "opencost"}}},
			},
		},
	}
	if err := b.c.Create(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) restartedAt(t *testing.T) string {
	t.Helper()
	d := &appsv1.Deployment{}
	if err := b.c.Get(t.Context(), client.ObjectKey{Namespace: b.opencost.Namespace, Name: b.opencost.Deployment}, d); err != nil {
		t.Fatal(err)
	}

	return d.Spec.Template.Annotations[opencost.AnnotationRestartedAt]
}

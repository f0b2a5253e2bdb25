package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	xpmeta "github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
	"github.com/provider-finops/provider-finops/internal/webhook"
)

// TestNamespacesEnd deletes two namespaces whose Offerings keep one another:
// each is required by one that comes after it in the other namespace. Deleted as
// collections, which end at the first refusal, neither would ever be reached.
// An Offering stays for as long as a Subscription has to be settled on it, and
// no longer.
func TestNamespacesEnd(t *testing.T) {
	w := serve(t, apitest.NewDoor(t), webhook.Settings{})
	one, two := w.ns, apitest.Namespace(t, w)
	inOne, inTwo := newOffering(one, "a"), newOffering(two, "a")
	fromTwo, fromOne := newOffering(two, "z"), newOffering(one, "z")
	require(fromTwo, one, "a")
	require(fromOne, two, "a")
	s := newSubscription(one, "s", "a")
	w.create(t, inOne, inTwo, fromTwo, fromOne, s)
	w.known(t, inOne, inTwo, fromTwo, fromOne, s)

	apitest.ControllerManager(t, apitest.Namespaces)
	for _, name := range []string{one, two} {
		if err := w.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}

	w.gone(t, inTwo, fromTwo, fromOne)
	apitest.Eventually(t, "an Offering that waits for its Subscription", func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(inOne), inOne); err != nil {
			return err
		}
		c := meta.FindStatusCondition(inOne.Status.Conditions, v1alpha1.TypeDeleting)
		if c == nil || c.Reason != v1alpha1.ReasonDependentSubscriptionsExist {
			return fmt.Errorf("its condition is %v", c)
		}
		return nil
	})

	// The Subscription is deleted with its namespace, and the collector releases it.
	apitest.Eventually(t, "a deleted Subscription", func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(s), s); err != nil {
			return err
		}
		if s.DeletionTimestamp == nil {
			return errors.New("it is not")
		}
		return nil
	})
	if err := w.merge(t, s, `{"metadata":{"finalizers":null}}`); err != nil {
		t.Fatal(err)
	}
	w.gone(t, inOne, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: one}}, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: two}})
	w.holds(t)
}

// TestNamespaceInOutage deletes a namespace while nobody answers. It says why it
// stays, and goes by itself as soon as somebody does.
func TestNamespaceInOutage(t *testing.T) {
	c := apitest.Client(t)
	name := apitest.Namespace(t, c)
	if err := c.Create(t.Context(), newOffering(name, "vm")); err != nil {
		t.Fatal(err)
	}
	door := apitest.NewDoor(t)
	w := install(t, door)
	eventually(t.Context(), t, "an API server that asks", func() error {
		if err := w.Create(t.Context(), newOffering(name, "probe"), client.DryRunAll); err == nil {
			return errors.New("it does not")
		}
		return nil
	})
	apitest.ControllerManager(t, apitest.Namespaces)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := w.Delete(t.Context(), ns); err != nil {
		t.Fatal(err)
	}

	apitest.Eventually(t, "a namespace that says why it stays", func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(ns), ns); err != nil {
			return err
		}
		for _, c := range ns.Status.Conditions {
			if c.Type == corev1.NamespaceDeletionContentFailure && strings.Contains(c.Message, `failed calling webhook "voffering-v1alpha1.kb.io"`) {
				return nil
			}
		}
		return fmt.Errorf("its conditions are %v", ns.Status.Conditions)
	})
	run(t, door, webhook.Settings{})
	w.gone(t, ns)
	w.holds(t)
}

// TestUnguarded checks that only an Offering that the controller holds is let go
// with its namespace: one without a finalizer would be gone at once.
func TestUnguarded(t *testing.T) {
	w := serve(t, apitest.NewDoor(t), webhook.Settings{})
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.ns}}
	paused := newOffering(w.ns, "paused")
	paused.Annotations = map[string]string{xpmeta.AnnotationKeyReconciliationPaused: "true"}
	requiring := newOffering(apitest.Namespace(t, w), "requiring")
	require(requiring, w.ns, "paused")
	w.create(t, paused, requiring)
	w.known(t, requiring)
	if err := w.Delete(t.Context(), ns); err != nil { // Nobody empties it here.
		t.Fatal(err)
	}

	err := w.Delete(t.Context(), paused)
	if diff := cmp.Diff(metav1.StatusReason("DependentOfferingsExist"), kerrors.ReasonForError(err)); diff != "" {
		t.Errorf("-want +got:\n%s\n%v", diff, err)
	}
}

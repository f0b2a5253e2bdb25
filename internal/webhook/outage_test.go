package webhook_test

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// TestNobodyAnswers checks what an outage of the controller costs: nothing of
// what exists depends on it, but for the deletion of Offerings; what is new has
// to wait, and the user is told why.
func TestNobodyAnswers(t *testing.T) {
	c := apitest.Client(t)
	ns := apitest.Namespace(t, c)
	offering, subscription := newOffering(ns, "vm"), newSubscription(ns, "s", "vm")
	subscription.Finalizers = []string{v1alpha1.SubscriptionFinalizer}
	for _, o := range []client.Object{offering, subscription} {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	w := install(t, apitest.NewDoor(t)) // Nobody listens there.
	eventually(t.Context(), t, "an API server that asks", func() error {
		if err := w.Create(t.Context(), newSubscription(ns, "probe", "vm"), client.DryRunAll); err == nil {
			return errors.New("it does not ask yet")
		}
		return nil
	})
	patch := func(o client.Object, text string) func() error {
		return func() error { return w.merge(t, o, text) }
	}
	const down = `failed calling webhook "v`

	steps := []struct {
		reason string
		do     func() error
		want   string // In the message; empty: it works.
	}{
		{"A new Offering is refused, and the message names the webhook.", func() error { return w.Create(t.Context(), newOffering(ns, "disk")) }, down + `offering-v1alpha1.kb.io": failed to call webhook`},
		{"So is a new Subscription.", func() error { return w.Create(t.Context(), newSubscription(ns, "t", "vm")) }, down + `subscription-v1alpha1.kb.io": failed to call webhook`},
		{"An Offering is not deleted, because nobody knows who depends on it.", func() error { return w.Delete(t.Context(), offering) }, down + `offering-v1alpha1.kb.io": failed to call webhook`},
		{"Labels of an Offering change.", patch(offering, `{"metadata":{"labels":{"a":"b"}}}`), ""},
		{"Finalizers of an Offering change.", patch(offering, `{"metadata":{"finalizers":["example.org/held"]}}`), ""},
		{"The status of an Offering is written.", func() error {
			offering.Status.Ready = metav1.ConditionTrue
			return w.Status().Update(t.Context(), offering)
		}, ""},
		{"A Subscription is changed.", patch(subscription, `{"spec":{"usageSources":[{"namespace":"blue"}]}}`), ""},
		{"The status of a Subscription is written.", func() error {
			subscription.Status.Ready = metav1.ConditionFalse
			return w.Status().Update(t.Context(), subscription)
		}, ""},
		{"A Subscription is deleted, which starts its end.", func() error { return w.Delete(t.Context(), subscription) }, ""},
		{"The collector releases it.", patch(subscription, `{"metadata":{"finalizers":null}}`), ""},
		{"Other kinds of ours are created and deleted.", func() error {
			b := &v1alpha1.PriceBook{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "b"}, Spec: v1alpha1.PriceBookSpec{Currency: "EUR", ValuationMode: "currency"}}
			if err := w.Create(t.Context(), b); err != nil {
				return err
			}
			return w.Delete(t.Context(), b)
		}, ""},
		{"Objects that are none of ours are not affected.", func() error {
			return w.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "m"}})
		}, ""},
	}
	for _, s := range steps {
		err := s.do()
		switch {
		case s.want == "" && err != nil:
			t.Errorf("%s\ngot error %v", s.reason, err)
		case s.want != "" && (!kerrors.IsInternalError(err) || !strings.Contains(err.Error(), s.want)):
			t.Errorf("%s\ngot error %v, want %q", s.reason, err, s.want)
		}
	}
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(subscription), subscription); !kerrors.IsNotFound(err) {
		t.Errorf("A released Subscription goes though nobody answers: %v", err)
	}
}

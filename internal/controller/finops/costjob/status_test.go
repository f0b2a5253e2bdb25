package costjob

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// ready returns a check of the condition Ready, as of the newest generation.
func (b *bench) ready(j *v1alpha1.CostJob, want metav1.ConditionStatus, reason, message string) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		if err := b.c.Get(ctx, client.ObjectKeyFromObject(j), j); err != nil {
			return err
		}
		c := meta.FindStatusCondition(j.Status.Conditions, v1alpha1.TypeReady)
		if c == nil || c.Status != want || c.Reason != reason || c.Message != message || c.ObservedGeneration != j.Generation {
			return fmt.Errorf("want Ready=%s %s %q, got %+v", want, reason, message, c)
		}
		return nil
	}
}

// TestReady follows the condition that whoever composes CostJobs waits for: it
// is about the CronJob, and a settled one costs no write.
func TestReady(t *testing.T) {
	b := newBench(t)
	j := b.create(t, &v1alpha1.CostJob{})
	settle := func(s Settings, want metav1.ConditionStatus, reason, message string) {
		t.Helper()
		apitest.Settle(t, b.make(s), j, b.writes, b.ready(j, want, reason, message))
	}
	const (
		is    = `CronJob "hourly-cronjob" runs at "0 0 * * *"`
		isNot = "cannot make a CronJob: the controller does not know the image of the pods: set OPERATOR_IMAGE"
	)
	imageless := settings()
	imageless.Image = ""

	settle(imageless, metav1.ConditionFalse, "NotScheduled", isNot)
	settle(settings(), metav1.ConditionTrue, "Scheduled", is)
	apitest.AssertQuiet(t, b.make(settings()), j, b.writes)

	since := meta.FindStatusCondition(j.Status.Conditions, v1alpha1.TypeReady).LastTransitionTime
	j.Spec.Interval.Duration = time.Hour
	if err := b.c.Update(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	settle(settings(), metav1.ConditionTrue, "Scheduled", `CronJob "hourly-cronjob" runs at "0 * * * *"`)
	if got := meta.FindStatusCondition(j.Status.Conditions, v1alpha1.TypeReady).LastTransitionTime; !got.Equal(&since) {
		t.Errorf("an edit that succeeds is no transition: want %s, got %s", since, got)
	}

	// A CronJob that cannot be written as wanted is no longer what the spec says.
	settle(imageless, metav1.ConditionFalse, "NotScheduled", isNot)
	settle(settings(), metav1.ConditionTrue, "Scheduled", `CronJob "hourly-cronjob" runs at "0 * * * *"`)
}

// TestUnwritable shows what the API server's refusal comes to.
func TestUnwritable(t *testing.T) {
	b := newBench(t)
	j := b.create(t, &v1alpha1.CostJob{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationServiceAccount: "Not A Name"}}})
	apitest.Eventually(t, "the verdict", func(ctx context.Context) error {
		if _, err := b.make(settings()).Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(j)}); err != nil {
			return err
		}
		if err := b.synced(j, metav1.ConditionFalse, "")(ctx); j.Status.Conditions == nil {
			return err
		}
		if c := meta.FindStatusCondition(j.Status.Conditions, v1alpha1.TypeReady); c == nil || c.Reason != v1alpha1.ReasonNotScheduled || !strings.Contains(c.Message, "serviceAccountName") {
			return fmt.Errorf("want Ready=False NotScheduled about the account, got %+v", j.Status.Conditions)
		}
		return nil
	})
}

package allocation

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// TestOnARealServer runs against a real API server, whose rules a fake one does
// not have: the record has to pass the schema, beside a condition of somebody
// else, and the warning has to be an event it accepts.
func TestOnARealServer(t *testing.T) {
	w := newWorld(t)
	w.kube = apitest.Client(t)
	w.settings.CostJob = types.NamespacedName{Namespace: apitest.Namespace(t, w.kube), Name: "hourly"}
	w.settings.Limits.LookbackHours = 1

	costJob := &v1alpha1.CostJob{ObjectMeta: metav1.ObjectMeta{Namespace: w.settings.CostJob.Namespace, Name: "hourly"}}
	book := priceBook(w.settings.CostJob.Namespace, "tariff", false)
	book.UID = ""
	for _, object := range []client.Object{costJob, book} {
		if err := w.kube.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	synced := metav1.Condition{Type: "Synced", Status: metav1.ConditionTrue, Reason: "ReconcileSuccess", LastTransitionTime: metav1.Now()}
	costJob.Status.Conditions = []metav1.Condition{synced}
	if err := w.kube.Status().Update(t.Context(), costJob); err != nil {
		t.Fatal(err)
	}

	w.collect(10)
	w.opencost.answer(11, cutOff(at(11)))
	w.fail(11)

	status := w.costJob().Status
	got := make([]string, 0, len(status.ExecutionHistory))
	for _, r := range status.ExecutionHistory {
		got = append(got, r.ExecutionTime.UTC().Format(time.TimeOnly)+" "+string(r.Status))
	}
	if diff := cmp.Diff([]string{"11:00:02 Failed", "10:00:02 Success"}, got); diff != "" {
		t.Errorf("history: -want, +got:\n%s", diff)
	}
	if !strings.HasPrefix(status.ExecutionHistory[0].Error, `cannot collect 1 of 2 hours, the first of them "2026-04-01T11:00:00Z"`) {
		t.Errorf("the record says %q", status.ExecutionHistory[0].Error)
	}
	if status.LastExecutionStatus != v1alpha1.ExecutionStatusFailed || len(status.Conditions) != 1 {
		t.Errorf("status: %+v", status)
	}

	events := &corev1.EventList{}
	if err := w.kube.List(t.Context(), events, client.InNamespace(w.settings.CostJob.Namespace)); err != nil {
		t.Fatal(err)
	}
	if len(events.Items) != 2 || events.Items[0].Reason != ReasonPriceBookNotActive || events.Items[0].InvolvedObject.UID != costJob.UID {
		t.Errorf("events: %+v", events.Items)
	}
}

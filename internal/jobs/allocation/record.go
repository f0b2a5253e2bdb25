package allocation

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// maxError is how much of an error a record repeats. Ten of them have to fit a
// status that people read; the log has it all.
const maxError = 300

// record writes how the run ended into the CostJob's status. It does so even if
// the run was stopped: that is when somebody wants to know.
func (j *Job) record(ctx context.Context, started time.Time, failure error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), j.Settings.Timeouts.StatusUpdate)
	defer cancel()

	r := v1alpha1.ExecutionRecord{
		ExecutionTime: metav1.NewTime(started),
		Status:        v1alpha1.ExecutionStatusSuccess,
		Duration:      j.Clock.Since(started).Round(time.Millisecond).String(),
	}
	if failure != nil {
		r.Status = v1alpha1.ExecutionStatusFailed
		r.Error = shorten(failure.Error())
	}

	// The list has other writers, earlier and later runs, so a change that
	// crosses ours means: look again.
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		costJob := &v1alpha1.CostJob{}
		if err := j.Kube.Get(ctx, j.Settings.CostJob, costJob); err != nil {
			return err
		}
		before := costJob.DeepCopy()
		enter(&costJob.Status, r)
		return j.Kube.Status().Patch(ctx, costJob, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
	if err != nil {
		return fmt.Errorf("cannot record the run on CostJob %q: %w", j.Settings.CostJob, err)
	}
	return nil
}

// enter puts a record in front of the others and drops those beyond the tenth.
func enter(status *v1alpha1.CostJobStatus, r v1alpha1.ExecutionRecord) {
	history := append([]v1alpha1.ExecutionRecord{r}, status.ExecutionHistory...)
	status.ExecutionHistory = history[:min(len(history), v1alpha1.MaxExecutionHistory)]

	status.LastExecutionTime = r.ExecutionTime.DeepCopy()
	status.LastExecutionStatus = r.Status
	if r.Status == v1alpha1.ExecutionStatusSuccess {
		status.LastSuccessfulExecutionTime = r.ExecutionTime.DeepCopy()
	}
}

func shorten(text string) string {
	if runes := []rune(text); len(runes) > maxError {
		return string(runes[:maxError-1]) + "…"
	}
	return text
}

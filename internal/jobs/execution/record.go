// Package execution writes down on a CostJob how a run of its collector went.
package execution

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// maxError is how many bytes of an error a record keeps: ten of them have to fit
// an object that people read.
const maxError = 2000

// A Record tells about one run.
type Record struct {
	Start    time.Time
	Duration time.Duration
	Err      error // Why it failed; nil if it succeeded.
}

// Write puts the record in front of the history of a CostJob, of which the
// latest ten are kept. The moment of the last success moves only with a success
// (50.6).
func Write(ctx context.Context, c client.Client, job types.NamespacedName, r Record) error {
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		var costJob v1alpha1.CostJob
		if err := c.Get(ctx, job, &costJob); err != nil {
			return err
		}
		before := costJob.DeepCopy()
		r.addTo(&costJob.Status)
		return c.Status().Patch(ctx, &costJob, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
	if err != nil {
		return fmt.Errorf("cannot record the run on CostJob %q: %w", job, err)
	}
	return nil
}

func (r Record) addTo(status *v1alpha1.CostJobStatus) {
	start := metav1.NewTime(r.Start.UTC().Truncate(time.Second))
	entry := v1alpha1.ExecutionRecord{
		ExecutionTime: start,
		Status:        v1alpha1.ExecutionStatusSuccess,
		Duration:      r.Duration.Round(time.Millisecond).String(),
	}
	if r.Err == nil {
		status.LastSuccessfulExecutionTime = &start
	} else {
		entry.Status = v1alpha1.ExecutionStatusFailed
		entry.Error = shortened(r.Err.Error())
	}
	status.LastExecutionTime = &start
	status.LastExecutionStatus = entry.Status

	history := append([]v1alpha1.ExecutionRecord{entry}, status.ExecutionHistory...)
	status.ExecutionHistory = history[:min(len(history), v1alpha1.MaxExecutionHistory)]
}

func shortened(text string) string {
	if len(text) <= maxError {
		return text
	}
	cut := maxError
	for cut > 0 && text[cut]&0xC0 == 0x80 { // Not in the middle of a character.
		cut--
	}
	return text[:cut] + "…"
}

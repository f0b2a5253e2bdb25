// Package execution writes down on a CostJob how a run of its collector went.
package execution

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/objects"
)

// How many bytes of an error a record keeps, as they are written in JSON. People
// read the newest; of those before it they want to know whether it is the same.
// A status with ten failures stays below four kilobytes (P15). The whole text is
// in the log of the run.
const (
	maxNewestError  = 900
	maxEarlierError = 150
)

// lastWords is how long a run that was told to stop may still take to write its
// record: some seconds later it is killed.
const lastWords = 3 * time.Second

// A Record tells about one run.
type Record struct {
	Start    time.Time
	Duration time.Duration
	Err      error // Why it failed; nil if it succeeded.
}

// Outcome is the error of a run as people are told it: one that was told to stop
// has failed for that and nothing else.
func Outcome(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("the run was interrupted: %w", err)
	}
	return err
}

// Write puts the record in front of the history of a CostJob, of which the
// latest ten are kept. The moment of the last success moves only with a success
// (50.6).
//
// It may take so long, and is done even if the run was stopped: that is when
// somebody wants to know. But then there are a few seconds left.
func Write(ctx context.Context, c client.Client, job types.NamespacedName, r Record, within time.Duration) error {
	ctx, cancel := outliving(ctx, within)
	defer cancel()
	err := objects.RetryOnConflict(func() error {
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

// outliving ends after so long, or a moment after ctx.
func outliving(ctx context.Context, within time.Duration) (context.Context, context.CancelFunc) {
	outlived, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	forget := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(lastWords):
			cancel()
		case <-outlived.Done():
		}
	})
	return outlived, func() { forget(); cancel() }
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
		entry.Error = r.Err.Error()
	}
	status.LastExecutionTime = &start
	status.LastExecutionStatus = entry.Status

	history := append([]v1alpha1.ExecutionRecord{entry}, status.ExecutionHistory...)
	history = history[:min(len(history), v1alpha1.MaxExecutionHistory)]
	for i := range history {
		limit := maxEarlierError
		if i == 0 {
			limit = maxNewestError
		}
		history[i].Error = shortened(history[i].Error, limit)
	}
	status.ExecutionHistory = history
}

// shortened cuts a text between characters, so that its JSON keeps within a limit
// of bytes.
func shortened(text string, limit int) string {
	const mark = "…"
	if quoted(text) <= limit {
		return text
	}
	text = strings.TrimSuffix(text, mark)
	used := len(mark)
	for at, c := range text {
		if used += quoted(string(c)); used > limit {
			return text[:at] + mark
		}
	}
	return text + mark
}

// quoted is the length of a text in JSON, without its quotes.
func quoted(text string) int {
	out, err := json.Marshal(text)
	if err != nil {
		return len(text)
	}
	return len(out) - len(`""`)
}

package costjob

import (
	"fmt"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// patience is how long after it was due a run may say nothing. One that takes
// longer has begun long ago, or its pod does not start: whoever cannot start
// cannot say so itself.
const patience = 5 * time.Minute

// silentRun is the event that the newest run of a CronJob is silent, if it is. A
// run speaks by its record, whatever became of it. What ails its pod is not ours
// to read; the event says who tells.
func silentRun(j *v1alpha1.CostJob, c *batchv1.CronJob, now time.Time) (event.Event, bool) {
	if c == nil || len(c.Status.Active) == 0 || c.Status.LastScheduleTime == nil {
		return event.Event{}, false
	}
	due := c.Status.LastScheduleTime.Time
	if now.Sub(due) < patience {
		return event.Event{}, false
	}
	for _, record := range j.Status.ExecutionHistory {
		if !record.ExecutionTime.Time.Before(due) {
			return event.Event{}, false
		}
	}
	job := c.Status.Active[0].Name

	return event.Warning(reasonRunSilent, fmt.Errorf(
		"the run of Job %q, due at %s, has not ended, and no other begins before it has; if its pod does not start, \"kubectl describe pods -n %s -l batch.kubernetes.io/job-name=%s\" says why",
		job, due.UTC().Format(time.RFC3339), c.Namespace, job)), true
}

package costjob

import (
	"fmt"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// The events of a CostJob (part 80.2), and three of ours: without them the user
// would see a CronJob that never runs a pod, or none at all.
const (
	reasonIntervalNotRecognised event.Reason = "IntervalNotRecognised"
	reasonNameTooLong           event.Reason = "NameTooLong"
	reasonNameConflict          event.Reason = "NameConflict"
	reasonImageMissing          event.Reason = "OperatorImageMissing"
	reasonAccountElsewhere      event.Reason = "ServiceAccountElsewhere"
	reasonRunSilent             event.Reason = "RunSilent"
)

// A refusal is why no CronJob is made for a CostJob. Somebody has to change
// something.
type refusal struct {
	reason  event.Reason
	message string
}

func (r *refusal) Error() string { return "cannot make a CronJob: " + r.message }

// refused says so on Ready, and in an event, once. An error of any other kind
// means that we could not look, which is no verdict.
func (e *external) refused(j *v1alpha1.CostJob, err error) {
	var r *refusal
	if !errors.As(err, &r) {
		return
	}
	j.Report(notScheduled(r))
	synced := apimeta.FindStatusCondition(j.Status.Conditions, v1alpha1.TypeSynced)
	if synced != nil && strings.HasSuffix(synced.Message, r.Error()) {
		return
	}
	e.record.Event(j, event.Warning(r.reason, r))
}

func intervalNotRecognised(j *v1alpha1.CostJob, schedule string) event.Event {
	return event.Warning(reasonIntervalNotRecognised,
		fmt.Errorf("interval %s is none of 1m, 5m, 1h, 6h, 12h and 24h, so the schedule is %q", j.Spec.Interval.Duration, schedule))
}

func accountElsewhere(j *v1alpha1.CostJob, namespace string) event.Event {
	return event.Warning(reasonAccountElsewhere,
		fmt.Errorf("the default ServiceAccount of the pods is in namespace %q; name one of namespace %q in annotation %s",
			namespace, j.Namespace, v1alpha1.AnnotationServiceAccount))
}

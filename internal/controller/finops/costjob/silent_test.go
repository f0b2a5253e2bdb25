package costjob

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

func TestSilentRun(t *testing.T) {
	due := time.Date(2026, 4, 1, 13, 0, 0, 0, time.UTC)
	active := []corev1.ObjectReference{{Name: "charges-cronjob-29584140"}}
	cronJob := func(due time.Time, active []corev1.ObjectReference) *batchv1.CronJob {
		return &batchv1.CronJob{
			ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "charges-cronjob"},
			Status:     batchv1.CronJobStatus{Active: active, LastScheduleTime: &metav1.Time{Time: due}},
		}
	}
	cases := map[string]struct {
		reason  string
		cronJob *batchv1.CronJob
		records []time.Time
		now     time.Time
		want    bool
	}{
		"None":     {"Without a CronJob nothing was due.", nil, nil, due.Add(time.Hour), false},
		"NeverDue": {"Nor before its first hour.", &batchv1.CronJob{}, nil, due.Add(time.Hour), false},
		"Patience": {"A run may take some minutes.", cronJob(due, active), nil, due.Add(patience - time.Second), false},
		"Ended":    {"A Job that has ended is silent for good, and has a status of its own.", cronJob(due, nil), nil, due.Add(time.Hour), false},
		"Silent":   {"Nobody has heard of it, and nobody will.", cronJob(due, active), nil, due.Add(patience), true},
		"Before":   {"What an earlier run has said is no sign of this one.", cronJob(due, active), []time.Time{due.Add(-time.Hour)}, due.Add(patience), true},
		"Failed":   {"A run that has failed once has spoken; it is tried again.", cronJob(due, active), []time.Time{due, due.Add(-time.Hour)}, due.Add(patience), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			j := &v1alpha1.CostJob{}
			for _, at := range tc.records {
				j.Status.ExecutionHistory = append(j.Status.ExecutionHistory, v1alpha1.ExecutionRecord{ExecutionTime: metav1.NewTime(at)})
			}
			e, got := silentRun(j, tc.cronJob, tc.now)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if got && !strings.Contains(e.Message, `Job "charges-cronjob-29584140", due at 2026-04-01T13:00:00Z`) {
				t.Errorf("%s\ngot message %q", tc.reason, e.Message)
			}
		})
	}
}

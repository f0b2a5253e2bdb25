package costjob

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// TestMergeEnv is the rule of part 50.3: by name, template first, replaced whole.
func TestMergeEnv(t *testing.T) {
	ref := &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}
	cases := map[string]struct {
		reason             string
		template, computed []corev1.EnvVar
		want               []corev1.EnvVar
	}{
		"TemplateOnly": {
			reason:   "What only the template names survives.",
			template: []corev1.EnvVar{{Name: "A", Value: "1"}},
			want:     []corev1.EnvVar{{Name: "A", Value: "1"}},
		},
		"Both": {
			reason:   "A value replaces a reference whole, in its place.",
			template: []corev1.EnvVar{{Name: "A", ValueFrom: ref}, {Name: "B", Value: "2"}},
			computed: []corev1.EnvVar{{Name: "A", Value: "1"}},
			want:     []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}},
		},
		"ComputedOnly": {
			reason:   "What only the controller names comes last.",
			template: []corev1.EnvVar{{Name: "A", Value: "1"}},
			computed: []corev1.EnvVar{{Name: "B", ValueFrom: ref}},
			want:     []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", ValueFrom: ref}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := append([]corev1.EnvVar(nil), tc.template...)
			if diff := cmp.Diff(tc.want, mergeEnv(tc.template, tc.computed)); diff != "" {
				t.Errorf("\n%s\nmergeEnv(): -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, tc.template); diff != "" {
				t.Errorf("the template itself was changed: -want, +got:\n%s", diff)
			}
		})
	}
}

// TestEveryStartHasTime: a start that Kubernetes looks at late is not missed,
// whatever the interval, as it was with a deadline of seconds (kubernetes#86647); and
// schedules are those of UTC (OPEN-CJ-3). Nobody can ask for less.
func TestEveryStartHasTime(t *testing.T) {
	type times struct {
		Schedule, Zone           string
		Deadline                 int64
		Policy                   batchv1.ConcurrencyPolicy
		Succeeded, Failed, Tries int32
	}
	for interval, schedule := range map[time.Duration]string{
		time.Minute: "* * * * *", 5 * time.Minute: "*/5 * * * *", time.Hour: "0 * * * *", 6 * time.Hour: "0 */6 * * *",
		12 * time.Hour: "0 */12 * * *", 24 * time.Hour: "0 0 * * *", 7 * time.Minute: "0 0 * * *", 0: "0 0 * * *",
	} {
		for _, kind := range []v1alpha1.CostJobType{v1alpha1.CostJobTypeResourceCostCollection, v1alpha1.CostJobTypeSubscriptionChargeCollection} {
			c, err := settings().cronJob(&v1alpha1.CostJob{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "hourly"}, Spec: v1alpha1.CostJobSpec{Type: kind, Interval: metav1.Duration{Duration: interval}},
			})
			if err != nil {
				t.Fatal(err)
			}
			got := times{
				c.Spec.Schedule, *c.Spec.TimeZone, *c.Spec.StartingDeadlineSeconds, c.Spec.ConcurrencyPolicy,
				*c.Spec.SuccessfulJobsHistoryLimit, *c.Spec.FailedJobsHistoryLimit, *c.Spec.JobTemplate.Spec.BackoffLimit,
			}
			if diff := cmp.Diff(times{schedule, "Etc/UTC", 300, batchv1.ForbidConcurrent, 3, 3, 2}, got); diff != "" {
				t.Errorf("%s every %s: -want, +got:\n%s", kind, interval, diff)
			}
		}
	}
}

// TestOneClock: an installation whose time is moved has pods that agree with it
// about what hour it is, and others are not told of the flag at all.
func TestOneClock(t *testing.T) {
	for offset, want := range map[time.Duration][]string{
		0:          {"--mode=collectionjob"},
		-time.Hour: {"--mode=collectionjob", "--clock-offset=-1h0m0s"},
	} {
		s := settings()
		s.ClockOffset = offset
		c, err := s.cronJob(&v1alpha1.CostJob{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "hourly"}, Spec: v1alpha1.CostJobSpec{Type: v1alpha1.CostJobTypeSubscriptionChargeCollection},
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, c.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Args); diff != "" {
			t.Errorf("moved by %s: -want, +got:\n%s", offset, diff)
		}
	}
}

// TestMetrics reads the metrics off a CostJob that has failed twice since its
// last success.
func TestMetrics(t *testing.T) {
	at := metav1.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)
	record := func(s v1alpha1.ExecutionStatus) v1alpha1.ExecutionRecord {
		return v1alpha1.ExecutionRecord{ExecutionTime: at, Status: s}
	}
	j := &v1alpha1.CostJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "hourly"},
		Spec:       v1alpha1.CostJobSpec{Type: v1alpha1.CostJobTypeResourceCostCollection},
		Status: v1alpha1.CostJobStatus{
			LastSuccessfulExecutionTime: &at,
			ExecutionHistory: []v1alpha1.ExecutionRecord{
				record(v1alpha1.ExecutionStatusFailed), record(v1alpha1.ExecutionStatusFailed),
				record(v1alpha1.ExecutionStatusSuccess), record(v1alpha1.ExecutionStatusFailed),
			},
		},
	}
	want := `
# HELP finops_costjob_consecutive_failures How many of the last runs of a CostJob failed in a row, as far as its history goes.
# TYPE finops_costjob_consecutive_failures gauge
finops_costjob_consecutive_failures{name="hourly",namespace="ns",type="ResourceCostCollection"} 2
# HELP finops_costjob_last_success_timestamp_seconds When the last run of a CostJob that succeeded started.
# TYPE finops_costjob_last_success_timestamp_seconds gauge
finops_costjob_last_success_timestamp_seconds{name="hourly",namespace="ns",type="ResourceCostCollection"} 1.775034e+09
`
	c := collector{reader: fake.NewClientBuilder().WithScheme(apitest.Scheme()).WithObjects(j).Build()}
	if err := testutil.CollectAndCompare(c, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

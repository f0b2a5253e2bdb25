package costjob

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/frame"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// update rewrites the files that CronJobs are held against. Read them then.
var update = flag.Bool("update", false, "rewrite testdata")

func TestMain(m *testing.M) { os.Exit(apitest.Main(m)) }

func settings() Settings {
	return Settings{
		Image:            "registry.example.org/provider-finops:v1",
		ImagePullSecrets: `[{"name":"pull"}]`,
		PostgresDSN:      "postgres://finops:secret@db/finops",
		OpenCostURL:      "http://opencost.opencost:9003/",
		ClusterID:        "blue",
	}
}

// A bench is a manager without running controllers: tests reconcile by hand, so
// that they know which pass wrote what.
type bench struct {
	c      client.WithWatch
	ns     string
	make   func(Settings) reconcile.Reconciler
	writes *apitest.Writes
}

func newBench(t *testing.T) *bench {
	t.Helper()
	mgr, writes := apitest.Manager(t)
	apitest.Run(t, mgr)
	c := apitest.Client(t)

	return &bench{c: c, ns: apitest.Namespace(t, c), writes: writes, make: func(s Settings) reconcile.Reconciler {
		return newReconciler(mgr, frame.Options{
			Logger: logging.NewNopLogger(), Clock: clock.RealClock{}, Poll: time.Minute, MaxConcurrentReconciles: 1, Limiter: ratelimiter.NewGlobal(1000),
		}, s)
	}}
}

func (b *bench) create(t *testing.T, j *v1alpha1.CostJob) *v1alpha1.CostJob {
	t.Helper()
	j.Namespace = b.ns
	if j.Name == "" {
		j.Name = "hourly"
	}
	if err := b.c.Create(t.Context(), j); err != nil {
		t.Fatalf("cannot create the CostJob: %v", err)
	}

	return j
}

func (b *bench) cronJob(ctx context.Context, t *testing.T, j *v1alpha1.CostJob) *batchv1.CronJob {
	t.Helper()
	c := &batchv1.CronJob{}
	if err := b.c.Get(ctx, client.ObjectKey{Namespace: j.Namespace, Name: j.Name + "-cronjob"}, c); err != nil {
		t.Fatalf("cannot read the CronJob: %v", err)
	}

	return c
}

// synced returns a check of the condition Synced, as of the newest generation.
func (b *bench) synced(j *v1alpha1.CostJob, want metav1.ConditionStatus, message string) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		if err := b.c.Get(ctx, client.ObjectKeyFromObject(j), j); err != nil {
			return err
		}
		c := meta.FindStatusCondition(j.Status.Conditions, v1alpha1.TypeSynced)
		if c == nil || c.Status != want || c.ObservedGeneration != j.Generation || !strings.HasSuffix(c.Message, message) {
			return fmt.Errorf("want Synced=%s %q, got %+v", want, message, c)
		}
		return nil
	}
}

// event waits for an event of the CostJob.
func (b *bench) event(t *testing.T, j *v1alpha1.CostJob, reason string) {
	t.Helper()
	apitest.Eventually(t, "event "+reason, func(ctx context.Context) error {
		events := &corev1.EventList{}
		if err := b.c.List(ctx, events, client.InNamespace(b.ns)); err != nil {
			return err
		}
		for _, e := range events.Items {
			if e.InvolvedObject.Name == j.Name && e.Reason == reason && e.Type == corev1.EventTypeWarning {
				return nil
			}
		}
		return fmt.Errorf("no such event among %d", len(events.Items))
	})
}

// TestCronJob holds a CronJob, as the API server stores it, field by field
// against a file, and shows that it then costs no write, not even for a
// controller that has just started.
func TestCronJob(t *testing.T) {
	cases := map[string]struct {
		reason   string
		job      *v1alpha1.CostJob
		settings func(*Settings)
	}{
		"allocation": {
			reason: "What a CostJob without a spec comes to.",
			job:    &v1alpha1.CostJob{},
		},
		"charges": {
			reason: "Everything that a CostJob and the controller can set.",
			job: &v1alpha1.CostJob{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationServiceAccount: "runner"}},
				Spec: v1alpha1.CostJobSpec{
					Type:                v1alpha1.CostJobTypeSubscriptionChargeCollection,
					Interval:            metav1.Duration{Duration: time.Hour},
					DatabaseInitTimeout: &metav1.Duration{Duration: 90 * time.Second},
					Resources:           &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")}},
				},
			},
			settings: func(s *Settings) {
				s.DatabaseSchema, s.ImagePullSecrets, s.ClusterIdentity = "finops", "", "00000000-0000-4000-8000-00000000c1u5"
				s.Variables = map[string]string{
					"HOURS_LOOKBACK": "8", "MAX_BACKFILL_HOURS": "240", "SETTLE_DELAY": "10m", "EMPTY_CONFIRM_AFTER": "6h",
					"PRICEBOOK_RESOLUTION": "active", "MAX_CHARGE_MICROS": "1000000000", "ALLOCATION_RETENTION_DAYS": "400",
					"CHARGE_RETENTION_DAYS": "3650", LegacyReferences: "true", "PATH": "is nobody's business",
				}
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			s := settings()
			if tc.settings != nil {
				tc.settings(&s)
			}
			j := b.create(t, tc.job)
			apitest.Settle(t, b.make(s), j, b.writes, b.synced(j, metav1.ConditionTrue, ""))

			got := b.cronJob(t.Context(), t, j)
			if !metav1.IsControlledBy(got, j) {
				t.Errorf("the CostJob does not own its CronJob: %v", got.OwnerReferences)
			}
			if *update {
				if err := os.WriteFile(filepath.Join("testdata", name+".yaml"), []byte(text(t, got, b.ns)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(golden(t, name), text(t, got, b.ns)); diff != "" {
				t.Errorf("\n%s\nCronJob: -want, +got:\n%s", tc.reason, diff)
			}
			apitest.AssertQuiet(t, b.make(s), j, b.writes)
		})
	}
}

// text is a CronJob without what differs from test to test.
func text(t *testing.T, c *batchv1.CronJob, ns string) string {
	t.Helper()
	c = c.DeepCopy()
	c.ObjectMeta = metav1.ObjectMeta{Name: c.Name, Namespace: c.Namespace, Labels: c.Labels}
	out, err := yaml.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}

	return strings.ReplaceAll(string(out), ns, "NAMESPACE")
}

func golden(t *testing.T, name string) string {
	t.Helper()
	want, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}

	return string(want)
}

// TestHandEdits shows that whatever somebody does to a CronJob does not last.
func TestHandEdits(t *testing.T) {
	cases := map[string]struct {
		reason string
		edit   func(*batchv1.CronJob)
	}{
		"Schedule":   {"A field that we set.", func(c *batchv1.CronJob) { c.Spec.Schedule = "1 2 3 * *" }},
		"Suspend":    {"A field that the API server defaults.", func(c *batchv1.CronJob) { c.Spec.Suspend = new(true) }},
		"Annotation": {"Our own note.", func(c *batchv1.CronJob) { c.Annotations = nil }},
		"Label":      {"A label that we set.", func(c *batchv1.CronJob) { delete(c.Labels, v1alpha1.LabelCostJob) }},
		"Variable":   {"An addition to a list.", func(c *batchv1.CronJob) { addVariable(&c.Spec.JobTemplate.Spec.Template.Spec) }},
		"NodeChoice": {"A field that nobody sets.", func(c *batchv1.CronJob) { c.Spec.JobTemplate.Spec.Template.Spec.NodeName = "n" }},
		"TimeZone":   {"A field that we set is taken away.", func(c *batchv1.CronJob) { c.Spec.TimeZone = nil }},
	}
	b := newBench(t)
	r := b.make(settings())
	j := b.create(t, &v1alpha1.CostJob{})
	apitest.Settle(t, r, j, b.writes, b.synced(j, metav1.ConditionTrue, ""))
	before := b.cronJob(t.Context(), t, j)

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := b.cronJob(t.Context(), t, j)
			tc.edit(c)
			if err := b.c.Update(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			apitest.Settle(t, r, j, b.writes, func(ctx context.Context) error {
				if diff := cmp.Diff(text(t, before, b.ns), text(t, b.cronJob(ctx, t, j), b.ns)); diff != "" {
					return fmt.Errorf("\n%s\nCronJob: -want, +got:\n%s", tc.reason, diff)
				}
				return nil
			})
			apitest.AssertQuiet(t, r, j, b.writes)
		})
	}
}

func addVariable(p *corev1.PodSpec) {
	p.Containers[0].Env = append(p.Containers[0].Env, corev1.EnvVar{Name: "MINE", Value: "1"})
}

// TestForeignMarks shows that what others put beside ours, and Kubernetes'
// own status, cost no write.
func TestForeignMarks(t *testing.T) {
	b := newBench(t)
	r := b.make(settings())
	j := b.create(t, &v1alpha1.CostJob{})
	apitest.Settle(t, r, j, b.writes, b.synced(j, metav1.ConditionTrue, ""))

	c := b.cronJob(t.Context(), t, j)
	c.Labels["example.org/tracked"] = ""
	c.Annotations["example.org/tracked"] = ""
	if err := b.c.Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	c.Status.LastScheduleTime = new(metav1.Now())
	if err := b.c.Status().Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	apitest.AssertQuiet(t, r, j, b.writes)
}

// TestInterval follows a CostJob through an interval that has no schedule.
func TestInterval(t *testing.T) {
	b := newBench(t)
	r := b.make(settings())
	j := b.create(t, &v1alpha1.CostJob{Spec: v1alpha1.CostJobSpec{Interval: metav1.Duration{Duration: 2 * time.Hour}}})
	apitest.Settle(t, r, j, b.writes, b.synced(j, metav1.ConditionTrue, ""))
	if got := b.cronJob(t.Context(), t, j).Spec.Schedule; got != "0 0 * * *" {
		t.Errorf("want the daily schedule, got %q", got)
	}
	if got := j.Annotations["finops.stakater.com/effective-schedule"]; got != "0 0 * * *" {
		t.Errorf("want the daily schedule to be shown, got %q", got)
	}
	b.event(t, j, "IntervalNotRecognised")

	j.Spec.Interval.Duration = 60 * time.Minute
	if err := b.c.Update(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	apitest.Settle(t, r, j, b.writes, b.synced(j, metav1.ConditionTrue, ""))
	if got := b.cronJob(t.Context(), t, j).Spec.Schedule; got != "0 * * * *" {
		t.Errorf("want the hourly schedule, got %q", got)
	}
	if got, ok := j.Annotations["finops.stakater.com/effective-schedule"]; ok {
		t.Errorf("want no schedule to be shown any more, got %q", got)
	}
}

// TestRefusals shows when no CronJob is made, and that the user is told.
func TestRefusals(t *testing.T) {
	cases := map[string]struct {
		reason   string
		name     string
		settings func(*Settings)
		message  string
		event    string
	}{
		"NameTooLong": {
			reason: "44 characters and the suffix are what fits.", name: strings.Repeat("n", 45),
			message: `cannot make a CronJob: a CronJob name has at most 52 characters, and "` + strings.Repeat("n", 45) + `-cronjob" has 53`,
			event:   "NameTooLong",
		},
		"ImageMissing": {
			reason: "A CronJob without an image is unusable.", name: "no-image",
			settings: func(s *Settings) { s.Image = "" },
			message:  "cannot make a CronJob: the controller does not know the image of the pods: set OPERATOR_IMAGE",
			event:    "OperatorImageMissing",
		},
		"PullSecretsMalformed": {
			reason: "Malformed JSON fails the reconcile.", name: "pull",
			settings: func(s *Settings) { s.ImagePullSecrets = "pull" },
			message:  "cannot read IMAGE_PULL_SECRETS as a JSON array of object references: invalid character 'p' looking for beginning of value",
			event:    "CannotObserveExternalResource",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			s := settings()
			if tc.settings != nil {
				tc.settings(&s)
			}
			j := b.create(t, &v1alpha1.CostJob{ObjectMeta: metav1.ObjectMeta{Name: tc.name}})
			apitest.Settle(t, b.make(s), j, b.writes, b.synced(j, metav1.ConditionFalse, tc.message))
			b.event(t, j, tc.event)

			list := &batchv1.CronJobList{}
			if err := b.c.List(t.Context(), list, client.InNamespace(b.ns)); err != nil {
				t.Fatal(err)
			}
			if len(list.Items) > 0 {
				t.Errorf("\n%s\na CronJob was made: %s", tc.reason, list.Items[0].Name)
			}
		})
	}
}

// TestLongestName shows that the longest name that fits gets its CronJob, and
// that its labels are accepted.
func TestLongestName(t *testing.T) {
	b := newBench(t)
	j := b.create(t, &v1alpha1.CostJob{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("n", 44)}})
	apitest.Settle(t, b.make(settings()), j, b.writes, b.synced(j, metav1.ConditionTrue, ""))
	b.cronJob(t.Context(), t, j)
}

// TestNameConflict shows that a CronJob of somebody else is left alone.
func TestNameConflict(t *testing.T) {
	b := newBench(t)
	theirs := &batchv1.CronJob{}
	if err := yaml.Unmarshal([]byte(golden(t, "allocation")), theirs); err != nil {
		t.Fatal(err)
	}
	theirs.ObjectMeta = metav1.ObjectMeta{Namespace: b.ns, Name: "hourly-cronjob"}
	theirs.Spec.Schedule = "7 7 7 7 *"
	if err := b.c.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}

	j := b.create(t, &v1alpha1.CostJob{})
	apitest.Settle(t, b.make(settings()), j, b.writes, b.synced(j, metav1.ConditionFalse, `CronJob "hourly-cronjob" belongs to somebody else`))
	b.event(t, j, "NameConflict")
	if got := b.cronJob(t.Context(), t, j); got.ResourceVersion != theirs.ResourceVersion {
		t.Errorf("the CronJob of somebody else was written: %v", got.ManagedFields)
	}
}

// TestSecret follows the Secret of a CostJob.
func TestSecret(t *testing.T) {
	b := newBench(t)
	j := b.create(t, &v1alpha1.CostJob{})
	secret := func() *corev1.Secret {
		s := &corev1.Secret{}
		if err := b.c.Get(t.Context(), client.ObjectKey{Namespace: b.ns, Name: "hourly-costjob-secret"}, s); err != nil {
			t.Fatal(err)
		}
		return s
	}

	apitest.Settle(t, b.make(settings()), j, b.writes, b.synced(j, metav1.ConditionTrue, ""))
	if !metav1.IsControlledBy(secret(), j) {
		t.Error("the CostJob does not own its Secret")
	}
	want := map[string][]byte{"POSTGRES_CONNECTION_STRING": []byte("postgres://finops:secret@db/finops")}
	if diff := cmp.Diff(want, secret().Data); diff != "" {
		t.Errorf("data: -want, +got:\n%s", diff)
	}

	moved := settings()
	moved.PostgresDSN = "postgres://elsewhere"
	apitest.Settle(t, b.make(moved), j, b.writes, b.synced(j, metav1.ConditionTrue, ""))
	if got := string(secret().Data["POSTGRES_CONNECTION_STRING"]); got != "postgres://elsewhere" {
		t.Errorf("want the Secret to follow the controller, got %q", got)
	}

	theirs := secret()
	theirs.OwnerReferences = nil
	theirs.Data = map[string][]byte{"POSTGRES_CONNECTION_STRING": []byte("postgres://restricted")}
	if err := b.c.Update(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	apitest.AssertQuiet(t, b.make(settings()), j, b.writes)
	if got := string(secret().Data["POSTGRES_CONNECTION_STRING"]); got != "postgres://restricted" {
		t.Errorf("a Secret of somebody else was written (BETTER-SEC-5): %q", got)
	}
}

// TestRunsKeepTheirStatus shows that the controller leaves alone what the runs
// have written.
func TestRunsKeepTheirStatus(t *testing.T) {
	b := newBench(t)
	r := b.make(settings())
	j := b.create(t, &v1alpha1.CostJob{})
	apitest.Settle(t, r, j, b.writes, b.synced(j, metav1.ConditionTrue, ""))

	at := metav1.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)
	j.Status.LastExecutionTime, j.Status.LastExecutionStatus = &at, v1alpha1.ExecutionStatusFailed
	j.Status.ExecutionHistory = []v1alpha1.ExecutionRecord{{ExecutionTime: at, Status: v1alpha1.ExecutionStatusFailed, Error: "no"}}
	if err := b.c.Status().Update(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	want := j.Status.DeepCopy()
	j.Spec.Interval.Duration = time.Hour
	if err := b.c.Update(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	apitest.Settle(t, r, j, b.writes, b.synced(j, metav1.ConditionTrue, ""))

	got := j.Status.DeepCopy()
	got.Conditions, want.Conditions = nil, nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status of the runs: -want, +got:\n%s", diff)
	}
}

// TestPaused shows that the annotation of the runtime holds everything.
func TestPaused(t *testing.T) {
	b := newBench(t)
	j := b.create(t, &v1alpha1.CostJob{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"crossplane.io/paused": "true"}}})
	apitest.Eventually(t, "the pause", func(ctx context.Context) error {
		if _, err := b.make(settings()).Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(j)}); err != nil {
			return err
		}
		return b.synced(j, metav1.ConditionFalse, "")(ctx)
	})
	if c := meta.FindStatusCondition(j.Status.Conditions, "Synced"); c.Reason != "ReconcilePaused" {
		t.Errorf("want ReconcilePaused, got %s", c.Reason)
	}
	err := b.c.Get(t.Context(), client.ObjectKey{Namespace: b.ns, Name: "hourly-cronjob"}, &batchv1.CronJob{})
	if !kerrors.IsNotFound(err) {
		t.Errorf("want no CronJob, got %v", err)
	}
}

// TestController runs the controller itself: a CostJob gets its CronJob, one
// that is deleted by hand comes back, and what a deleted CostJob owned is
// collected.
func TestController(t *testing.T) {
	apitest.ControllerManager(t, apitest.GarbageCollector)
	mgr, _ := apitest.Manager(t)
	o := frame.Options{Logger: logging.NewNopLogger(), Clock: clock.RealClock{}, Poll: time.Hour, MaxConcurrentReconciles: 2, Limiter: ratelimiter.NewGlobal(1000)}
	if err := Setup(mgr, o, settings()); err != nil {
		t.Fatal(err)
	}
	apitest.Run(t, mgr)
	b := &bench{c: apitest.Client(t)}
	b.ns = apitest.Namespace(t, b.c)
	j := b.create(t, &v1alpha1.CostJob{})
	cron := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: b.ns, Name: "hourly-cronjob"}}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: b.ns, Name: "hourly-costjob-secret"}}

	exists := func(ctx context.Context) error { return b.c.Get(ctx, client.ObjectKeyFromObject(cron), cron) }
	apitest.Eventually(t, "the CronJob", exists)
	if err := b.c.Delete(t.Context(), cron); err != nil {
		t.Fatal(err)
	}
	apitest.Eventually(t, "the CronJob once more", exists)

	if err := b.c.Delete(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	apitest.Eventually(t, "the collection of what it owned", func(ctx context.Context) error {
		if err := exists(ctx); !kerrors.IsNotFound(err) {
			return fmt.Errorf("CronJob: %w", errStill(err))
		}
		if err := b.c.Get(ctx, client.ObjectKeyFromObject(secret), secret); !kerrors.IsNotFound(err) {
			return fmt.Errorf("Secret: %w", errStill(err))
		}
		return nil
	})
}

func errStill(err error) error {
	if err == nil {
		return fmt.Errorf("still there")
	}

	return err
}

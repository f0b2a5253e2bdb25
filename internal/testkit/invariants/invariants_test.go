package invariants_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
	"github.com/provider-finops/provider-finops/internal/testkit/invariants"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// unguarded lets history be changed.
const unguarded = `ALTER TABLE subscription_charges DISABLE TRIGGER finalized_charge_is_history;
	ALTER TABLE subscriptions DISABLE TRIGGER subscription_version_is_history;`

// guarded puts the guards back.
const guarded = `;ALTER TABLE subscription_charges ENABLE ALWAYS TRIGGER finalized_charge_is_history;`

// TestViolations breaks each of them, one at a time.
func TestViolations(t *testing.T) {
	cases := map[string]struct {
		objects

		reason string
		sql    string
		after  func(w *invariants.World)
		want   []string // The numbers of what does not hold.
	}{
		"Sound": {reason: "Charges as they have to be, and what is shown of them."},
		"Unguarded": {
			reason: "Whoever may, can change what is final now.",
			sql:    `ALTER TABLE subscription_charges DISABLE TRIGGER finalized_charge_is_history`, want: []string{"I2"},
		},
		"Changed": {
			reason: "A final row was written again, with the same figures.",
			after: func(w *invariants.World) {
				for about := range w.Before {
					w.Before[about] = strings.Replace(w.Before[about], `"updated_at"`, `"updated"`, 1)
				}
			},
			want: []string{"I2"},
		},
		"Amount": {
			reason: "A micro less, which the bucket and the calculation notice.",
			sql:    unguarded + `UPDATE subscription_charges SET amount_micros = 37437 WHERE charge_source = 'cpuHour'` + guarded, want: []string{"I2", "I3"},
		},
		"Bucket": {
			reason:  "What is shown lacks a micro.",
			objects: objects{sub: func(s *v1alpha1.Subscription) { s.Status.Costs[0].Current-- }}, want: []string{"I3"},
		},
		"Breakdown": {
			reason: "What is shown has the sum right, and the parts wrong.",
			objects: objects{sub: func(s *v1alpha1.Subscription) {
				s.Status.Costs[0].Breakdown[0].Current--
				s.Status.Costs[0].Breakdown[1].Current++
			}},
			want: []string{"I3"},
		},
		"BeforeItBegan": {
			reason: "Charged for an hour before the life.",
			sql: unguarded + `UPDATE subscriptions SET activated_at = '2026-04-01T10:15:00Z';
				UPDATE subscription_charges SET details = '{}' WHERE amount_micros = 1` + guarded,
			objects: objects{sub: func(s *v1alpha1.Subscription) { s.Status.ActivatedAt = instant("2026-04-01T10:15:00Z") }},
			want:    []string{"I3", "I4"},
		},
		"Gap": {
			reason: "The watermark vouches for an hour without a row.",
			sql:    unguarded + `DELETE FROM subscription_charges WHERE amount_micros = 30000000` + guarded, want: []string{"I2", "I3", "I4"},
		},
		"TwoEnds": {
			reason: "It ended, and then later.",
			sql: unguarded + `UPDATE subscriptions SET deactivated_at = '2026-04-01T11:00:00Z';
				INSERT INTO subscriptions (cluster_id, namespace, name, uid, generation, content_hash, valid_from, activated_at, deactivated_at, offering_namespace, offering_name, offering_uid, spec)
				SELECT cluster_id, namespace, name, uid, generation, 'b', valid_from + interval '1 hour', activated_at, '2026-04-01T12:00:00Z', offering_namespace, offering_name, offering_uid, spec FROM subscriptions` + guarded,
			objects: objects{sub: func(s *v1alpha1.Subscription) { s.Status.DeactivatedAt = instant("2026-04-01T12:00:00Z") }},
			want:    []string{"I5"},
		},
		"Reopened": {
			reason: "It ended, and the object says that it has not.",
			sql:    unguarded + `UPDATE subscriptions SET deactivated_at = '2026-04-01T11:00:00Z'` + guarded, want: []string{"I5"},
		},
		"EndBeforeTheBeginning": {
			reason:  "Time went back.",
			objects: objects{sub: func(s *v1alpha1.Subscription) { s.Status.DeactivatedAt = instant("2026-04-01T09:00:00Z") }}, want: []string{"I5"},
		},
		"Uncovered": {
			reason: "It is active, and what it requires is sold to nobody but those below it.",
			objects: objects{
				offering: func(o *v1alpha1.Offering) {
					o.Spec.Compatibility = &v1alpha1.Compatibility{RequiredOfferings: []v1alpha1.ObjectReference{{Namespace: "catalogue", Name: "node"}}}
				},
				others: []client.Object{member("below", "node", "orders")},
			},
			want: []string{"I6"},
		},
		"ParentGone": {
			reason: "It is active, and its parent is not there.",
			objects: objects{sub: func(s *v1alpha1.Subscription) {
				s.Spec.Parent = &v1alpha1.SubscriptionParent{SubscriptionRef: v1alpha1.ObjectReference{Namespace: "team-a", Name: "nobody"}}
			}},
			want: []string{"I6"},
		},
		"LetGo": {
			reason:  "It is gone, and has not even ended.",
			objects: objects{gone: true}, want: []string{"I7"},
		},
		"LetGoTooEarly": {
			reason:  "It is gone, and the hour of its end is not settled.",
			sql:     unguarded + `UPDATE subscriptions SET deactivated_at = '2026-04-01T11:20:00Z'` + guarded,
			objects: objects{gone: true}, want: []string{"I7"},
		},
		"LetGoInTime": {
			reason:  "It is gone, and everything of it is final.",
			sql:     unguarded + `UPDATE subscriptions SET deactivated_at = '2026-04-01T11:00:00Z'` + guarded,
			objects: objects{gone: true},
		},
		"WritesAgain": {
			reason: "The same run writes a row as it was.",
			after: func(w *invariants.World) {
				w.Replay = func() error {
					_, err := w.DB.Exec(t.Context(), "UPDATE subscription_watermarks SET updated_at = updated_at")
					return err
				}
			},
			want: []string{"I8"},
		},
		"FailsAgain": {
			reason: "The same run fails.",
			after:  func(w *invariants.World) { w.Replay = func() error { return errors.New("it does not work") } }, want: []string{"I8"},
		},
		"Unrecorded": {
			reason: "One run has left no record.",
			after:  func(w *invariants.World) { w.Records[types.NamespacedName{Namespace: "finops", Name: "hourly"}] = 2 }, want: []string{"I10"},
		},
		"RecordedNowhere": {
			reason: "The records of a CostJob are not there, as it is not.",
			after:  func(w *invariants.World) { w.Records[types.NamespacedName{Namespace: "finops", Name: "daily"}] = 0 }, want: []string{"I10"},
		},
		"RecordedOtherwise": {
			reason: "The newest record and the status say different things.",
			objects: objects{job: func(j *v1alpha1.CostJob) {
				j.Status.LastExecutionStatus = v1alpha1.ExecutionStatusFailed
			}},
			want: []string{"I10"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			db := pgtest.Database(t)
			db.Run(t, read(t))
			w := invariants.World{
				API: tc.client(), DB: db.Pool, Cluster: "test", Aggregation: "namespace,pod,container", Replay: func() error { return nil }, Rest: 3,
				Records: map[types.NamespacedName]int{{Namespace: "finops", Name: "hourly"}: 1},
			}
			w.Before = invariants.Remember(t, w)
			if tc.sql != "" {
				db.Run(t, tc.sql)
			}
			if tc.after != nil {
				tc.after(&w)
			}
			found, err := w.Violations(t)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range found {
				number, _, _ := strings.Cut(f, ":")
				got = append(got, number)
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, slices.Compact(got)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s\n%s", tc.reason, diff, strings.Join(found, "\n"))
			}
		})
	}
}

// TestSessions leaves somebody in a transaction, with a lock.
func TestSessions(t *testing.T) {
	db := pgtest.Database(t)
	db.Run(t, read(t))
	config := db.Pool.Config().ConnConfig.Copy()
	config.RuntimeParams["application_name"] = "a run"
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "SELECT pg_advisory_lock(1); BEGIN"); err != nil {
		t.Fatal(err)
	}
	w := invariants.World{DB: db.Pool, Cluster: "test", Aggregation: "namespace,pod,container", Patience: time.Second}
	found, err := w.Violations(t)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 3 || !strings.HasPrefix(found[0], "I11: a run holds") || !strings.HasPrefix(found[1], "I11: a run is in a transaction") || !strings.HasPrefix(found[2], "I11: there are 1 sessions") {
		t.Errorf("a session in a transaction, with a lock: got\n%s", strings.Join(found, "\n"))
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Patience = 0
	invariants.Check(t, w)
}

// TestUnrest has somebody write between any two looks.
func TestUnrest(t *testing.T) {
	writes := 0
	api := interceptor.NewClient(objects{}.client().(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			if _, ok := l.(*metav1.PartialObjectMetadataList); ok {
				sub := &v1alpha1.Subscription{}
				if err := c.Get(ctx, client.ObjectKey{Namespace: "team-a", Name: "orders"}, sub); err != nil {
					return err
				}
				writes++
				sub.Labels = map[string]string{"writes": strconv.Itoa(writes)}
				if err := c.Update(ctx, sub); err != nil {
					return err
				}
			}
			return c.List(ctx, l, opts...)
		},
	})
	w := invariants.World{API: api, Rest: 3, Patience: time.Second}
	found, err := w.Violations(t)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || !strings.HasPrefix(found[0], "I9: no rest") {
		t.Errorf("somebody writes all the time: got\n%s", strings.Join(found, "\n"))
	}
}

// objects are how the API server differs from a sound one.
type objects struct {
	sub      func(*v1alpha1.Subscription)
	offering func(*v1alpha1.Offering)
	job      func(*v1alpha1.CostJob)
	others   []client.Object
	gone     bool // The Subscription is.
}

func (o objects) client() client.Client {
	sub := member("orders", "postgres", "")
	sub.UID = "30000000-0000-4000-8000-000000000001"
	sub.Status.Conditions = []metav1.Condition{{Type: v1alpha1.TypeCostsResolved, Reason: v1alpha1.ReasonFromDB}}
	sub.Status.Costs = []v1alpha1.CostBucket{{
		Granularity: "day", Start: *instant("2026-04-01T00:00:00Z"), EndExclusive: *instant("2026-04-02T00:00:00Z"), Current: 70037438,
		Breakdown: []v1alpha1.CostMetric{{Name: "subscription", Current: 70000000, Projected: 100000000}, {Name: "cpuHour", Current: 37438}},
	}}
	sold := &v1alpha1.Offering{ObjectMeta: metav1.ObjectMeta{Namespace: "catalogue", Name: "postgres"}}
	job := &v1alpha1.CostJob{ObjectMeta: metav1.ObjectMeta{Namespace: "finops", Name: "hourly"}, Status: v1alpha1.CostJobStatus{
		LastExecutionTime: instant("2026-04-01T12:00:00Z"), LastExecutionStatus: v1alpha1.ExecutionStatusSuccess,
		ExecutionHistory: []v1alpha1.ExecutionRecord{{ExecutionTime: *instant("2026-04-01T12:00:00Z"), Status: v1alpha1.ExecutionStatusSuccess}},
	}}
	if o.sub != nil {
		o.sub(sub)
	}
	if o.offering != nil {
		o.offering(sold)
	}
	if o.job != nil {
		o.job(job)
	}
	all := append([]client.Object{sold, job}, o.others...)
	if !o.gone {
		all = append(all, sub)
	}
	return fake.NewClientBuilder().WithScheme(apitest.Scheme()).WithStatusSubresource(sub, job).WithObjects(all...).Build()
}

// member is an active one of a family.
func member(name, offering, parent string) *v1alpha1.Subscription {
	s := &v1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name, UID: types.UID(uuid.NewString())},
		Spec:       v1alpha1.SubscriptionSpec{OfferingRef: v1alpha1.ObjectReference{Namespace: "catalogue", Name: offering}},
		Status:     v1alpha1.SubscriptionStatus{ActivatedAt: instant("2026-04-01T09:15:00Z"), CompatibilityRoot: "family"},
	}
	if parent != "" {
		s.Spec.Parent = &v1alpha1.SubscriptionParent{SubscriptionRef: v1alpha1.ObjectReference{Namespace: "team-a", Name: parent}}
	}
	return s
}

func instant(text string) *metav1.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return &metav1.Time{Time: t}
}

// read is the world of the audit's tests: two hours of one Subscription.
func read(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "jobs", "audit", "testdata", "world.sql"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

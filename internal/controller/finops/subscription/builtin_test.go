package subscription_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/finops/offering"
	"github.com/provider-finops/provider-finops/internal/controller/finops/subscription"
	"github.com/provider-finops/provider-finops/internal/controller/frame"
	"github.com/provider-finops/provider-finops/internal/controller/mirror"
	finops "github.com/provider-finops/provider-finops/internal/finops/charge"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// TestBuiltinRelease deletes two Subscriptions half an hour after noon, one of which
// has three periods to serve. Each is settled when its time comes and not before, to
// the micro and once, although two replicas are at it that both believe to lead; who
// lives is left alone.
func TestBuiltinRelease(t *testing.T) {
	dsn := pgtest.Database(t).DSN
	r, s := lonely(t, dsn)
	other, others := lonely(t, dsn)
	at := func(now time.Time) {
		r.clock.SetTime(now)
		other.clock.SetTime(now)
	}
	r.offer("plain", fee)
	r.offer("bound", fee, func(s *v1alpha1.OfferingSpec) { s.Pricing.SubscriptionFee.MinPeriods = new(int32(3)) })
	plain, bound, living := r.subscribe("plain", "", "plain"), r.subscribe("bound", "", "bound"), r.subscribe("living", "", "plain")
	for _, sub := range []*v1alpha1.Subscription{plain, bound, living} {
		r.becomes(sub, billed)
	}

	at(noon.Add(30 * time.Minute))
	for _, sub := range []*v1alpha1.Subscription{plain, bound} {
		if err := r.Delete(t.Context(), sub); err != nil {
			t.Fatal(err)
		}
	}
	r.waitsFor(plain, unserved("12:30", "13:30", ""))
	r.waitsFor(bound, unserved("12:30", "15:00", ""))
	if got, want := r.said(bound, "NoChargeCollector"), "the controller settles this one itself from 2026-03-02T15:00:00Z on"; !strings.Contains(got, want) {
		t.Errorf("an event that says so: want %q in %q", want, got)
	}

	at(noon.Add(89 * time.Minute))
	r.resyncs(20)
	if early := slices.Concat(s.of("plain"), others.of("plain"), r.charged(plain)); len(early) > 0 {
		t.Errorf("somebody was settled early: %v", early)
	}
	at(noon.Add(90 * time.Minute))
	r.goes(plain)
	if diff := cmp.Diff([]string{"12 subscription 40000000 final"}, r.charged(plain)); diff != "" {
		t.Errorf("charges: -want, +got:\n%s", diff)
	}
	if got, want := r.said(plain, "Released"), "since no SubscriptionChargeCollection CostJob exists"; !strings.Contains(got, want) {
		t.Errorf("an event that says who has let it go: want %q in %q", want, got)
	}
	if n := r.events(plain)["Released"]; n != 1 {
		t.Errorf("it was let go %d times", n)
	}
	if early := slices.Concat(s.of("bound"), others.of("bound"), r.charged(bound), r.charged(living)); len(early) > 0 {
		t.Errorf("somebody else was settled: %v", early)
	}

	at(noon.Add(3 * time.Hour))
	r.goes(bound)
	if diff := cmp.Diff([]string{"12 subscription 40000000 final"}, r.charged(bound)); diff != "" { // To its end, however long it stayed.
		t.Errorf("charges: -want, +got:\n%s", diff)
	}
	r.becomes(living, billed)
	if rows := r.charged(living); len(rows) > 0 {
		t.Errorf("who lives was charged: %v", rows)
	}
}

// TestBuiltinHeld says what holds a Subscription, and tries again in ten minutes.
func TestBuiltinHeld(t *testing.T) {
	r, s := lonely(t, pgtest.Database(t).DSN)
	r.offer("plain", fee)
	sub := r.subscribe("held", "", "plain")
	r.becomes(sub, billed)
	r.becomes(r.subscribe("bystander", "", "plain"), billed) // By whom it can be told that time passes.
	if err := r.Delete(t.Context(), sub); err != nil {
		t.Fatal(err)
	}
	r.waitsFor(sub, unserved("12:00", "13:00", ""))

	const open = "Charges not finalized through deactivation hour, keeping finalizer"
	s.does(finops.Hold{Gate: finops.GateSettled, Reason: open}, nil)
	r.clock.SetTime(noon.Add(time.Hour))
	r.waitsFor(sub, unserved("12:00", "13:00", " ("+open+")"))
	r.clock.SetTime(noon.Add(69 * time.Minute))
	r.resyncs(20)
	s.does(finops.Hold{}, errAway)
	r.clock.SetTime(noon.Add(70 * time.Minute))
	r.waitsFor(sub, unserved("12:00", "13:00", " (the last attempt failed: the database is away)"))
	s.does(finops.Hold{}, nil)
	r.clock.SetTime(noon.Add(80 * time.Minute))
	r.goes(sub)
	if diff := cmp.Diff([]string{"held 02 13:00", "held 02 13:10", "held 02 13:20"}, s.of("held")); diff != "" {
		t.Errorf("attempts: -want, +got:\n%s", diff)
	}
}

// TestBuiltinLeavesItToACollector has a collector come and go. While there is one
// nothing is settled from here, however long it takes, and each time that it goes
// the wait begins anew.
func TestBuiltinLeavesItToACollector(t *testing.T) {
	r, s := lonely(t, pgtest.Database(t).DSN)
	r.offer("plain", fee)
	sub := r.subscribe("served", "", "plain")
	r.becomes(sub, billed)
	r.becomes(r.subscribe("bystander", "", "plain"), billed)
	collector := func() *v1alpha1.CostJob {
		j := &v1alpha1.CostJob{
			ObjectMeta: metav1.ObjectMeta{Namespace: r.ns, Name: "charges"},
			Spec:       v1alpha1.CostJobSpec{Type: v1alpha1.CostJobTypeSubscriptionChargeCollection, Interval: metav1.Duration{Duration: time.Hour}},
		}
		if err := r.Create(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		return j
	}
	dismiss := func(j *v1alpha1.CostJob) {
		if err := r.Delete(t.Context(), j); err != nil {
			t.Fatal(err)
		}
	}

	job := collector()
	t.Cleanup(func() { _ = client.IgnoreNotFound(r.Delete(context.Background(), job)) })
	if err := r.Delete(t.Context(), sub); err != nil {
		t.Fatal(err)
	}
	const served = "DeletionBlocked: waiting for a SubscriptionChargeCollection run to settle the charges"
	r.waitsFor(sub, served)
	r.clock.SetTime(noon.Add(5 * time.Hour))
	r.resyncs(20)
	dismiss(job)
	r.waitsFor(sub, unserved("17:00", "18:00", ""))
	job = collector()
	r.waitsFor(sub, served)
	r.clock.SetTime(noon.Add(8 * time.Hour))
	r.resyncs(20)
	if asked := s.of("served"); len(asked) > 0 {
		t.Errorf("somebody was to be settled whom a collector serves: %v", asked)
	}
	dismiss(job)
	r.waitsFor(sub, unserved("20:00", "21:00", ""))
	r.clock.SetTime(noon.Add(9 * time.Hour))
	r.goes(sub)
	if diff := cmp.Diff([]string{"served 02 21:00"}, s.of("served")); diff != "" {
		t.Errorf("attempts: -want, +got:\n%s", diff)
	}
}

// live runs the controllers until the returned function is called.
func live(t *testing.T, r *rig, settings subscription.Settings) (stop func()) {
	t.Helper()
	mgr, _ := apitest.Manager(t)
	m := mirror.New(&source{pool: r.pool}, "default", r.clock)
	o := frame.Options{
		Logger: logging.NewNopLogger(), Clock: r.clock, Poll: 200 * time.Millisecond, MaxConcurrentReconciles: 4, Limiter: ratelimiter.NewGlobal(1000),
	}
	if err := errors.Join(mgr.Add(m), offering.Setup(mgr, o, m, offering.Settings{}), subscription.Setup(mgr, o, m, settings)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	return sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestBuiltinRestart ends the controller while somebody waits, and once more in the
// middle of settling him. What he has waited counts, and he is charged once.
func TestBuiltinRestart(t *testing.T) {
	db := pgtest.Database(t)
	r := &rig{t: t, Client: apitest.Client(t), pool: db.Pool, clock: clocktesting.NewFakePassiveClock(noon)}
	r.ns = apitest.Namespace(t, r.Client)
	t.Cleanup(r.clear)
	s := &settling{api: r.Client, dsn: db.DSN, clock: func() clock.PassiveClock { return r.clock }}
	settings := subscription.Settings{BuiltinReleaseAfter: time.Hour, Settler: s}

	stop := live(t, r, settings)
	defer func() { stop() }()
	r.offer("plain", fee)
	sub := r.subscribe("waiting", "", "plain")
	r.becomes(sub, billed)
	if err := r.Delete(t.Context(), sub); err != nil {
		t.Fatal(err)
	}
	r.waitsFor(sub, unserved("12:00", "13:00", ""))

	stop()
	r.clock.SetTime(noon.Add(45 * time.Minute))
	s.api = interceptor.NewClient(apitest.Client(t), interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return errAway
		},
	})
	stop = live(t, r, settings)
	r.clock.SetTime(noon.Add(time.Hour))
	r.waitsFor(sub, unserved("12:00", "13:00", fmt.Sprintf(` (cannot remove the finalizer of Subscription "%s/waiting": the database is away)`, r.ns)))

	stop()
	want := []string{"12 subscription 40000000 final"}
	if diff := cmp.Diff(want, r.charged(sub)); diff != "" {
		t.Errorf("charges: -want, +got:\n%s", diff)
	}
	s.api = r.Client
	stop = live(t, r, settings)
	r.goes(sub) // At once: what an attempt came to is not remembered.
	if diff := cmp.Diff(want, r.charged(sub)); diff != "" {
		t.Errorf("charges: -want, +got:\n%s", diff)
	}
}

package main

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
	"github.com/provider-finops/provider-finops/internal/testkit/invariants"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// throttle leaves a process a tenth of a CPU, until it ends.
func throttle(t *testing.T, p *process) {
	t.Helper()
	turns, over := time.NewTicker(10*time.Millisecond), make(chan struct{})
	t.Cleanup(func() { turns.Stop(); close(over) })
	go func() {
		for n := 0; ; n++ {
			turn := syscall.SIGSTOP
			if n%10 == 0 {
				turn = syscall.SIGCONT
			}
			if p.Process.Signal(turn) != nil {
				return // It has ended.
			}
			select {
			case <-turns.C:
			case <-over:
				return
			}
		}
	}()
}

// TestScarce gives the controller and both collectors, all at once, 64 MiB and a
// tenth of a CPU each, and a server that has 20 connections for all of them, of
// which it keeps three for itself, with work_mem at 1 MB (F20). They take longer,
// and that is all.
func TestScarce(t *testing.T) {
	g := newGround(t)
	dsn, alterRole := pgtest.Role(t, g.db)
	alterRole("CONNECTION LIMIT 17")
	alterRole("SET work_mem = '1MB'")
	g.dsn = dsn
	scarce := func(cluster string, j *v1alpha1.CostJob, args ...string) *process {
		t.Helper()
		p := launch(t, append(g.environment(&tap{}, cluster, j), "GOMEMLIMIT=64MiB"), args...)
		throttle(t, p)
		return p
	}

	j := g.plantCharge()
	controller := scarce("scarce", nil, "--health-probe-bind-address=0", moved(t, soonAfter))
	for n := range 20 {
		g.subscribe(&v1alpha1.Subscription{
			ObjectMeta: metav1.ObjectMeta{Namespace: j.Namespace, Name: fmt.Sprintf("new-%d", n)},
			Spec:       v1alpha1.SubscriptionSpec{OfferingRef: v1alpha1.ObjectReference{Namespace: j.Namespace, Name: "basic"}},
		})
	}
	allocations, charges := g.costJob(), scarce("scarce", j, "--mode="+modeCharge, moved(t, soonAfter))
	measurements := scarce("scarce", allocations, "--mode="+modeAllocation, moved(t, soonAfter))
	for what, p := range map[string]*process{"charge": charges, "allocation": measurements} {
		if code := p.ends(); code != 0 {
			t.Errorf("the %s run ends with %d:\n%s", what, code, &p.said)
		}
	}
	apitest.Eventually(t, "the activation of everybody", func(ctx context.Context) error {
		var list v1alpha1.SubscriptionList
		if err := g.List(ctx, &list, client.InNamespace(j.Namespace)); err != nil {
			return err
		}
		for _, s := range list.Items {
			if s.Status.ActivatedAt == nil {
				return fmt.Errorf("%s: %v", s.Name, s.Status.Conditions)
			}
		}
		return nil
	})
	again := scarce("scarce", j, "--mode="+modeCharge, moved(t, "2026-04-01T13:00:30Z"))
	if code := again.ends(); code != 0 {
		t.Errorf("the charge run of all ends with %d:\n%s", code, &again.said)
	}
	if err := controller.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := controller.ends(); code != 0 && code != 1 { // With so little it may not part from everybody in the time that it has.
		t.Errorf("the controller ends with %d:\n%s", code, &controller.said)
	}

	got := g.lines(`SELECT (SELECT count(DISTINCT subscription_uid) FROM subscription_charges) || ' charged, ' || (SELECT count(*) FROM provider_allocations) || ' measured'`)
	if diff := cmp.Diff([]string{"22 charged, 3 measured"}, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	invariants.Check(t, g.world("scarce"))
}

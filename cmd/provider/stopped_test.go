package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/testkit/invariants"
)

// every is at which of the things that a process says it is stopped: at each
// thirtieth, unless more are asked for.
var every = flag.Int("every", 30, "stop a process at each so-many-th thing it says")

// TestStoppedAtAnyTime sends SIGTERM to a process of the product at one moment
// after the other, while its database and its API server go on, and while both
// have just fallen silent (F21). It ends by itself, has left nothing half done,
// and says that it was interrupted if anybody listens; the next run leaves what
// an undisturbed one leaves.
func TestStoppedAtAnyTime(t *testing.T) {
	g := newGround(t)
	kinds := map[string]struct {
		mode    string
		plant   func() *v1alpha1.CostJob
		outcome func(cluster string, j *v1alpha1.CostJob) []string
	}{
		"Allocation": {modeAllocation, g.costJob, g.measured},
		"Charge":     {modeCharge, g.plantCharge, g.charged},
	}
	for name, kind := range kinds {
		g.run(name, func(t *testing.T) {
			args := []string{"--mode=" + kind.mode, moved(t, soonAfter)}
			j, whole := kind.plant(), &tap{}
			if p := launch(t, g.environment(whole, name+"-undisturbed", j), args...); p.ends() != 0 {
				t.Fatalf("an undisturbed run fails:\n%s", &p.said)
			}
			want := kind.outcome(name+"-undisturbed", j)
			if len(want) == 0 {
				t.Fatal("an undisturbed run does nothing")
			}
			told := map[bool]int{}
			for _, silent := range []bool{false, true} {
				step := *every
				if silent {
					step *= 3 // It takes some seconds to part from who does not answer.
				}
				for n := 1 + step/3; n <= whole.total(); n += step {
					g.run(fmt.Sprintf("At%dOf%dSilent%t", n, whole.total(), silent), func(t *testing.T) {
						cluster, j := t.Name(), kind.plant()
						records, said := g.stopped(cluster, j, n, silent, args)
						if said {
							told[silent]++
						}
						p := launch(t, g.environment(&tap{}, cluster, j), args...)
						if code := p.ends(); code != 0 {
							t.Errorf("the next run ends with %d:\n%s", code, &p.said)
						}
						if diff := cmp.Diff(want, kind.outcome(cluster, j)); diff != "" {
							t.Errorf("-undisturbed, +stopped and run again:\n%s", diff)
						}
						w := g.world(cluster)
						w.Records = map[types.NamespacedName]int{client.ObjectKeyFromObject(j): records + 1}
						invariants.Check(t, w)
					})
				}
			}
			if told[false] == 0 {
				t.Error("somebody listened all the time, and was never told that a run was interrupted")
			}
		})
	}

	g.run("Controller", func(*testing.T) {
		for silent, moments := range map[bool][]int{false: {1, 12, 60}, true: {12, 60}} {
			for _, n := range moments {
				g.run(fmt.Sprintf("At%dSilent%t", n, silent), func(t *testing.T) {
					p, struck := launchStopped(t, func(p *tap) []string { return g.environment(p, t.Name(), nil) }, n, silent, "--leader-elect", "--health-probe-bind-address=0")
					if code := p.ends(); code != 0 && code != 1 || !struck.struck() {
						t.Errorf("it ends with %d, told to: %t:\n%s", code, struck.struck(), &p.said)
					}
				})
			}
		}
	})
}

// launchStopped starts a process that is told to stop when it says the n-th thing.
func launchStopped(t *testing.T, environment func(*tap) []string, n int, silent bool, args ...string) (p *process, struck *tap) {
	t.Helper()
	struck = &tap{at: n, silent: silent}
	started := make(chan *process, 1)
	struck.strike = func() {
		p := <-started
		if err := p.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) { // It was its last word.
			t.Errorf("cannot tell it to stop: %v", err)
		}
	}
	p = launch(t, environment(struck), args...)
	started <- p
	return p, struck
}

// stopped stops a run, looks at how it ends, and returns how many records there
// are of it, and whether that is one of an interruption.
func (g *ground) stopped(cluster string, j *v1alpha1.CostJob, n int, silent bool, args []string) (records int, interrupted bool) {
	g.t.Helper()
	p, struck := launchStopped(g.t, func(p *tap) []string { return g.environment(p, cluster, j) }, n, silent, args...)
	code := p.ends()
	if !struck.struck() && code != 0 {
		g.t.Errorf("it ends before it is told to, with %d:\n%s", code, &p.said)
	}

	written := g.records(j)
	last := strings.Join(written, "; ")
	interrupted = code == 1 && strings.HasPrefix(last, "Failed the run was interrupted: ") && len(written) == 1
	switch {
	case interrupted:
	case code == 0 && last == "Success": // It had done everything.
	case code == 1 && silent && last == "": // Nobody listened,
	case code == 1 && last == "" && p.hadNoTime(): // or not soon enough.
	default:
		g.t.Errorf("it ends with %d, and its records say %q:\n%s", code, last, &p.said)
	}
	return len(written), interrupted
}

// measured is what an allocation run leaves behind.
func (g *ground) measured(cluster string, _ *v1alpha1.CostJob) []string {
	g.t.Helper()
	return append(
		g.lines(`SELECT concat_ws(' ', hour, name, cpu_core_usage_avg, is_finalized) FROM provider_allocations WHERE cluster_id = $1 ORDER BY hour, name`, cluster),
		g.lines(`SELECT concat_ws(' ', hour, state, row_count) FROM allocation_hours WHERE cluster_id = $1 ORDER BY hour`, cluster)...)
}

// charged is what a charge run leaves behind.
func (g *ground) charged(cluster string, j *v1alpha1.CostJob) []string {
	g.t.Helper()
	rows := g.lines(`
SELECT concat_ws(' ', v.name, c.window_start, c.charge_source, c.amount_micros, c.currency, c.finalized, w.finalized_through, v.deleted_at IS NOT NULL)
  FROM (SELECT DISTINCT ON (uid) * FROM subscriptions WHERE cluster_id = $1 ORDER BY uid, id DESC) AS v
  JOIN subscription_charges AS c ON c.cluster_id = $1 AND c.subscription_uid = v.uid
  JOIN subscription_watermarks AS w ON w.cluster_id = $1 AND w.subscription_uid = v.uid
 WHERE v.namespace = $2 ORDER BY 1`, cluster, j.Namespace)
	var list v1alpha1.SubscriptionList
	if err := g.List(g.t.Context(), &list, client.InNamespace(j.Namespace)); err != nil {
		g.t.Fatal(err)
	}
	for _, s := range list.Items {
		rows = append(rows, fmt.Sprintf("%s %v", s.Name, s.Status.Costs))
	}
	return rows
}

// plantCharge subscribes two, of whom one has ended and is to be let go.
func (g *ground) plantCharge() *v1alpha1.CostJob {
	g.t.Helper()
	j := g.costJob()
	ns := j.Namespace
	g.create(&v1alpha1.Offering{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "basic"},
		Spec: v1alpha1.OfferingSpec{Pricing: v1alpha1.Pricing{SubscriptionFee: &v1alpha1.SubscriptionFee{
			TickAlignment: v1alpha1.TickAlignmentHourBoundary, Period: "1", PriceMicros: 40_000_000,
		}}},
	})
	for name, ended := range map[string]*metav1.Time{"leaves": new(moment(g.t, "2026-04-01T10:30:00Z")), "stays": nil} {
		s := &v1alpha1.Subscription{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Finalizers: []string{v1alpha1.SubscriptionFinalizer}},
			Spec:       v1alpha1.SubscriptionSpec{OfferingRef: v1alpha1.ObjectReference{Namespace: ns, Name: "basic"}},
		}
		g.subscribe(s)
		s.Status.ActivatedAt, s.Status.DeactivatedAt = new(moment(g.t, "2026-04-01T08:20:00Z")), ended
		if err := g.Status().Update(g.t.Context(), s); err != nil {
			g.t.Fatal(err)
		}
		if ended != nil {
			if err := g.Delete(g.t.Context(), s); err != nil {
				g.t.Fatal(err)
			}
		}
	}
	return j
}

func moment(t *testing.T, text string) metav1.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return metav1.NewTime(at)
}

package subscription_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/finops/subscription"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// TestOutage stops the database's server and starts it again. Meanwhile gates and
// endings go on and each object says on Synced what is missing; afterwards the
// same process records what was missed, once, with nobody touching anything.
func TestOutage(t *testing.T) {
	server := pgtest.Own(t)
	mgr, writes := apitest.Manager(t)
	r := startBeside(t, mgr, writes, subscription.Settings{}, server.DSN)
	r.offer("basic")
	r.offer("vm")
	r.offer("disk", r.requiring("vm"))
	before := r.subscribe("before", "", "basic")
	vm, child, disk := r.subscribe("vm", "before", "vm"), r.subscribe("child", "before", "basic"), r.subscribe("disk", "before", "disk")
	for _, s := range []*v1alpha1.Subscription{before, vm, child, disk} {
		r.becomes(s, billed)
	}

	server.Halt()
	unrecorded := func(l look) look { l.Synced = "False/ReconcileError"; return l }
	during := r.subscribe("during", "before", "basic")
	r.becomes(during, unrecorded(billed))
	if got := message(during, v1alpha1.TypeSynced); !strings.Contains(got, "cannot use the mirror") || strings.Contains(got, server.DSN) {
		t.Errorf("Synced says %q", got)
	}
	if err := r.Delete(t.Context(), vm); err != nil {
		t.Fatal(err)
	}
	r.becomes(vm, unrecorded(gone))
	r.becomes(disk, unrecorded(ended("CompatibilityRequirementNotMet")))
	if err := r.Delete(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	r.becomes(before, unrecorded(gone))
	r.becomes(child, unrecorded(ended("ParentDeactivated")))
	r.becomes(during, unrecorded(ended("ParentDeactivated")))
	after := r.subscribe("after", "", "nothing")
	r.becomes(after, unrecorded(held("OfferingNotFound")))

	server.Resume()
	for s, want := range map[*v1alpha1.Subscription]look{
		before: gone, vm: gone, after: held("OfferingNotFound"), disk: ended("CompatibilityRequirementNotMet"),
		child: ended("ParentDeactivated"), during: ended("ParentDeactivated"),
	} {
		r.becomes(s, want)
		apitest.Eventually(t, "what was missed of "+s.Name, func(ctx context.Context) error {
			rows := r.rows(ctx, s)
			if len(rows) == 0 || rows[len(rows)-1].Ended != want.Deactivated || rows[len(rows)-1].Active != want.Activated {
				return fmt.Errorf("%+v", rows)
			}
			return nil
		})
	}
	if n := len(r.rows(t.Context(), during)); n != 1 {
		t.Errorf("Nobody could see more than one version of what began and ended meanwhile, got %d", n)
	}
	written := map[string]int{}
	for _, s := range []*v1alpha1.Subscription{before, vm, child, disk, during, after} {
		written[s.Name] = len(r.rows(t.Context(), s))
	}
	r.resyncs(30)
	for _, s := range []*v1alpha1.Subscription{before, vm, child, disk, during, after} {
		if diff := cmp.Diff(written[s.Name], len(r.rows(t.Context(), s))); diff != "" {
			t.Errorf("versions of %s: -want +got:\n%s", s.Name, diff)
		}
	}
	r.holds(server.DSN)
}

// TestServerRefuses lets a server that is there refuse to store anything. Gates
// and endings go on, each object says what is missing, and afterwards what was
// missed is recorded, with nobody touching anything (F4).
func TestServerRefuses(t *testing.T) {
	for name, refusal := range pgtest.Refusals() {
		if name == "TooManyConnections" {
			continue // One is enough for the controllers.
		}
		t.Run(name, func(t *testing.T) {
			db, dsn, begin := refusal.Make(t)
			mgr, writes := apitest.Manager(t)
			r := startBeside(t, mgr, writes, subscription.Settings{}, dsn)
			r.offer("vm")
			vm := r.subscribe("vm", "", "vm")
			r.becomes(vm, billed)

			end := begin()
			r.pool.Reset() // What is set for a database holds for new sessions.
			unrecorded := func(l look) look { l.Synced = "False/ReconcileError"; return l }
			during := r.subscribe("during", "vm", "vm", func(s *v1alpha1.Subscription) {
				s.Annotations = map[string]string{"note": bulky()}
			})
			r.becomes(during, unrecorded(billed))
			// What was being written when it began may end in another way.
			apitest.Eventually(t, "what Synced says", func(ctx context.Context) error {
				if err := r.Get(ctx, client.ObjectKeyFromObject(during), during); err != nil {
					return err
				}
				if got := message(during, v1alpha1.TypeSynced); !strings.Contains(got, refusal.Says) {
					return fmt.Errorf("%s\nSynced says %q, want %q in it", refusal.Reason, got, refusal.Says)
				}
				return nil
			})
			if err := r.Delete(t.Context(), vm); err != nil {
				t.Fatal(err)
			}
			r.becomes(vm, unrecorded(gone))
			r.becomes(during, unrecorded(ended("ParentDeactivated")))

			end()
			r.pool.Reset()
			for s, want := range map[*v1alpha1.Subscription]look{vm: gone, during: ended("ParentDeactivated")} {
				r.becomes(s, want)
				apitest.Eventually(t, "what was missed of "+s.Name, func(ctx context.Context) error {
					if rows := r.rows(ctx, s); len(rows) == 0 || !rows[len(rows)-1].Ended {
						return fmt.Errorf("%+v", rows)
					}
					return nil
				})
			}
			r.holds(db.DSN)
		})
	}
}

// bulky is a text of 100 kB that does not get shorter by being compressed.
func bulky() string {
	noise := make([]byte, 50<<10)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise) // It never fails.
	return hex.EncodeToString(noise)
}

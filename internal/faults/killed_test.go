package faults

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
	"github.com/provider-finops/provider-finops/internal/testkit/invariants"
)

// A death comes over a controller when its nth write has been carried out, and
// before it hears of that: from then on nothing that it does reaches the API server.
type death struct {
	at int

	mu     sync.Mutex
	writes int
}

var errDead = errors.New("the controller is dead")

func (d *death) wrap(next http.RoundTripper) http.RoundTripper {
	return transport(func(r *http.Request) (*http.Response, error) {
		if strings.Contains(r.URL.Path, "/events") {
			return next.RoundTrip(r) // They are no state.
		}
		alive, last := d.step(r.Method != http.MethodGet)
		switch {
		case alive:
			return next.RoundTrip(r)
		case last:
			response, err := next.RoundTrip(r)
			if err != nil {
				return nil, err
			}
			return nil, errors.Join(errDead, response.Body.Close())
		}
		return nil, errDead
	})
}

// step says whether a request goes through, and whether it is the last one.
func (d *death) step(write bool) (alive, last bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.writes >= d.at {
		return false, false
	}
	if !write {
		return true, false
	}
	d.writes++
	return d.writes < d.at, d.writes == d.at
}

func (d *death) came() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.writes >= d.at
}

// TestKilledController lets a controller die between any two of its writes, while a
// family comes to life and loses what it requires, and starts another one.
// The family ends as it does without, and nobody is activated or ended twice.
func TestKilledController(t *testing.T) {
	want, _ := killed(t, &death{at: 1 << 30})
	deaths := 0
	for at, died := 1, true; died; at++ {
		t.Run(fmt.Sprintf("AfterWrite%d", at), func(t *testing.T) {
			died = false // Whatever becomes of this one.
			var got map[string]string
			if got, died = killed(t, &death{at: at}); died {
				deaths++
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("how the family ends: -without a death, +with one:\n%s", diff)
			}
		})
	}
	if deaths < 12 { // A finalizer and a status for six objects, at least.
		t.Errorf("there were %d deaths, so this shows little", deaths)
	}
}

// killed plays the life of a small family, and says how it stands in the end and
// whether the first controller died.
func killed(t *testing.T, d *death) (stands map[string]string, died bool) {
	t.Helper()
	c := apitest.Client(t)
	ns := apitest.Namespace(t, c)
	for _, o := range []client.Object{
		offer(ns, "suite"), offer(ns, "node"), offer(ns, "part", "node"),
		sub(ns, "root", "", "suite"), sub(ns, "node", "root", "node"), sub(ns, "part", "root", "part"),
	} {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	l := life{Client: c, ns: ns, activated: map[string]metav1.Time{}, ended: map[string]metav1.Time{}}
	t.Run("First", func(t *testing.T) { control(t, d.wrap); l.live(t, d.came) })
	died = d.came()
	t.Run("Second", func(t *testing.T) {
		control(t, newLine(0).wrap)
		l.live(t, func() bool { return false })
		invariants.Check(t, invariants.World{API: c, Rest: 10})
	})
	return standing(t.Context(), t, c, ns, l.activated), died
}

// A life is what was seen of a family's.
type life struct {
	client.Client

	ns               string
	activated, ended map[string]metav1.Time
}

// live waits for everybody's activation, takes the node away, and waits for the end
// of who needs it; or until there is no use in waiting.
func (l life) live(t *testing.T, over func() bool) {
	t.Helper()
	apitest.Eventually(t, "everybody's activation", func(ctx context.Context) error {
		return l.each(ctx, t, over, func(s *v1alpha1.Subscription) bool { return s.Status.ActivatedAt != nil })
	})
	if over() && len(l.activated) < 3 {
		return
	}
	if err := l.Delete(t.Context(), sub(l.ns, "node", "", "node")); err != nil {
		t.Fatal(err)
	}
	apitest.Eventually(t, "the end of those who need the node", func(ctx context.Context) error {
		return l.each(ctx, t, over, func(s *v1alpha1.Subscription) bool { return s.Name == "root" || settled(s) })
	})
}

// settled says whether a Subscription has ended and says so.
func settled(s *v1alpha1.Subscription) bool {
	says := func(condition string) bool { return meta.IsStatusConditionFalse(s.Status.Conditions, condition) }
	return s.Status.DeactivatedAt != nil && says(v1alpha1.TypeActive) && (s.DeletionTimestamp == nil || says(v1alpha1.TypeDeleting))
}

// each looks at everybody. What was decided once must not change, whoever looks, and
// nothing of the runtime's bookkeeping may be left.
func (l life) each(ctx context.Context, t *testing.T, over func() bool, done func(*v1alpha1.Subscription) bool) error {
	missing := ""
	err := each(ctx, l.Client, l.ns, func(s *v1alpha1.Subscription) error {
		same(t, s.Name+" was activated", l.activated, s.Name, s.Status.ActivatedAt)
		same(t, s.Name+" has ended", l.ended, s.Name, s.Status.DeactivatedAt)
		if len(s.Annotations) > 0 {
			t.Errorf("%s has annotations %v", s.Name, s.Annotations)
		}
		if !done(s) {
			missing = fmt.Sprintf("%s: %+v", s.Name, s.Status)
		}
		return nil
	})
	if err == nil && missing != "" && !over() {
		err = errors.New(missing)
	}
	return err
}

func same(t *testing.T, what string, seen map[string]metav1.Time, name string, now *metav1.Time) {
	t.Helper()
	before, known := seen[name]
	switch {
	case known && (now == nil || !now.Equal(&before)):
		t.Errorf("%s at %s, and now at %v", what, before, now)
	case now != nil:
		seen[name] = *now
	}
}

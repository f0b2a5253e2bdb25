package faults

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/finops/offering"
	"github.com/provider-finops/provider-finops/internal/controller/finops/subscription"
	"github.com/provider-finops/provider-finops/internal/controller/frame"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
	"github.com/provider-finops/provider-finops/internal/testkit/invariants"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(apitest.Main(m))
}

// A line is what lies between the controllers and the API server. It spoils some
// requests, drawn from a seed.
type line struct {
	mu      sync.Mutex
	rand    *rand.Rand
	share   float64 // Of requests that are spoilt,
	left    int     // until so many more were.
	writes  int     // That the server has carried out.
	spoilt  int
	watches map[io.Closer]struct{}
}

func newLine(seed uint64) *line {
	return &line{rand: rand.New(rand.NewPCG(seed, seed)), watches: map[io.Closer]struct{}{}}
}

// conflict and the rest are what a server says that has its troubles.
const (
	conflict = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409,"message":"the object has been modified"}`
	failure  = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"InternalError","code":500,"message":"etcdserver: request timed out"}`
	busy     = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429,"message":"please try again later"}`
)

var errReset = errors.New("connection reset by peer")

// wrap puts the line before a transport.
func (l *line) wrap(next http.RoundTripper) http.RoundTripper {
	return transport(func(r *http.Request) (*http.Response, error) {
		if strings.Contains(r.URL.Path, "/events") {
			return next.RoundTrip(r) // They are no state.
		}
		write := r.Method != http.MethodGet
		fault := l.fault()
		switch {
		case fault == 0 && write:
			return answer(r, http.StatusConflict, conflict), nil
		case fault == 1:
			return answer(r, http.StatusInternalServerError, failure), nil
		case fault == 2:
			return answer(r, http.StatusTooManyRequests, busy), nil
		case fault == 3:
			return nil, errReset
		}
		response, err := next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		l.note(r, response, write)
		if fault == 4 { // It was carried out, and nobody is told.
			return nil, errors.Join(errReset, response.Body.Close())
		}
		return response, nil
	})
}

// fault draws what happens to a request; five and more is nothing.
func (l *line) fault() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left == 0 || l.rand.Float64() >= l.share {
		return 5
	}
	l.left--
	l.spoilt++
	return l.rand.IntN(5)
}

func (l *line) note(r *http.Request, response *http.Response, write bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if write && response.StatusCode < http.StatusBadRequest {
		l.writes++
	}
	if r.URL.Query().Get("watch") != "" && response.StatusCode == http.StatusOK {
		l.watches[response.Body] = struct{}{}
	}
}

// cut ends every watch, now and then, if anything goes wrong at all.
func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left == 0 || l.rand.IntN(50) > 0 {
		return
	}
	for w := range l.watches {
		_ = w.Close() // It may have ended by itself.
		delete(l.watches, w)
	}
}

// spoil has a fifth of the requests go wrong from now on, until so many did.
func (l *line) spoil(requests int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.share, l.left = 1.0/5, requests
}

func (l *line) counts() (writes, spoilt int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.writes, l.spoilt
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answer(r *http.Request, code int, body string) *http.Response {
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// control runs the controllers behind a line, which is put before their transport,
// until the test ends.
func control(t *testing.T, wrap func(http.RoundTripper) http.RoundTripper) {
	t.Helper()
	cfg := apitest.Config(t)
	cfg.QPS = -1
	cfg.Wrap(wrap)
	mgr, _ := apitest.ManagerOn(t, cfg)
	o := frame.Options{Logger: logging.NewNopLogger(), Clock: clock.RealClock{}, Poll: time.Hour, MaxConcurrentReconciles: 8, Limiter: ratelimiter.NewGlobal(1000)}
	err := errors.Join(offering.Setup(mgr, o, nil, offering.Settings{}), subscription.Setup(mgr, o, nil, subscription.Settings{}))
	if err != nil {
		t.Fatal(err)
	}
	apitest.Run(t, mgr)
}

// seeds is how many bad days are played: one, unless more are asked for.
var seeds = flag.Uint64("seeds", 1, "bad days to play")

// rest is for how many looks, fifty in a second, nothing may be written in the
// end. A try that is put off for longer shows only to who waits for longer.
var rest = flag.Int("rest", 50, "looks at which nothing may have changed")

// troubles is how many requests go wrong in each of the two halves of a bad day.
const troubles = 15

// TestBadDays lets a family come to life and lose what it requires. In both a
// fifth of the requests go wrong for a while, and watches break. It ends as it
// does on a good day, nobody is activated or ended twice, and then there is rest.
func TestBadDays(t *testing.T) {
	good := newLine(0)
	var want map[string]string
	t.Run("GoodDay", func(t *testing.T) { want = play(t, good, 0, nil) })
	goodWrites, _ := good.counts()

	for seed := range *seeds {
		t.Run(fmt.Sprint("Seed", seed), func(t *testing.T) {
			bad := newLine(seed)
			if diff := cmp.Diff(want, play(t, bad, troubles, want)); diff != "" {
				t.Errorf("how the family ends: -good day, +bad day:\n%s", diff)
			}
			writes, spoilt := bad.counts()
			if spoilt < troubles {
				t.Errorf("%d requests were spoilt, so this shows little", spoilt)
			}
			if writes > 2*goodWrites {
				t.Errorf("%d writes, and %d on a good day", writes, goodWrites)
			}
		})
	}
}

// play runs the life of a family, and returns how its members stand in the end.
// If it is known how they should, that is waited for: who failed last tries again
// much later.
func play(t *testing.T, l *line, spoilt int, want map[string]string) map[string]string {
	t.Helper()
	c := apitest.Client(t)
	ns := apitest.Namespace(t, c)
	control(t, l.wrap)
	l.spoil(spoilt)

	objects := []client.Object{offer(ns, "suite"), offer(ns, "node"), offer(ns, "part", "node"), sub(ns, "root", "", "suite"), sub(ns, "node", "root", "node")}
	for i := range 6 {
		objects = append(objects, sub(ns, fmt.Sprintf("part-%d", i), "root", "part"), sub(ns, fmt.Sprintf("below-%d", i), fmt.Sprintf("part-%d", i), "suite"))
	}
	for _, o := range objects {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	activated := map[string]metav1.Time{}
	apitest.Eventually(t, "everybody's activation", func(ctx context.Context) error {
		l.cut()
		return each(ctx, c, ns, func(s *v1alpha1.Subscription) error {
			if s.Status.ActivatedAt == nil {
				return fmt.Errorf("%s is not active: %+v", s.Name, s.Status)
			}
			activated[s.Name] = *s.Status.ActivatedAt
			return nil
		})
	})
	l.spoil(spoilt)
	if err := c.Delete(t.Context(), sub(ns, "node", "", "node")); err != nil {
		t.Fatal(err)
	}
	apitest.Eventually(t, "the end of those who need the node", func(ctx context.Context) error {
		l.cut()
		return each(ctx, c, ns, func(s *v1alpha1.Subscription) error {
			if s.Name != "root" && !settled(s) {
				return fmt.Errorf("%s has not ended: %+v", s.Name, s.Status)
			}
			return nil
		})
	})
	if want == nil {
		l.rest(t)
	}
	got := map[string]string{}
	apitest.Eventually(t, "the end", func(ctx context.Context) error {
		got = standing(ctx, t, c, ns, activated)
		if diff := cmp.Diff(want, got); want != nil && diff != "" {
			return fmt.Errorf("how the family stands: -good day, +bad day:\n%s", diff)
		}
		return nil
	})
	l.rest(t)
	invariants.Check(t, invariants.World{API: c, Rest: *rest})
	return got
}

// rest waits until the controllers have written nothing for a while.
func (l *line) rest(t *testing.T) {
	t.Helper()
	last, quiet := -1, 0
	apitest.Eventually(t, "rest", func(context.Context) error {
		if writes, _ := l.counts(); writes != last {
			last, quiet = writes, 0
		}
		if quiet++; quiet < 50 {
			return errors.New("something was written just now")
		}
		return nil
	})
}

// standing says how everybody stands, and that nobody was activated twice.
func standing(ctx context.Context, t *testing.T, c client.Client, ns string, activated map[string]metav1.Time) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := each(ctx, c, ns, func(s *v1alpha1.Subscription) error {
		got[s.Name] = fmt.Sprintf("ready=%s ended=%t", s.Status.Ready, s.Status.DeactivatedAt != nil)
		slices.SortFunc(s.Status.Conditions, func(a, b metav1.Condition) int { return strings.Compare(a.Type, b.Type) })
		for _, cond := range s.Status.Conditions {
			got[s.Name] += fmt.Sprintf(" %s=%s/%s", cond.Type, cond.Status, cond.Reason)
		}
		if at := activated[s.Name]; s.Status.ActivatedAt == nil || !s.Status.ActivatedAt.Equal(&at) {
			t.Errorf("%s was activated at %s, and now at %v", s.Name, at, s.Status.ActivatedAt)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func each(ctx context.Context, c client.Client, ns string, check func(*v1alpha1.Subscription) error) error {
	l := &v1alpha1.SubscriptionList{}
	if err := c.List(ctx, l, client.InNamespace(ns)); err != nil {
		return err
	}
	for i := range l.Items {
		if err := check(&l.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

func offer(ns, name string, requires ...string) *v1alpha1.Offering {
	o := &v1alpha1.Offering{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	for _, r := range requires {
		o.Spec.Compatibility = &v1alpha1.Compatibility{RequiredOfferings: []v1alpha1.ObjectReference{{Namespace: ns, Name: r}}}
	}
	return o
}

func sub(ns, name, parent, offering string) *v1alpha1.Subscription {
	s := &v1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec:       v1alpha1.SubscriptionSpec{OfferingRef: v1alpha1.ObjectReference{Namespace: ns, Name: offering}},
	}
	if parent != "" {
		s.Spec.Parent = &v1alpha1.SubscriptionParent{SubscriptionRef: v1alpha1.ObjectReference{Namespace: ns, Name: parent}}
	}
	return s
}

package charge_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/jackc/pgx/v5"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/collection"
	"github.com/provider-finops/provider-finops/internal/finops/hour"
	"github.com/provider-finops/provider-finops/internal/jobs/charge"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

const aggregation = "namespace,pod,container"

// A stage is an API server without anything of ours, a fresh database, and what
// a run needs to work on them. A run looks at the whole cluster, so the tests of
// this package share one server one after the other.
type stage struct {
	*testing.T

	db        pgtest.DB
	cluster   string
	api       client.Client
	namespace string
	settings  charge.Settings
	writes    *writes
	settled   bool // The last run has left nobody behind.

	logging sync.Mutex
	log     strings.Builder
}

func newStage(t *testing.T) *stage {
	t.Helper()
	return newStageOn(t, pgtest.Database(t), "test")
}

// newStageOn is a stage on a database that others have used, for a cluster of
// its own.
func newStageOn(t *testing.T, db pgtest.DB, cluster string) *stage {
	t.Helper()
	config := apitest.Config(t)
	s := &stage{T: t, db: db, cluster: cluster, api: apitest.Client(t), writes: &writes{}}
	s.clear()
	s.namespace = apitest.Namespace(t, s.api)
	s.settings = charge.Settings{
		Database:                   postgres.Config{DSN: s.db.DSN},
		ClusterID:                  cluster,
		Aggregation:                aggregation,
		Limits:                     collection.Limits{LookbackHours: 2, BackfillHours: 72, ConfirmAfter: 3 * time.Hour},
		MaxAmount:                  1_000_000_000_000_000,
		DatabaseInitTimeout:        2 * time.Minute, // Runs wait for one another.
		KubernetesOperationTimeout: 2 * time.Minute,
		StatusUpdateTimeout:        2 * time.Minute,
	}
	config.Wrap(s.writes.wrap)
	s.writes.config = config
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the runs said:\n%s", s.log.String())
		}
	})
	return s
}

// clear removes what earlier tests left on the server.
func (s *stage) clear() {
	s.Helper()
	var subscriptions v1alpha1.SubscriptionList
	s.must(s.api.List(s.Context(), &subscriptions))
	for i := range subscriptions.Items {
		o := &subscriptions.Items[i]
		o.Finalizers = nil
		s.must(s.api.Update(s.Context(), o))
		s.must(client.IgnoreNotFound(s.api.Delete(s.Context(), o)))
	}
	for _, kind := range []client.ObjectList{&v1alpha1.OfferingList{}, &v1alpha1.PriceBookList{}, &v1alpha1.CostJobList{}} {
		s.must(s.api.List(s.Context(), kind))
		switch list := kind.(type) {
		case *v1alpha1.OfferingList:
			for i := range list.Items {
				s.must(s.api.Delete(s.Context(), &list.Items[i]))
			}
		case *v1alpha1.PriceBookList:
			for i := range list.Items {
				s.must(s.api.Delete(s.Context(), &list.Items[i]))
			}
		case *v1alpha1.CostJobList:
			for i := range list.Items {
				s.must(s.api.Delete(s.Context(), &list.Items[i]))
			}
		}
	}
}

func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// run runs the collector for an hour, a few seconds after it began.
func (s *stage) run(hourText string) error {
	s.Helper()
	return s.runWith(s.settings, hourText)
}

func (s *stage) runWith(settings charge.Settings, hourText string) error {
	s.Helper()
	settings.Hint = hour.Hint{Scheduled: hourText}
	api, err := client.New(s.writes.config, client.Options{Scheme: apitest.Scheme()})
	s.must(err)
	return s.runOn(api, settings, at(hourText).Add(7*time.Second))
}

func (s *stage) runOn(api client.Client, settings charge.Settings, now time.Time) error {
	s.Helper()
	s.settled = false
	return charge.Run(s.Context(), settings, charge.Dependencies{
		Client:  api,
		Clock:   clocktesting.NewFakePassiveClock(now),
		Log:     s.logger(),
		Settled: func() { s.settled = true },
	})
}

func (s *stage) logger() logr.Logger {
	return funcr.New(func(_, args string) {
		s.logging.Lock()
		defer s.logging.Unlock()
		fmt.Fprintln(&s.log, args)
	}, funcr.Options{})
}

func (s *stage) mustRun(hourText string) {
	s.Helper()
	if err := s.run(hourText); err != nil {
		s.Fatalf("run of %s: %v", hourText, err)
	}
}

func (s *stage) lines(sql string, args ...any) []string {
	s.Helper()
	rows, err := s.db.Pool.Query(s.Context(), sql, args...)
	s.must(err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	s.must(err)
	return lines
}

// charges are the rows of the table in words: which Subscription, day and hour,
// what for and how much; a ~ marks a row that is not final.
func (s *stage) charges() []string {
	s.Helper()
	return s.lines(`
		SELECT DISTINCT ON (c.subscription_uid, c.window_start, c.charge_source)
		       concat_ws(' ', v.name, to_char(c.window_start AT TIME ZONE 'UTC', 'DD HH24'), c.charge_source, c.amount_micros, c.currency, c.details)
		       || CASE WHEN c.finalized THEN '' ELSE ' ~' END
		  FROM subscription_charges AS c
		  JOIN subscriptions AS v ON v.cluster_id = c.cluster_id AND v.uid = c.subscription_uid
		 WHERE c.cluster_id = $1
		 ORDER BY c.subscription_uid, c.window_start, c.charge_source`, s.cluster)
}

// dump is everything the charge run writes, but for what says when.
func (s *stage) dump() []string {
	s.Helper()
	return slices.Concat(
		s.lines(`
			SELECT (to_jsonb(c) - 'created_at' - 'updated_at')::text FROM subscription_charges AS c
			 ORDER BY cluster_id, subscription_uid, window_start, charge_source`),
		s.lines(`SELECT (to_jsonb(w) - 'updated_at')::text FROM subscription_watermarks AS w ORDER BY cluster_id, subscription_uid`),
		s.lines(`SELECT (to_jsonb(v) - 'valid_from')::text FROM offerings AS v ORDER BY cluster_id, id`),
		s.lines(`SELECT (to_jsonb(v) - 'valid_from')::text FROM subscriptions AS v ORDER BY cluster_id, id`),
	)
}

// watermark is how far a Subscription is settled.
func (s *stage) watermarks() []string {
	s.Helper()
	return s.lines(`SELECT to_char(finalized_through AT TIME ZONE 'UTC', 'DD HH24') FROM subscription_watermarks ORDER BY subscription_uid`)
}

func (s *stage) events() []string {
	s.Helper()
	var list corev1.EventList
	s.must(s.api.List(s.Context(), &list, client.InNamespace(s.namespace)))
	reasons := make([]string, 0, len(list.Items))
	for _, e := range list.Items {
		reasons = append(reasons, e.InvolvedObject.Name+" "+e.Reason)
	}
	slices.Sort(reasons)
	return reasons
}

// writes counts what the runs of a stage write to the API server, events left
// out: they are no state.
type writes struct {
	config *rest.Config

	mu    sync.Mutex
	lines []string
	fail  func(*http.Request) error
	look  func(*http.Request) error // Is told of what is read.
}

func (w *writes) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet && w.look != nil {
			if err := w.look(r); err != nil {
				return nil, err
			}
		}
		if r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "/events") {
			if w.fail != nil {
				if err := w.fail(r); err != nil {
					return nil, err
				}
			}
			w.mu.Lock()
			w.lines = append(w.lines, r.Method+" "+r.URL.Path)
			w.mu.Unlock()
		}
		return next.RoundTrip(r)
	})
}

func (w *writes) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := w.lines
	w.lines = nil
	return lines
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

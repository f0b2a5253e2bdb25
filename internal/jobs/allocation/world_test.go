package allocation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/testr"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/clients/opencost"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/finops/collection"
	"github.com/provider-finops/provider-finops/internal/finops/hour"
	"github.com/provider-finops/provider-finops/internal/testkit/invariants"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// at returns the n-th hour of the day that most tests play on.
func at(n int) time.Time {
	return time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Hour)
}

// A world is everything around a run: a real database, an OpenCost over HTTP, and
// a fake API server with a CostJob and a PriceBook.
type world struct {
	t        *testing.T
	database pgtest.DB
	through  string // The DSN that runs are given, if it is not the database's.
	kube     client.Client
	clock    *clocktesting.FakePassiveClock
	opencost *openCost
	settings Settings
	log      logr.Logger
	ahead    time.Duration // Of the schedule to the clock.
	hasty    time.Time     // The only hour that OpenCost has as long for as the settings say, if it is not zero.
	patient  bool          // Connecting may take as long as it takes.
}

// A haste waits for the answer to one hour as long as it is told to, and for all
// others as long as it takes: how busy the machine is must not decide about those.
type haste struct {
	hour           time.Time
	short, endless *opencost.Client
}

func (h haste) Allocations(ctx context.Context, q opencost.Query) iter.Seq2[opencost.Allocation, error] {
	if q.Start.Equal(h.hour) {
		return h.short.Allocations(ctx, q)
	}
	return h.endless.Allocations(context.WithoutCancel(ctx), q)
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	return newWorldOn(t, pgtest.Database(t), objects...)
}

func newWorldOn(t *testing.T, db pgtest.DB, objects ...client.Object) *world {
	t.Helper()

	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	if objects == nil {
		objects = []client.Object{priceBook("finops", "tariff", true)}
	}

	return &world{
		t:        t,
		database: db,
		kube: fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.CostJob{}, &v1alpha1.PriceBook{}).
			WithObjects(append(objects, newCostJob())...).Build(),
		clock:    clocktesting.NewFakePassiveClock(at(0)),
		opencost: newOpenCost(t),
		log:      testr.New(t),
		settings: defaults(),
	}
}

// defaults are settings as most pods have them, but for those of the
// connections.
func defaults() Settings {
	return Settings{
		CostJob:     types.NamespacedName{Namespace: "finops", Name: "hourly"},
		ClusterID:   "default",
		Aggregation: collection.DefaultAggregation,
		Resolution:  "1m",
		Limits:      collection.Limits{LookbackHours: 5, BackfillHours: 72, ConfirmAfter: 3 * time.Hour},
		Timeouts: Timeouts{
			DatabaseInit: time.Minute, Kubernetes: time.Minute, OpenCostFetch: time.Minute, HTTPClient: time.Minute,
			DatabaseInsert: time.Minute, StatusUpdate: time.Minute,
		},
	}
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme))
}

func newCostJob() *v1alpha1.CostJob {
	return &v1alpha1.CostJob{ObjectMeta: metav1.ObjectMeta{Namespace: "finops", Name: "hourly", UID: "00000000-0000-4000-8000-0000000000c0"}}
}

// run runs the job for an hour, seconds after it was due.
func (w *world) run(ctx context.Context, n int, tracer pgx.QueryTracer) error {
	w.t.Helper()
	w.clock.SetTime(at(n).Add(2 * time.Second))

	short, err := opencost.New(w.opencost.URL, opencost.Options{Timeout: w.settings.Timeouts.HTTPClient})
	if err != nil {
		w.t.Fatal(err)
	}
	var source Source = short
	if !w.hasty.IsZero() {
		endless, err := opencost.New(w.opencost.URL, opencost.Options{Timeout: time.Hour})
		if err != nil {
			w.t.Fatal(err)
		}
		source = haste{hour: w.hasty, short: short, endless: endless}
	}
	settings := w.settings
	settings.Hint = hour.Hint{Scheduled: at(n).Add(w.ahead).Format(time.RFC3339)}
	job := &Job{
		Settings: settings, Clock: w.clock, Log: w.log, Source: source, Kube: w.kube,
		Connect: func(ctx context.Context) (*pgxpool.Pool, error) {
			if w.patient {
				ctx = context.WithoutCancel(ctx)
			}
			return postgres.Open(ctx, postgres.Config{DSN: cmp.Or(w.through, w.database.DSN), Tracer: tracer})
		},
	}
	return job.Run(ctx)
}

// collect runs the job for each of the hours and wants it to succeed.
func (w *world) collect(hours ...int) {
	w.t.Helper()
	for _, n := range hours {
		if err := w.run(w.t.Context(), n, nil); err != nil {
			w.t.Fatalf("the run of hour %d: %v", n, err)
		}
	}
}

// holds checks everything that has to hold after a fault. Then the run of hour n
// is done again.
func (w *world) holds(n int) {
	w.t.Helper()
	invariants.Check(w.t, invariants.World{
		API: w.kube, DB: w.database.Pool, Cluster: w.settings.ClusterID, Aggregation: w.settings.Aggregation,
		Replay: func() error { return w.run(w.t.Context(), n, nil) },
	})
}

// dump returns everything that is stored, but for when it was written.
func (w *world) dump() []string {
	w.t.Helper()
	return slices.Concat(
		w.list("SELECT 'row ' || (to_jsonb(a) - 'collected_at')::text FROM provider_allocations AS a ORDER BY 1"),
		w.list("SELECT 'hour ' || (to_jsonb(h) - 'updated_at')::text FROM allocation_hours AS h ORDER BY 1"),
		w.list("SELECT 'day ' || to_jsonb(d)::text FROM allocation_days AS d ORDER BY 1"),
		w.list("SELECT 'book ' || (to_jsonb(b) - 'first_seen_at')::text FROM pricebooks AS b ORDER BY 1"),
		w.list("SELECT 'current ' || (to_jsonb(c) - 'since')::text FROM current_pricebooks AS c ORDER BY 1"),
		w.list("SELECT 'summary ' || to_jsonb(s)::text FROM mv_provider_allocations_summary AS s ORDER BY 1"),
	)
}

// quiet is for tests of so many runs that nobody would read their logs.
func (w *world) quiet() { w.log = logr.Discard() }

// list runs a query of one text column.
func (w *world) list(sql string) []string {
	w.t.Helper()
	rows, err := w.database.Pool.Query(w.t.Context(), sql)
	if err != nil {
		w.t.Fatal(err)
	}
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		w.t.Fatal(err)
	}
	return texts
}

// hours lists the ledger: the hour of the day, its state and its rows, and how
// many of the stored rows are final.
func (w *world) hours() []string {
	w.t.Helper()
	return w.list(`SELECT extract(epoch FROM l.hour - '2026-04-01T00:00:00Z')::bigint / 3600 || ' ' || l.state || ' ' || l.row_count || ' '
		|| (SELECT count(*) FROM provider_allocations AS a WHERE a.hour = l.hour AND a.is_finalized) FROM allocation_hours AS l ORDER BY l.hour`)
}

func (w *world) costJob() *v1alpha1.CostJob {
	w.t.Helper()
	costJob := &v1alpha1.CostJob{}
	if err := w.kube.Get(w.t.Context(), w.settings.CostJob, costJob); err != nil {
		w.t.Fatal(err)
	}
	return costJob
}

// events lists reason and message of every event.
func (w *world) events() []string {
	w.t.Helper()
	list := &corev1.EventList{}
	if err := w.kube.List(w.t.Context(), list); err != nil {
		w.t.Fatal(err)
	}
	all := make([]string, 0, len(list.Items))
	for _, e := range list.Items {
		all = append(all, e.Reason+": "+e.Message)
	}
	return all
}

func priceBook(namespace, name string, active bool) *v1alpha1.PriceBook {
	// A uid of its own for every name.
	uid := fmt.Sprintf("00000000-0000-4000-8000-%012x", []byte(namespace + name)[len(namespace+name)-3:])
	return &v1alpha1.PriceBook{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(uid), Generation: 1},
		Spec: v1alpha1.PriceBookSpec{
			Currency: "EUR", ValuationMode: v1alpha1.ValuationModeCurrency, Rates: &v1alpha1.PriceRates{CPUHour: "0.031"},
		},
		Status: v1alpha1.PriceBookStatus{Active: active},
	}
}

// An openCost answers over HTTP. Unless a test says otherwise every hour has
// the same workloads, whose consumption depends on the hour.
type openCost struct {
	*httptest.Server

	mu      sync.Mutex
	answers map[time.Time]func(http.ResponseWriter, *http.Request) // Instead of the usual one.
	asked   []time.Time
}

func newOpenCost(t *testing.T) *openCost {
	o := &openCost{answers: map[time.Time]func(http.ResponseWriter, *http.Request){}}
	o.Server = httptest.NewServer(http.HandlerFunc(o.serve))
	t.Cleanup(o.Close)
	return o
}

func (o *openCost) serve(w http.ResponseWriter, r *http.Request) {
	from, _, _ := strings.Cut(r.URL.Query().Get("window"), ",")
	h, err := time.Parse(time.RFC3339, from)
	if err != nil {
		http.Error(w, "illegal window", http.StatusBadRequest)
		return
	}

	o.mu.Lock()
	o.asked = append(o.asked, h)
	answer, other := o.answers[h]
	o.mu.Unlock()

	if other {
		answer(w, r)
		return
	}
	items(h, usual(h)...)(w, r)
}

// answer makes the hour n be answered otherwise, or as usual by nil.
func (o *openCost) answer(n int, how func(http.ResponseWriter, *http.Request)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if how == nil {
		delete(o.answers, at(n))
		return
	}
	o.answers[at(n)] = how
}

// takeAsked returns the hours that were asked for since the last call.
func (o *openCost) takeAsked() []int {
	o.mu.Lock()
	defer o.mu.Unlock()
	hours := make([]int, 0, len(o.asked))
	for _, h := range o.asked {
		hours = append(hours, int(h.Sub(at(0))/time.Hour))
	}
	o.asked = nil
	return hours
}

// usual are the workloads of an ordinary hour.
func usual(h time.Time) []string {
	n := h.Hour()
	return []string{
		fmt.Sprintf("shop/web-1/app web %d.25", n),
		fmt.Sprintf("shop/web-2/app web 0.%05d", n+1),
		fmt.Sprintf("ml/train/cuda job %d", n%3),
	}
}

// items answers with workloads, written as "name controller cores".
func items(h time.Time, workloads ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, document(h, workloads...))
	}
}

func document(h time.Time, workloads ...string) string {
	all := make([]string, 0, len(workloads))
	for _, workload := range workloads {
		part := strings.Fields(workload)
		all = append(all, fmt.Sprintf(`%q:{"name":%q,"properties":{"controller":%q,"controllerKind":"deployment"},"window":{"start":%q,"end":%q},`+
			`"start":%q,"end":%q,"minutes":60,"cpuCoreUsageAverage":%s,"ramByteUsageAverage":1.5,"networkTransferBytes":7}`,
			part[0], part[0], part[1], stamp(h), stamp(h.Add(time.Hour)), stamp(h), stamp(h.Add(time.Hour)), part[2]))
	}
	return `{"code":200,"status":"success","data":[{` + strings.Join(all, ",") + `}]}`
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// refused answers like a server whose database is away.
func refused(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = fmt.Fprint(w, `{"code":500,"data":null,"message":"Error: no metrics"}`)
}

// cutOff answers half of an ordinary hour.
func cutOff(h time.Time) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		whole := document(h, usual(h)...)
		_, _ = fmt.Fprint(w, whole[:len(whole)*2/3])
	}
}

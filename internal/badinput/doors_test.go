package badinput

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/clients/opencost"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/jobs/allocation"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// accepted is the outcome of what is no mistake after all.
const accepted = "accepted"

// A door is a way into the product. It returns what came out: the text that the
// user sees, or what became of the input. want is what it may wait for.
type door func(t *testing.T, w *world, want string) string

// read reads manifests into a namespace. The word NAMESPACE in them is its name.
func read(t *testing.T, namespace, manifest string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(manifest, "NAMESPACE", namespace)), &u.Object); err != nil {
		t.Fatalf("cannot read manifest: %v\n%s", err, manifest)
	}
	if u.GetNamespace() == "" {
		u.SetNamespace(namespace)
	}
	return u
}

func (w *world) create(t *testing.T, namespace string, manifests ...string) {
	t.Helper()
	for _, m := range manifests {
		if err := w.Create(t.Context(), read(t, namespace, m)); err != nil {
			t.Fatal(err)
		}
	}
}

// applied creates an object. What is refused must not be there.
func applied(manifest string) door {
	return func(t *testing.T, w *world, _ string) string {
		t.Helper()
		ns := apitest.Namespace(t, w)
		u := read(t, ns, manifest)
		err := w.Create(t.Context(), u)
		there := w.Get(t.Context(), client.ObjectKeyFromObject(u), u) == nil
		if there != (err == nil) {
			t.Errorf("created: %v, there: %t", err, there)
		}
		if err == nil {
			if err := w.Delete(t.Context(), u); err != nil {
				t.Errorf("cannot delete the object: %v", err)
			}
			return accepted
		}
		return strings.ReplaceAll(refusal(err), ns, "NAMESPACE")
	}
}

// judged creates objects and returns what the last one's condition Ready says
// once it has settled.
func judged(manifests ...string) door {
	return func(t *testing.T, w *world, want string) string {
		t.Helper()
		ns := apitest.Namespace(t, w)
		w.create(t, ns, manifests...)
		return w.verdict(t, read(t, ns, manifests[len(manifests)-1]), want)
	}
}

// verdict waits until an object's condition Ready says what is wanted, and
// returns what it says in the end.
func (w *world) verdict(t *testing.T, u *unstructured.Unstructured, want string) string {
	t.Helper()
	ns, got := u.GetNamespace(), ""
	w.awaits(t, want, func(ctx context.Context) string {
		if err := w.Get(ctx, client.ObjectKeyFromObject(u), u); err != nil {
			return err.Error()
		}
		got = condition(u, "Ready")
		return strings.ReplaceAll(got, ns, "NAMESPACE")
	})
	return strings.ReplaceAll(got, ns, "NAMESPACE")
}

// awaits looks until it sees what is wanted, or for some time.
func (*world) awaits(t *testing.T, want string, look func(context.Context) string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for look(ctx) != want {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func condition(u *unstructured.Unstructured, kind string) string {
	all, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range all {
		c, ok := c.(map[string]any)
		if ok && c["type"] == kind {
			return fmt.Sprintf("%s: %s", c["reason"], c["message"])
		}
	}
	return "nothing was said"
}

// scheduled creates a CostJob and returns the schedule it runs on, and the note
// that says so if it is another than was asked for.
func scheduled(interval string) door {
	return func(t *testing.T, w *world, want string) string {
		t.Helper()
		ns := apitest.Namespace(t, w)
		w.create(t, ns, fmt.Sprintf("apiVersion: finops.stakater.com/v1alpha1\nkind: CostJob\nmetadata: {name: hourly}\nspec: {interval: %q}\n", interval))
		got := ""
		w.awaits(t, want, func(ctx context.Context) string {
			cron, job := &batchv1.CronJob{}, &v1alpha1.CostJob{}
			if err := w.Get(ctx, client.ObjectKey{Namespace: ns, Name: "hourly-cronjob"}, cron); err != nil {
				return err.Error()
			}
			if err := w.Get(ctx, client.ObjectKey{Namespace: ns, Name: "hourly"}, job); err != nil {
				return err.Error()
			}
			got = cron.Spec.Schedule + ", noted: " + job.Annotations[v1alpha1.AnnotationEffectiveSchedule]
			return got
		})
		return got
	}
}

// elected creates books, each with another value of the annotation, and returns
// which is active. There is one election, so they go again.
func elected(annotations ...string) door {
	return func(t *testing.T, w *world, want string) string {
		t.Helper()
		ns := apitest.Namespace(t, w)
		for i, a := range annotations {
			m := strings.Replace(fmt.Sprintf(priceBook, "EUR", "1"), "tariff", fmt.Sprintf("book-%d", i), 1)
			u := read(t, ns, m)
			u.SetAnnotations(map[string]string{"finops.stakater.com/active": a})
			if err := w.Create(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := w.Delete(context.Background(), u); err != nil {
					t.Error(err)
				}
			})
		}
		got := ""
		w.awaits(t, want, func(ctx context.Context) string {
			books := &v1alpha1.PriceBookList{}
			if err := w.List(ctx, books, client.InNamespace(ns)); err != nil {
				return err.Error()
			}
			var active []string
			for i := range books.Items {
				if books.Items[i].Status.Active {
					active = append(active, fmt.Sprintf("%q", books.Items[i].Annotations["finops.stakater.com/active"]))
				}
			}
			got = strings.Join(active, ", ")
			return got
		})
		return got
	}
}

// configured makes the settings of a collector from its environment.
func configured[S any](from func(func(string) string) (S, error), name, value string) door {
	return func(*testing.T, *world, string) string {
		environment := map[string]string{
			"COSTJOB_NAMESPACE": "finops", "COSTJOB_NAME": "hourly", "POSTGRES_CONNECTION_STRING": "postgres://db", "OPENCOST_CONNECTION_STRING": "http://opencost:9003",
			name: value,
		}
		if _, err := from(func(name string) string { return environment[name] }); err != nil {
			return err.Error()
		}
		return accepted
	}
}

// connected opens the database. SERVER in the string is the test server's host
// and port, NAME a database of it.
func connected(dsn string) door {
	return func(t *testing.T, _ *world, _ string) string {
		t.Helper()
		server := pgtest.Admin(t)
		database, _, _ := strings.Cut(pgtest.Empty(t), "?")
		meant := []string{
			"SERVER", fmt.Sprintf("%s:%d", server.Host, server.Port), "NAME", database[strings.LastIndexByte(database, '/')+1:], "USER", server.User, "FOLDER", t.TempDir(),
		}
		said := []string{meant[1], "SERVER", meant[3], "NAME", "user=" + server.User, "user=USER", meant[7], "FOLDER"}
		for _, without := range []string{"cannot assign requested address", "address family not supported by protocol"} { // A machine without IPv6.
			said = append(said, without, "connection refused")
		}
		dsn := strings.NewReplacer(meant...).Replace(dsn)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		pool, err := postgres.Open(ctx, postgres.Config{DSN: dsn})
		if err != nil {
			return strings.NewReplacer(said...).Replace(err.Error())
		}
		pool.Close()
		return accepted
	}
}

// reached makes a client of OpenCost and returns what it would ask for.
func reached(url string) door {
	return func(t *testing.T, _ *world, _ string) string {
		t.Helper()
		asked := ""
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			user, password, _ := r.BasicAuth()
			asked = strings.TrimPrefix(user+":"+password+"@", ":@") + r.URL.Path
		}))
		defer server.Close()
		address := strings.TrimPrefix(server.URL, "http://")
		c, err := opencost.New(strings.ReplaceAll(url, "SERVER", address), opencost.Options{Timeout: time.Minute})
		if err != nil {
			return strings.ReplaceAll(err.Error(), address, "SERVER")
		}
		for range c.Allocations(t.Context(), opencost.Query{Start: pinned, End: pinned.Add(time.Hour), Aggregate: "namespace,pod,container", Step: "1h"}) {
			break // An empty answer is broken; what was asked is known by now.
		}
		return asked
	}
}

var pinned = time.Date(2026, time.April, 1, 10, 0, 0, 0, time.UTC)

// item is one of OpenCost, sound as it is.
const item = `"default/api-1/main":{"name":"default/api-1/main","properties":{"cluster":"one","node":"n","container":"main","controller":"api","controllerKind":"deployment","namespace":"default","pod":"api-1"},` +
	`"window":{"start":"2026-04-01T10:00:00Z","end":"2026-04-01T11:00:00Z"},"start":"2026-04-01T10:00:00Z","end":"2026-04-01T11:00:00Z","minutes":60,` +
	`"cpuCores":0.5,"cpuCoreRequestAverage":0.5,"cpuCoreUsageAverage":0.25,"cpuCoreHours":0.5,"cpuCost":0.01,"gpuCount":0,"gpuHours":0,"ramByteUsageAverage":1048576,"ramByteHours":1048576,"pvByteHours":0,` +
	`"networkTransferBytes":10,"networkReceiveBytes":20,"totalCost":0.01}`

// measured has OpenCost answer with the item, changed, and collects the hour. It
// returns the error or, if there is none, what was stored. After an error
// nothing may be.
func measured(changes ...string) door { return collected(pinned, changes...) }

func collected(scheduled time.Time, changes ...string) door {
	return answered(scheduled, http.StatusOK, `{"code":200,"data":[{`+strings.NewReplacer(changes...).Replace(item)+`}]}`)
}

// answered has OpenCost answer with a body and collects the hour.
func answered(scheduled time.Time, code int, body string) door {
	return func(t *testing.T, w *world, _ string) string {
		t.Helper()
		cluster := w.cluster()
		server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
			out.WriteHeader(code)
			_, _ = out.Write([]byte(body))
		}))
		defer server.Close()
		source, err := opencost.New(server.URL, opencost.Options{Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		settings, err := allocation.FromEnvironment(func(name string) string {
			return map[string]string{
				"COSTJOB_NAMESPACE": "finops", "COSTJOB_NAME": "hourly", "POSTGRES_CONNECTION_STRING": "postgres://db", "OPENCOST_CONNECTION_STRING": server.URL,
				"HOURS_LOOKBACK": "0", "MAX_BACKFILL_HOURS": "0", "SCHEDULED_TIMESTAMP": scheduled.Format(time.RFC3339), "CLUSTER_ID": cluster,
			}[name]
		})
		if err != nil {
			return err.Error()
		}
		err = (&allocation.Job{
			Settings: settings, Clock: clocktesting.NewFakePassiveClock(pinned.Add(30 * time.Second)), Log: logr.Discard(), Source: source, Kube: collectorKube(),
			Connect: func(ctx context.Context) (*pgxpool.Pool, error) {
				return postgres.Open(ctx, postgres.Config{DSN: w.db.DSN})
			},
		}).Run(t.Context())
		stored := rows(t, w.db.Pool, cluster)
		if err != nil {
			if len(stored) > 0 {
				t.Errorf("a part of the hour was stored: %q", stored)
			}
			text, _, _ := strings.Cut(err.Error(), "; it begins ") // It quotes what came.
			return strings.ReplaceAll(text, strings.TrimPrefix(server.URL, "http://"), "SERVER")
		}
		if len(stored) == 0 {
			return "nothing stored, the hour is " + state(t, w.db.Pool, cluster)
		}
		return "stored " + strings.Join(stored, ", ")
	}
}

// collectorKube is an API server with what an allocation run reads.
func collectorKube() client.Client {
	job := &v1alpha1.CostJob{ObjectMeta: metav1.ObjectMeta{Namespace: "finops", Name: "hourly"}}
	book := &v1alpha1.PriceBook{
		ObjectMeta: metav1.ObjectMeta{Namespace: "finops", Name: "tariff", UID: "00000000-0000-4000-8000-0000000000b0", Generation: 1},
		Spec:       v1alpha1.PriceBookSpec{Currency: "EUR", ValuationMode: v1alpha1.ValuationModeCurrency, Rates: &v1alpha1.PriceRates{CPUHour: "1"}},
		Status:     v1alpha1.PriceBookStatus{Active: true},
	}
	return fake.NewClientBuilder().WithScheme(apitest.Scheme()).WithStatusSubresource(job, book).WithObjects(job, book).Build()
}

// rows are what was stored: each name with its usage of CPU, and for how long.
func rows(t *testing.T, pool *pgxpool.Pool, cluster string) []string {
	t.Helper()
	found, err := pool.Query(t.Context(), `SELECT name || ': ' || cpu_core_usage_avg || ' for ' || (alloc_end - alloc_start)
		FROM provider_allocations WHERE cluster_id = $1 ORDER BY name`, cluster)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(found, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// state is what is recorded of the hour.
func state(t *testing.T, pool *pgxpool.Pool, cluster string) string {
	t.Helper()
	var s string
	if err := pool.QueryRow(t.Context(), "SELECT state FROM allocation_hours WHERE cluster_id = $1 AND hour = $2", cluster, pinned).Scan(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

// long is what nobody wants to read in full.
var long = regexp.MustCompile("x{100,}")

func short(text string) string { return long.ReplaceAllString(text, "x…") }

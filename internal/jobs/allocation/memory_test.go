package allocation

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/jackc/pgx/v5/pgxpool"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/clients/opencost"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// What a collecting process is told by the test that measures it.
const (
	collectFrom = "FINOPS_TEST_COLLECT_FROM" // The URL of an OpenCost, and of an API server.
	collectInto = "FINOPS_TEST_COLLECT_INTO" // A DSN.
)

// TestMain is the process that TestMemory measures, if it is told what to
// collect: one run, and nothing of a test around it.
func TestMain(m *testing.M) {
	if os.Getenv(collectFrom) == "" {
		os.Exit(apitest.Main(m))
	}
	if err := collectAndMeasure(os.Getenv(collectFrom), os.Getenv(collectInto)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// TestMemory runs a process that collects two hours of 50,000 containers, twice,
// and looks at the most memory it ever had, its program text included.
func TestMemory(t *testing.T) {
	const (
		containers = 50_000
		bound      = 64 << 20
	)
	database := pgtest.Database(t)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /allocation/compute", largeHours(containers))
	serveAPI(mux)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)

	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, pass := range []string{"first run", "replay"} {
		process := exec.CommandContext(t.Context(), executable)
		process.Env = append(os.Environ(), collectFrom+"="+server.URL, collectInto+"="+database.DSN)
		output, err := process.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", pass, err, output)
		}
		peak, err := strconv.ParseInt(strings.TrimSpace(string(output)), 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", pass, err)
		}
		t.Logf("%s: 2 hours of %d containers, at most %.1f MiB", pass, containers, float64(peak)/(1<<20))
		if peak > bound {
			t.Errorf("%s: the process had %d bytes, more than %d", pass, peak, bound)
		}
	}

	var rows int
	if err := database.Pool.QueryRow(t.Context(), "SELECT count(*) FROM provider_allocations").Scan(&rows); err != nil || rows != 2*containers {
		t.Errorf("%d rows (%v), want %d", rows, err, 2*containers)
	}
}

// collectAndMeasure runs once and prints how much memory that took.
func collectAndMeasure(from, into string) error {
	debug.SetMemoryLimit(34 << 20) // As the product's command does for its jobs.

	settings := defaults()
	settings.Limits.LookbackHours = 1
	settings.Hint.Scheduled = at(10).Format(time.RFC3339)
	settings.Timeouts.OpenCostFetch, settings.Timeouts.HTTPClient = 10*time.Minute, 10*time.Minute

	source, err := opencost.New(from, opencost.Options{Timeout: settings.Timeouts.HTTPClient})
	if err != nil {
		return err
	}
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []schema.GroupVersionKind{v1alpha1.CostJobGroupVersionKind, v1alpha1.PriceBookGroupVersionKind} {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	kube, err := client.New(&rest.Config{Host: from}, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return err
	}
	job := &Job{
		Settings: settings, Clock: clocktesting.NewFakePassiveClock(at(10).Add(time.Second)), Log: logr.Discard(), Source: source,
		Kube: kube,
		Connect: func(ctx context.Context) (*pgxpool.Pool, error) {
			return postgres.Open(ctx, postgres.Config{DSN: into})
		},
	}
	if err := job.Run(context.Background()); err != nil {
		return err
	}

	status, err := os.Open("/proc/self/status")
	if err != nil {
		return err
	}
	defer status.Close() //nolint:errcheck // It was only read.
	for lines := bufio.NewScanner(status); lines.Scan(); {
		var kilobytes int64
		if _, err := fmt.Sscanf(lines.Text(), "VmHWM: %d kB", &kilobytes); err == nil {
			fmt.Println(kilobytes << 10) //nolint:forbidigo // This is what the process is for.
			return nil
		}
	}
	return fmt.Errorf("the kernel does not say how much memory the process had")
}

// serveAPI answers the three requests that a run sends to an API server.
func serveAPI(mux *http.ServeMux) {
	const group = "/apis/finops.stakater.com/v1alpha1"
	answer := func(object any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(object)
		}
	}

	costJob := newCostJob()
	costJob.ResourceVersion = "1"
	costJob.SetGroupVersionKind(v1alpha1.CostJobGroupVersionKind)
	books := &v1alpha1.PriceBookList{Items: []v1alpha1.PriceBook{*priceBook("finops", "tariff", true)}}
	books.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("PriceBookList"))
	mux.HandleFunc("GET "+group+"/namespaces/finops/costjobs/hourly", answer(costJob))
	mux.HandleFunc("PATCH "+group+"/namespaces/finops/costjobs/hourly/status", answer(costJob))
	mux.HandleFunc("GET "+group+"/pricebooks", answer(books))
}

// largeHours answers every hour with many containers, some 1.7 kB each as real
// ones are, and never holds a whole answer.
func largeHours(containers int) http.HandlerFunc {
	var labels strings.Builder
	for n := range 16 {
		fmt.Fprintf(&labels, `"label_%02d_of_a_certain_length":"a value that is neither short nor long",`, n)
	}

	return func(w http.ResponseWriter, r *http.Request) {
		from, to, _ := strings.Cut(r.URL.Query().Get("window"), ",")
		out := bufio.NewWriterSize(w, 1<<16)
		defer out.Flush() //nolint:errcheck // The reader notices.

		_, _ = fmt.Fprint(out, `{"code":200,"status":"success","data":[{`)
		for n := range containers {
			if n > 0 {
				_, _ = fmt.Fprint(out, ",")
			}
			name := fmt.Sprintf("namespace-%03d/workload-%05d-5f6c8d9b7-hh4tt/container", n/4%200, n)
			_, _ = fmt.Fprintf(out, `%q:{"name":%q,"properties":{"cluster":"one","node":"node-%d","controller":"workload-%05d","controllerKind":"deployment","labels":{%s"x":""}},`+
				`"window":{"start":%q,"end":%q},"start":%q,"end":%q,"minutes":60,"cpuCores":0.89693,"cpuCoreRequestAverage":0.5,"cpuCoreUsageAverage":%d.17558,`+
				`"cpuCoreHours":0.07474,"cpuCost":0.00236,"ramByteUsageAverage":%d.63636,"pvByteHours":%d,"pvs":null,"networkTransferBytes":96697214.59091,"networkReceiveBytes":56406708.63636,"totalCost":0.05691}`,
				name, name, n%50, n/4, labels.String(), from, to, from, to, n%4, 1000000+n, n%3*1073741824)
		}
		_, _ = fmt.Fprint(out, `}]}`)
	}
}

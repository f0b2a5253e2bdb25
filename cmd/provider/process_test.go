package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/finops/collection"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
	"github.com/provider-finops/provider-finops/internal/testkit/invariants"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// pinned is the hour that processes of the product work on here, and soonAfter
// when they do.
const (
	pinned    = "2026-04-01T12:00:00Z"
	soonAfter = "2026-04-01T12:00:30Z"
)

// A ground is all that the product as a process has around it.
type ground struct {
	client.Client

	t        *testing.T
	db       pgtest.DB
	dsn      string // The database's, unless processes are given another one.
	opencost string // Its URL.
}

// newGround has an OpenCost that says of every hour that one thing ran for all of it.
func newGround(t *testing.T) *ground {
	t.Helper()
	db := pgtest.Database(t)
	opencost := httptest.NewServer(http.HandlerFunc(oneThingRan))
	t.Cleanup(opencost.Close)
	return &ground{Client: apitest.Client(t), t: t, db: db, dsn: db.DSN, opencost: opencost.URL}
}

// run runs a part of the test, to which everything belongs that is made in it.
func (g *ground) run(name string, part func(t *testing.T)) {
	outer := g.t
	defer func() { g.t = outer }()
	outer.Run(name, func(t *testing.T) {
		g.t = t
		part(t)
	})
}

func oneThingRan(w http.ResponseWriter, r *http.Request) {
	from, to, _ := strings.Cut(r.URL.Query().Get("window"), ",")
	_, _ = fmt.Fprintf(w, `{"code":200,"data":[{"shop/web-1/app":{"name":"shop/web-1/app","properties":{"controller":"web","controllerKind":"deployment"},`+
		`"window":{"start":%[1]q,"end":%[2]q},"start":%[1]q,"end":%[2]q,"minutes":60,"cpuCoreUsageAverage":0.25}}]}`, from, to)
}

// costJob creates one, whose runs are recorded on it.
func (g *ground) costJob() *v1alpha1.CostJob {
	g.t.Helper()
	j := &v1alpha1.CostJob{ObjectMeta: metav1.ObjectMeta{Namespace: apitest.Namespace(g.t, g), Name: "hourly"}}
	g.create(j)
	return j
}

func (g *ground) create(objects ...client.Object) {
	g.t.Helper()
	for _, o := range objects {
		if err := g.Create(g.t.Context(), o); err != nil {
			g.t.Fatal(err)
		}
	}
}

// subscribe creates a Subscription that is gone with the test: charge runs look at
// everybody.
func (g *ground) subscribe(s *v1alpha1.Subscription) {
	g.t.Helper()
	g.create(s)
	t := g.t
	t.Cleanup(func() {
		released := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		for _, err := range []error{g.Patch(context.Background(), s, released), g.Delete(context.Background(), s)} {
			if client.IgnoreNotFound(err) != nil {
				t.Errorf("cannot remove Subscription %s: %v", s.Name, err)
			}
		}
	})
}

// records are those of a CostJob, the newest first, in words.
func (g *ground) records(j *v1alpha1.CostJob) []string {
	g.t.Helper()
	if err := g.Get(g.t.Context(), client.ObjectKeyFromObject(j), j); err != nil {
		g.t.Fatal(err)
	}
	words := make([]string, 0, len(j.Status.ExecutionHistory))
	for _, r := range j.Status.ExecutionHistory {
		words = append(words, strings.TrimSpace(string(r.Status)+" "+r.Error))
	}
	return words
}

// lines is a query of one text column.
func (g *ground) lines(sql string, args ...any) []string {
	g.t.Helper()
	rows, err := g.db.Pool.Query(g.t.Context(), sql, args...)
	if err != nil {
		g.t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		g.t.Fatal(err)
	}
	return lines
}

// world is what the invariants look at: the rows of one cluster id.
func (g *ground) world(cluster string) invariants.World {
	return invariants.World{API: g, DB: g.db.Pool, Cluster: cluster, Aggregation: collection.DefaultAggregation}
}

// environment is what a process finds its way with, through the wires of a tap.
func (g *ground) environment(p *tap, cluster string, j *v1alpha1.CostJob) []string {
	g.t.Helper()
	dsn, err := url.Parse(g.dsn)
	if err != nil {
		g.t.Fatal(err)
	}
	dsn.Host = p.wire(g.t, dsn.Host)
	config := apitest.Kubeconfig(g.t, "process")
	text, err := os.ReadFile(config)
	if err != nil {
		g.t.Fatal(err)
	}
	server := strings.Trim(strings.TrimPrefix(apitest.Config(g.t).Host, "https:"), "/")
	_, port, err := net.SplitHostPort(p.wire(g.t, server))
	if err != nil {
		g.t.Fatal(err)
	}
	host, _, err := net.SplitHostPort(server)
	if err != nil {
		g.t.Fatal(err)
	}
	if err := os.WriteFile(config, bytes.ReplaceAll(text, []byte(server), []byte(net.JoinHostPort(host, port))), 0o600); err != nil {
		g.t.Fatal(err)
	}
	env := []string{
		asItself + "=yes", "KUBECONFIG=" + config, "POSTGRES_CONNECTION_STRING=" + dsn.String(), "CLUSTER_ID=" + cluster,
		"OPENCOST_CONNECTION_STRING=" + g.opencost, "OPENCOST_DEPLOYMENT_NAME=opencost", "OPENCOST_DEPLOYMENT_NAMESPACE=opencost",
		"ENABLE_WEBHOOKS=false", "POD_NAMESPACE=default", "SCHEDULED_TIMESTAMP=" + pinned, "TMPDIR=" + g.t.TempDir(),
	}
	if j != nil {
		env = append(env, "COSTJOB_NAMESPACE="+j.Namespace, "COSTJOB_NAME="+j.Name)
	}
	return env
}

// moved is the flag by which a process thinks that it is some moment now.
func moved(t *testing.T, to string) string {
	t.Helper()
	moment, err := time.Parse(time.RFC3339, to)
	if err != nil {
		t.Fatal(err)
	}
	return "--clock-offset=" + time.Until(moment).Round(time.Second).String()
}

// A process is the product as one.
type process struct {
	*exec.Cmd

	t    *testing.T
	said bytes.Buffer
}

func launch(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.CommandContext(context.Background(), os.Args[0], args...), t: t}
	p.Env, p.Stdout, p.Stderr = env, &p.said, &p.said
	p.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() }) // It has ended, as a rule.
	return p
}

// hadNoTime reports whether a run says that it could not write its record: one that
// was told to stop has some seconds for that, which a busy machine may not give it.
func (p *process) hadNoTime() bool { return strings.Contains(p.said.String(), "cannot record the run") }

// ends waits for its exit code. It is given up after some minutes.
func (p *process) ends() int {
	p.t.Helper()
	late := time.AfterFunc(5*time.Minute, func() {
		p.t.Error("it does not end")
		_ = p.Process.Signal(syscall.SIGQUIT) // It says where it is.
	})
	defer late.Stop()
	_ = p.Wait() // The code says it all.
	return p.ProcessState.ExitCode()
}

package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/clients/postgres"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// TestAllocationMode runs the collector as its pod does, in a process of its own,
// against a real API server and a real database: what the exit code is, and what
// the CostJob says of the run (OPEN-CJ-26).
func TestAllocationMode(t *testing.T) {
	empty := func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, `{"code":200,"data":[{}]}`) }
	launched := make(chan *process, 1) // Who is to be drained.

	cases := map[string]struct {
		reason  string
		answer  http.HandlerFunc
		without string // A variable.
		locked  bool
		twin    bool // Another cluster has used the id before.
		drained bool // Once OpenCost has been asked.
		code    int
		said    string
		record  string // Status and beginning of the error of the one record.
	}{
		"Success": {
			reason: "A run that could ask for every hour is a success, empty ones included.",
			answer: empty,
			record: "Success ",
		},
		"HourFails": {
			reason: "An hour that failed fails the run, so that its Job shows it.",
			answer: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusServiceUnavailable) },
			code:   1,
			said:   "cannot collect 6 of 6 hours",
			record: "Failed cannot collect 6 of 6 hours",
		},
		"Interrupted": {
			reason: "A node that is drained sends SIGTERM: the run ends at once, and is recorded all the same.",
			answer: func(_ http.ResponseWriter, r *http.Request) {
				select {
				case p := <-launched:
					if err := p.Process.Signal(syscall.SIGTERM); err != nil {
						t.Error(err)
					}
				case <-r.Context().Done():
				}
				<-r.Context().Done()
			},
			drained: true,
			code:    1,
			said:    "the run was interrupted",
			record:  "Failed the run was interrupted",
		},
		"AnotherIsRunning": {
			reason: "A run that leaves the work to another has not failed, and has nothing to tell.",
			answer: empty,
			locked: true,
		},
		"AnotherCluster": {
			reason: "The rows of its cluster id are another cluster's: it touches none, and says why (opencost#3823).",
			answer: empty,
			twin:   true,
			code:   1,
			said:   `cannot use cluster id "default": it is another cluster's`,
			record: `Failed cannot use cluster id "default": it is another cluster's`,
		},
		"NoOpenCost": {
			reason:  "Without a variable it cannot start, and says which.",
			answer:  empty,
			without: "OPENCOST_CONNECTION_STRING",
			code:    2,
			said:    "OPENCOST_CONNECTION_STRING",
		},
	}

	config := apitest.Kubeconfig(t, "collector")
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			kube, database := apitest.Client(t), pgtest.Database(t)
			costJob := &v1alpha1.CostJob{ObjectMeta: metav1.ObjectMeta{Namespace: apitest.Namespace(t, kube), Name: "hourly"}}
			if err := kube.Create(t.Context(), costJob); err != nil {
				t.Fatal(err)
			}
			opencost := httptest.NewServer(tc.answer)
			t.Cleanup(opencost.Close)
			env := []string{
				asItself + "=yes", "KUBECONFIG=" + config, "COSTJOB_NAMESPACE=" + costJob.Namespace, "COSTJOB_NAME=" + costJob.Name,
				"POSTGRES_CONNECTION_STRING=" + database.DSN, "OPENCOST_CONNECTION_STRING=" + opencost.URL,
				"HOURS_LOOKBACK=5", "TMPDIR=" + t.TempDir(),
			}
			env = slices.DeleteFunc(env, func(v string) bool { return tc.without != "" && strings.HasPrefix(v, tc.without+"=") })

			if tc.twin {
				env = append(env, "CLUSTER_IDENTITY=the second")
				if err := postgres.ClaimCluster(t.Context(), database.Pool, postgres.Owner{ClusterID: "default", Identity: "the first"}); err != nil {
					t.Fatal(err)
				}
			}

			var code int
			var p *process
			collect := func(context.Context) error {
				p = launch(t, env, "--mode="+modeAllocation) //nolint:contextcheck // It is told to stop by a signal.
				if tc.drained {
					launched <- p
				}
				code = p.ends()
				return nil
			}
			if tc.locked {
				env = append(env, "DATABASE_INIT_TIMEOUT=15s") // It also has to connect in that time.
				key := postgres.LockKey{Work: "allocation-collection", Scope: "default"}
				if err := postgres.WithLock(t.Context(), database.Pool, key, time.Minute, collect); err != nil {
					t.Fatal(err)
				}
			} else {
				_ = collect(t.Context())
			}

			if diff := cmp.Diff(tc.code, code); diff != "" || !strings.Contains(p.said.String(), tc.said) {
				t.Errorf("%s\nexit code: -want, +got:\n%s%s", tc.reason, diff, &p.said)
			}
			if tc.drained && p.hadNoTime() {
				tc.record = ""
			}
			if err := kube.Get(t.Context(), client.ObjectKeyFromObject(costJob), costJob); err != nil {
				t.Fatal(err)
			}
			record := ""
			if history := costJob.Status.ExecutionHistory; len(history) == 1 {
				record = string(history[0].Status) + " " + history[0].Error
			}
			if !strings.HasPrefix(record, tc.record) || (tc.record == "") != (len(costJob.Status.ExecutionHistory) == 0) {
				t.Errorf("%s\nthe CostJob says %+v, want %q", tc.reason, costJob.Status.ExecutionHistory, tc.record)
			}
		})
	}
}

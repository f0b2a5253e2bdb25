package allocation

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// A namespaced OpenCost answers by namespaces: it lists them, and filters by
// them if it is recent enough.
type namespaced struct {
	workloads     []string
	ignoresFilter bool
	newcomer      string                                 // There from the second query on, the discovery being the first.
	spoil         func(http.ResponseWriter, string) bool // Answers queries with some filters itself.

	mu      sync.Mutex
	queries []string // "aggregate filter" of each.
	at      int      // How many are being answered, and at most were.
	most    int
}

// answer is for one hour.
func (o *namespaced) answer(h time.Time) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		aggregate, filter := r.URL.Query().Get("aggregate"), r.URL.Query().Get("filter")
		o.mu.Lock()
		o.queries = append(o.queries, strings.TrimSpace(aggregate+" "+filter))
		o.at++
		o.most = max(o.most, o.at)
		workloads := slices.Clone(o.workloads)
		if o.newcomer != "" && len(o.queries) > 1 {
			workloads = append(workloads, o.newcomer)
		}
		o.mu.Unlock()
		defer func() { o.mu.Lock(); defer o.mu.Unlock(); o.at-- }()

		if o.spoil != nil && o.spoil(w, filter) {
			return
		}
		if filter != "" && !o.ignoresFilter {
			workloads = slices.DeleteFunc(workloads, func(w string) bool { return !strings.Contains(filter, `"`+namespaceOf(w)+`"`) })
		}
		if aggregate == "namespace" {
			for i, workload := range workloads {
				workloads[i] = namespaceOf(workload) + " x 1"
			}
			slices.Sort(workloads)
			workloads = slices.Compact(workloads)
		}
		items(h, workloads...)(w, r)
	}
}

func namespaceOf(workload string) string {
	namespace, _, _ := strings.Cut(strings.Fields(workload)[0], "/")
	return namespace
}

// manyNamespaces are workloads of eleven namespaces, OpenCost's own among them.
func manyNamespaces() []string {
	all := []string{"__unmounted__/__unmounted__/__unmounted__ none 0.00007", "__idle__ none 3"}
	for n := range 9 {
		for pod := range n + 1 {
			all = append(all, fmt.Sprintf("team-%d/web-%d/app web 0.%d", n, pod, n+1))
		}
	}
	return all
}

// TestSharded collects three hours by shards, and wants the rows of an
// undivided run, whatever the server does with a filter.
func TestSharded(t *testing.T) {
	cases := map[string]struct {
		reason   string
		opencost *namespaced
		shards   int32
		queries  []string // Of the last hour, sorted.
		failed   string   // How the run ends, if it does not succeed.
	}{
		"Filters": {
			reason: "Each namespace is asked for once, by sorted groups, and the discovery is repeated.",
			shards: 4,
			queries: []string{
				"namespace", "namespace",
				`namespace,pod,container namespace:"__idle__","__unmounted__","team-0","team-1"`,
				`namespace,pod,container namespace:"team-2","team-3","team-4","team-5"`,
				`namespace,pod,container namespace:"team-6","team-7","team-8"`,
			},
		},
		"IgnoresFilter": {
			reason:   "A server that answers every shard with the whole hour multiplies nothing.",
			opencost: &namespaced{ignoresFilter: true},
			shards:   6,
			queries: []string{
				"namespace", "namespace",
				`namespace,pod,container namespace:"__idle__","__unmounted__","team-0","team-1","team-2","team-3"`,
				`namespace,pod,container namespace:"team-4","team-5","team-6","team-7","team-8"`,
			},
		},
		"OneForAll": {
			reason: "A shard may hold every namespace.",
			shards: 100,
			queries: []string{
				"namespace", "namespace",
				`namespace,pod,container namespace:"__idle__","__unmounted__","team-0","team-1","team-2","team-3","team-4","team-5","team-6","team-7","team-8"`,
			},
		},
		"NewNamespace": {
			reason:   "One that appears after the discovery is found by the next one.",
			opencost: &namespaced{newcomer: "late/web-1/app web 5"},
			shards:   100,
		},
		"NewNamespaceUnfiltered": {
			reason:   "Or by what an old server tells unasked.",
			opencost: &namespaced{newcomer: "late/web-1/app web 5", ignoresFilter: true},
			shards:   3,
		},
		"OneShardFails": {
			reason: "All or nothing: the hour fails as a whole.",
			opencost: &namespaced{spoil: func(w http.ResponseWriter, filter string) bool {
				if strings.Contains(filter, "team-5") {
					refused(w, nil)
					return true
				}
				return false
			}},
			shards: 2,
			failed: `shard 4 of 6, namespaces "team-4" to "team-5": cannot read the allocations`,
		},
		"DiscoveryFails": {
			reason: "Nobody knows what to ask for.",
			opencost: &namespaced{spoil: func(w http.ResponseWriter, filter string) bool {
				if filter == "" {
					refused(w, nil)
				}
				return filter == ""
			}},
			shards: 2,
			failed: `cannot discover the namespaces: cannot read the allocations`,
		},
		"SomethingElseUnderACut": {
			reason: "Half an answer to one shard is no answer, though the others were whole.",
			opencost: &namespaced{spoil: func(w http.ResponseWriter, filter string) bool {
				if !strings.Contains(filter, "team-8") {
					return false
				}
				whole := document(at(10), "team-8/web-0/app web 1", "team-8/web-1/app web 1")
				_, _ = fmt.Fprint(w, whole[:len(whole)-3])
				return true
			}},
			shards: 3,
			failed: "it is cut off",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			undivided := newWorld(t)
			undivided.settings.Limits.LookbackHours = 2
			sharded := newWorld(t)
			sharded.settings.Limits.LookbackHours = 2
			sharded.shard(tc.shards, 3)
			if tc.opencost == nil {
				tc.opencost = &namespaced{}
			}
			tc.opencost.workloads = manyNamespaces()
			all := tc.opencost.workloads
			if tc.opencost.newcomer != "" {
				all = append(slices.Clone(all), tc.opencost.newcomer)
			}
			for n := 8; n <= 10; n++ {
				undivided.opencost.answer(n, items(at(n), all...))
				sharded.opencost.answer(n, items(at(n), all...))
			}
			// Hours 8 and 9 are answered by servers of their own.
			others := []*namespaced{{workloads: all}, {workloads: all, ignoresFilter: true}}
			for n, o := range others {
				sharded.opencost.answer(8+n, o.answer(at(8+n)))
			}
			sharded.opencost.answer(10, tc.opencost.answer(at(10)))

			if tc.failed != "" {
				undivided.opencost.answer(10, refused)
				undivided.fail(10)
				sharded.fail(10)
				last := sharded.costJob().Status.ExecutionHistory[0].Error
				if !strings.Contains(last, tc.failed) {
					t.Errorf("%s\nthe run ended with %q, want %q in it", tc.reason, last, tc.failed)
				}
			} else {
				undivided.collect(10)
				sharded.collect(10)
			}
			if diff := cmp.Diff(withoutErrors(undivided.dump()), withoutErrors(sharded.dump())); diff != "" {
				t.Errorf("%s\n-undivided, +sharded:\n%s", tc.reason, diff)
			}
			slices.Sort(tc.opencost.queries)
			if diff := cmp.Diff(tc.queries, tc.opencost.queries); tc.queries != nil && diff != "" {
				t.Errorf("%s\nqueries: -want, +got:\n%s", tc.reason, diff)
			}
			if tc.opencost.most > 3 {
				t.Errorf("%s\n%d queries at once, more than 3", tc.reason, tc.opencost.most)
			}

			if tc.failed != "" {
				return
			}
			before := sharded.dump()
			sharded.collect(10)
			if diff := cmp.Diff(before, sharded.dump()); diff != "" {
				t.Errorf("%s\n-first run, +replay:\n%s", tc.reason, diff)
			}
		})
	}
}

// withoutErrors leaves out what the ledger says about a failure.
func withoutErrors(dump []string) []string {
	all := make([]string, 0, len(dump))
	for _, line := range dump {
		head, _, _ := strings.Cut(line, `"last_error": "`)
		all = append(all, head)
	}
	return all
}

// TestNamespacesKeepAppearing bounds the rounds: an hour that never comes to
// rest fails, and says so.
func TestNamespacesKeepAppearing(t *testing.T) {
	w := newWorld(t)
	w.settings.Limits.LookbackHours = 0
	w.shard(25, 4)
	var mu sync.Mutex
	queries := 0
	w.opencost.answer(10, func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		queries++
		newest := queries
		mu.Unlock()
		items(at(10), fmt.Sprintf("team-%d x 1", newest))(rw, r)
	})
	w.fail(10)
	if got := w.costJob().Status.ExecutionHistory[0].Error; !strings.Contains(got, "new ones appeared in each of 5 rounds") {
		t.Errorf("the run ended with %q", got)
	}
	if diff := cmp.Diff([]string{"10 failed 0 0"}, w.hours()); diff != "" {
		t.Errorf("hours: -want, +got:\n%s", diff)
	}
}

// shard makes the CostJob ask by groups of namespaces.
func (w *world) shard(namespaces, concurrency int32) {
	w.t.Helper()
	costJob := w.costJob()
	costJob.Spec.Sharding = &v1alpha1.CostJobSharding{NamespacesPerShard: namespaces, Concurrency: concurrency}
	if err := w.kube.Update(w.t.Context(), costJob); err != nil {
		w.t.Fatal(err)
	}
}

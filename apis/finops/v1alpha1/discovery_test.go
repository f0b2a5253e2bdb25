package v1alpha1_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// TestPrintColumns asks the server for the table that kubectl get prints.
func TestPrintColumns(t *testing.T) {
	c := apitest.Client(t)
	ns := apitest.Namespace(t, c)
	var conditions []any
	for kind, status := range map[string]string{"Synced": "False", "Ready": "True", "Active": "Unknown"} {
		conditions = append(conditions, map[string]any{
			"type": kind, "status": status, "reason": "Any", "message": "", "lastTransitionTime": "2026-04-01T09:00:00Z",
		})
	}

	cases := map[string]struct {
		manifest string
		path     string
		status   map[string]any
		columns  []string
		cells    []any
	}{
		"FinOpsProvider": {
			manifest: provider, path: "finopsproviders",
			status:  map[string]any{},
			columns: []string{"Name", "READY", "SYNCED", "AGE"},
			cells:   []any{"default", "True", "False"},
		},
		"PriceBook": {
			manifest: priceBook, path: "namespaces/" + ns + "/pricebooks",
			status:  map[string]any{"active": true, "ready": "True"},
			columns: []string{"Name", "Active", "Ready", "SYNCED", "AGE"},
			cells:   []any{"tariff-a", true, "True", "False"},
		},
		"CostJob": {
			manifest: costJob, path: "namespaces/" + ns + "/costjobs",
			status:  map[string]any{"lastExecutionStatus": "Success"},
			columns: []string{"Name", "Interval", "Last Status", "READY", "SYNCED", "AGE"},
			cells:   []any{"charges-hourly", "24h", "Success", "True", "False"},
		},
		"Offering": {
			manifest: offering, path: "namespaces/" + ns + "/offerings",
			status:  map[string]any{"ready": "False"},
			columns: []string{"Name", "Ready", "SYNCED", "AGE"},
			cells:   []any{"small-db-2026", "False", "False"},
		},
		"Subscription": {
			manifest: subscription, path: "namespaces/" + ns + "/subscriptions",
			status:  map[string]any{"ready": "True"},
			columns: []string{"Name", "Ready", "SYNCED", "AGE", "ACTIVE (wide)", "OFFERING (wide)"},
			cells:   []any{"team-blue-db", "True", "False", "Unknown", "small-db-2026"},
		},
	}
	for kind, tc := range cases {
		t.Run(kind, func(t *testing.T) {
			u := object(t, ns, tc.manifest)
			if err := c.Create(context.Background(), u); err != nil {
				t.Fatalf("cannot create: %v", err)
			}
			t.Cleanup(func() { _ = c.Delete(context.Background(), u) })
			tc.status["conditions"] = conditions
			u.Object["status"] = tc.status
			if err := c.Status().Update(context.Background(), u); err != nil {
				t.Fatalf("cannot update status: %v", err)
			}

			// A kind that has only just been defined may be listed from a cache
			// that is still being filled.
			var table *metav1.Table
			if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
				table = getTable(ctx, t, tc.path)
				return len(table.Rows) == 1, nil
			}); err != nil {
				t.Fatalf("want one row, got %d: %v", len(table.Rows), err)
			}
			var columns []string
			var cells []any // But for the age, which is another every time.
			for i, d := range table.ColumnDefinitions {
				name := d.Name
				if d.Priority > 0 {
					name += " (wide)"
				}
				columns = append(columns, name)
				if name != "AGE" {
					cells = append(cells, table.Rows[0].Cells[i])
				}
			}
			if diff := cmp.Diff(tc.columns, columns); diff != "" {
				t.Errorf("columns: -want, +got:\n%s", diff)
			}
			if diff := cmp.Diff(tc.cells, cells); diff != "" {
				t.Errorf("cells: -want, +got:\n%s", diff)
			}
		})
	}
}

func getTable(ctx context.Context, t *testing.T, path string) *metav1.Table {
	t.Helper()
	cfg := apitest.Config(t)
	h, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimSuffix(cfg.Host, "/") + "/apis/finops.stakater.com/v1alpha1/" + path
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	res, err := h.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	table := &metav1.Table{}
	if err := json.Unmarshal(body, table); err != nil {
		t.Fatalf("cannot read table: %v: %s", err, body)
	}

	return table
}

// TestDiscovery holds the served names against part 10: five kinds, their
// scope, one category, no short names, and a status of their own.
func TestDiscovery(t *testing.T) {
	d, err := discovery.NewDiscoveryClientForConfig(apitest.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	list, err := d.ServerResourcesForGroupVersion("finops.stakater.com/v1alpha1")
	if err != nil {
		t.Fatal(err)
	}

	type served struct {
		Name, Kind string
		Namespaced bool
		Categories []string
		ShortNames []string
	}
	got := make([]served, 0, len(list.APIResources))
	for _, r := range list.APIResources {
		got = append(got, served{r.Name, r.Kind, r.Namespaced, r.Categories, r.ShortNames})
	}
	slices.SortFunc(got, func(a, b served) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})

	finops := []string{"finops"}
	want := []served{
		{"costjobs", "CostJob", true, finops, nil},
		{"costjobs/status", "CostJob", true, nil, nil},
		{"finopsproviders", "FinOpsProvider", false, finops, nil},
		{"finopsproviders/status", "FinOpsProvider", false, nil, nil},
		{"offerings", "Offering", true, finops, nil},
		{"offerings/status", "Offering", true, nil, nil},
		{"pricebooks", "PriceBook", true, finops, nil},
		{"pricebooks/status", "PriceBook", true, nil, nil},
		{"subscriptions", "Subscription", true, finops, nil},
		{"subscriptions/status", "Subscription", true, nil, nil},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("served resources: -want, +got:\n%s", diff)
	}
}

// TestSelectableFields lists with selectors that only a selectable field makes
// the server understand.
func TestSelectableFields(t *testing.T) {
	c := apitest.Client(t)
	ns := apitest.Namespace(t, c)
	ctx := context.Background()

	for _, name := range []string{"ready", "unready"} {
		o, s := object(t, ns, offering), object(t, ns, subscription)
		o.SetName(name)
		s.SetName(name)
		apply(t, s, change{"spec.offeringRef.name", "offering-of-" + name})
		if err := c.Create(ctx, o); err != nil {
			t.Fatal(err)
		}
		if err := c.Create(ctx, s); err != nil {
			t.Fatal(err)
		}
		status := "True"
		if name == "unready" {
			status = "False"
		}
		apply(t, o, change{"status.ready", status})
		apply(t, s, change{"status.ready", status}, change{"status.compatibilityRoot", "root-of-" + name})
		if err := c.Status().Update(ctx, o); err != nil {
			t.Fatal(err)
		}
		if err := c.Status().Update(ctx, s); err != nil {
			t.Fatal(err)
		}
	}

	offerings := &v1alpha1.OfferingList{}
	byReady := &v1alpha1.SubscriptionList{}
	byRoot := &v1alpha1.SubscriptionList{}
	byOffering := &v1alpha1.SubscriptionList{}
	if err := c.List(ctx, offerings, client.InNamespace(ns), client.MatchingFields{"status.ready": "True"}); err != nil {
		t.Fatal(err)
	}
	if err := c.List(ctx, byReady, client.InNamespace(ns), client.MatchingFields{"status.ready": "True"}); err != nil {
		t.Fatal(err)
	}
	if err := c.List(ctx, byRoot, client.InNamespace(ns), client.MatchingFields{"status.compatibilityRoot": "root-of-unready"}); err != nil {
		t.Fatal(err)
	}
	if err := c.List(ctx, byOffering, client.InNamespace(ns), client.MatchingFields{
		"spec.offeringRef.name": "offering-of-unready", "spec.offeringRef.namespace": "catalogue",
	}); err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, o := range offerings.Items {
		got["offerings"] = append(got["offerings"], o.Name)
	}
	for _, s := range byReady.Items {
		got["byReady"] = append(got["byReady"], s.Name)
	}
	for _, s := range byRoot.Items {
		got["byRoot"] = append(got["byRoot"], s.Name)
	}
	for _, s := range byOffering.Items {
		got["byOffering"] = append(got["byOffering"], s.Name)
	}
	want := map[string][]string{"offerings": {"ready"}, "byReady": {"ready"}, "byRoot": {"unready"}, "byOffering": {"unready"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("selected: -want, +got:\n%s", diff)
	}
}

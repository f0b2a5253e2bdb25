package product

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// cronJobText is what an API server would say about a generated CronJob.
const cronJobText = `{"metadata": {"name": "charges-cronjob"}, "spec": {"jobTemplate": {"spec": {"template": {"spec": {"serviceAccountName": "runner", "containers": [
  {"name": "sidecar", "args": ["--wrong"]},
  {"name": "loader", "args": ["--mode=collectionjob", "--clock-offset=1h0m0s"], "env": [
    {"name": "CLUSTER_ID", "value": "default"},
    {"name": "EMPTY"},
    {"name": "POSTGRES_CONNECTION_STRING", "valueFrom": {"secretKeyRef": {"name": "charges-costjob-secret", "key": "POSTGRES_CONNECTION_STRING"}}},
    {"name": "SCHEDULED_TIMESTAMP", "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['batch.kubernetes.io/cronjob-scheduled-timestamp']"}}},
    {"name": "JOB_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['batch.kubernetes.io/job-name']"}}}]}]}}}}}}`

const secretText = `{"data": {"POSTGRES_CONNECTION_STRING": "cG9zdGdyZXM6Ly9h"}}`

func script(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// newProduct has a kubectl that knows one CronJob, given by its text, and one Secret.
func newProduct(t *testing.T, cronJob, binary string) *Product {
	t.Helper()
	kubectl := script(t, "kubectl", `
case "$*" in
"get --output=json cronjob charges-cronjob --namespace=system") cat <<'END'
`+cronJob+`
END
;;
"get --output=json secret charges-costjob-secret --namespace=system") echo '`+secretText+`' ;;
*) echo "no such object" >&2; exit 1 ;;
esac`)
	return &Product{
		Binary:  script(t, "provider-finops", binary),
		Kubectl: Kubectl{Path: kubectl, Kubeconfig: "/admin.kubeconfig"},
		Logs:    t.TempDir(),
		Credentials: func(_ context.Context, namespace, account string) (string, error) {
			return "/" + namespace + "-" + account + ".kubeconfig", nil
		},
	}
}

var at = time.Date(2026, 4, 1, 13, 0, 0, 0, time.UTC)

// A run has the container's arguments and variables, the clock of the harness, and
// nothing of the developer's that could lead it elsewhere.
func TestRunCostJob(t *testing.T) {
	t.Setenv("POSTGRES_CONNECTION_STRING", "postgres://production")
	t.Setenv("KUBECONFIG", "/home/me/production")
	t.Setenv("FINOPS_DB_SCHEMA", "mine")
	p := newProduct(t, cronJobText, `echo "args $*"; env | grep -v -e ^PWD= -e ^SHLVL= -e ^_= -e ^PATH= -e ^HOME= -e ^TMPDIR=`)
	p.offset.Store(int64(90 * time.Minute))
	usage, err := p.RunCostJob(t.Context(), "system", "charges", at)
	if err != nil {
		t.Fatal(err)
	}
	if usage.Wall <= 0 || usage.MemoryBytes <= 0 {
		t.Errorf("got usage %+v, want what the run took", usage)
	}
	log, err := os.ReadFile(filepath.Join(p.Logs, "charges-2026-04-01T13.log"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	slices.Sort(lines)
	want := []string{
		"CLUSTER_ID=default",
		"EMPTY=",
		"JOB_NAME=charges-cronjob-29584140", // The minutes since 1970, as a CronJob names its Jobs.
		"KUBECONFIG=/system-runner.kubeconfig",
		"POSTGRES_CONNECTION_STRING=postgres://a",
		"SCHEDULED_TIMESTAMP=2026-04-01T13:00:00Z",
		"args --mode=collectionjob --clock-offset=1h30m0s",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestRunCostJobFails(t *testing.T) {
	cases := map[string]struct {
		reason  string
		cronJob string
		binary  string
		name    string
		want    []string
	}{
		"Run": {
			reason:  "A run that fails shows the end of its log, and where the rest is.",
			cronJob: cronJobText, binary: "echo no database; exit 1", name: "charges",
			want: []string{"exit status 1", "no database", "charges-2026-04-01T13.log"},
		},
		"NoCronJob": {
			reason:  "A CostJob that was never reconciled has no CronJob.",
			cronJob: cronJobText, name: "allocations",
			want: []string{`cannot read the CronJob of CostJob "allocations"`, "no such object"},
		},
		"NoLoader": {
			reason:  "Without its container there is nothing to run.",
			cronJob: strings.ReplaceAll(cronJobText, `"loader"`, `"other"`), name: "charges",
			want: []string{`it has no container "loader"`},
		},
		"UnknownSource": {
			reason:  "A variable from somewhere else must not silently be empty.",
			cronJob: strings.ReplaceAll(cronJobText, "metadata.labels['batch.kubernetes.io/job-name']", "status.podIP"), name: "charges",
			want: []string{"variable JOB_NAME has a source that the harness does not know"},
		},
		"EmptySecret": {
			reason:  "Nor must a secret.",
			cronJob: strings.ReplaceAll(cronJobText, `"key": "POSTGRES_CONNECTION_STRING"`, `"key": "OTHER"`), name: "charges",
			want: []string{`secret "charges-costjob-secret" has nothing under "OTHER"`},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := newProduct(t, tc.cronJob, tc.binary).RunCostJob(t.Context(), "system", tc.name, at)
			for _, want := range tc.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s\ngot error %v, want it to say %q", tc.reason, err, want)
				}
			}
		})
	}
}

package product

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// podText is what an API server says of the pod of a Job that was made by hand:
// no annotation says for when, and its Job's name says nothing of it either.
const podText = `{"items": [
 {"metadata": {"name": "charges-now-old"}, "spec": {}, "status": {"phase": "Failed"}},
 {"metadata": {"name": "charges-now-x", "labels": {"batch.kubernetes.io/job-name": "charges-now"}}, "status": {"phase": "Pending"},
  "spec": {"serviceAccountName": "runner", "containers": [{"name": "loader", "args": ["--mode=collectionjob"], "env": [
    {"name": "POSTGRES_CONNECTION_STRING", "valueFrom": {"secretKeyRef": {"name": "charges-costjob-secret", "key": "POSTGRES_CONNECTION_STRING"}}},
    {"name": "SCHEDULED_TIMESTAMP", "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['batch.kubernetes.io/cronjob-scheduled-timestamp']"}}},
    {"name": "JOB_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['batch.kubernetes.io/job-name']"}}}]}]}}]}`

// newPodProduct has a kubectl that knows pods, given by their text, and writes
// down what it was told to change.
func newPodProduct(t *testing.T, pods, binary string) (p *Product, changes string) {
	t.Helper()
	p = newProduct(t, cronJobText, binary)
	changes = filepath.Join(t.TempDir(), "changes")
	p.Kubectl.Path = script(t, "kubectl", `
case "$*" in
"get --output=json pods --namespace=system --selector=batch.kubernetes.io/job-name=charges-now") cat <<'END'
`+pods+`
END
;;
"get --output=json secret charges-costjob-secret --namespace=system") echo '`+secretText+`' ;;
"patch job "*|"patch pod "*) echo "$*" >>`+changes+` ;;
*) echo "no such object: $*" >&2; exit 1 ;;
esac`)
	return p, changes
}

func TestRunJob(t *testing.T) {
	const resumed = `patch job charges-now --namespace=system --type=merge --patch={"spec":{"suspend":false}}`
	cases := map[string]struct {
		reason string
		pods   string
		binary string
		log    []string // Lines, sorted.
		status string
		err    string
	}{
		"Succeeds": {
			reason: "The pod's own variables and nothing else: for when it runs it is not told.",
			pods:   podText, binary: `echo "args $*"; env | grep -v -e ^PWD= -e ^SHLVL= -e ^_= -e ^PATH= -e ^HOME= -e ^TMPDIR=`,
			log: []string{
				"JOB_NAME=charges-now", "KUBECONFIG=/system-runner.kubeconfig", "POSTGRES_CONNECTION_STRING=postgres://a", "SCHEDULED_TIMESTAMP=",
				"args --mode=collectionjob --clock-offset=0s",
			},
			status: `patch pod charges-now-x --namespace=system --subresource=status --type=merge --patch={"status":{"phase":"Succeeded"}}`,
		},
		"Fails": {
			reason: "A run that fails is a pod that has failed; its Job makes another.",
			pods:   podText, binary: "echo no database; exit 1",
			log:    []string{"no database"},
			status: `patch pod charges-now-x --namespace=system --subresource=status --type=merge --patch={"status":{"phase":"Failed"}}`,
			err:    "exit status 1",
		},
		"NoLoader": {
			reason: "Without its container there is nothing to run.",
			pods:   strings.ReplaceAll(podText, `"loader"`, `"other"`),
			err:    `it has no container "loader"`,
		},
		"Command": {
			reason: "The image's entry point is what is tested.",
			pods:   strings.ReplaceAll(podText, `"args"`, `"command": ["sh"], "args"`),
			err:    "it has a command",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, changes := newPodProduct(t, tc.pods, tc.binary)
			_, err := p.RunJob(t.Context(), "system", "charges-now")
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("%s\ngot error %v, want it to say %q", tc.reason, err, tc.err)
			}
			for file, want := range map[string][]string{filepath.Join(p.Logs, "charges-now.log"): tc.log, changes: strings.Fields(resumed + " " + tc.status)} {
				text, _ := os.ReadFile(file)
				got := strings.Split(strings.TrimSpace(string(text)), "\n")
				if file == changes {
					got = strings.Fields(string(text))
				} else {
					slices.Sort(got)
				}
				if len(text) == 0 {
					got = nil
				}
				if diff := cmp.Diff(want, got, cmp.Transformer("NilIsEmpty", func(s []string) string { return strings.Join(s, "\n") })); diff != "" {
					t.Errorf("%s\n%s: -want, +got:\n%s", tc.reason, filepath.Base(file), diff)
				}
			}
		})
	}
}

package deployed

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// normal is a JSON document, given as text or as a value, in one form.
func normal(t *testing.T, document any) string {
	t.Helper()
	if text, ok := document.(string); ok {
		document = json.RawMessage(text)
	}
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	if text, err = json.MarshalIndent(value, "", "  "); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func read(t *testing.T, text string) object {
	t.Helper()
	var o object
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

const cronJob = `{"metadata": {"namespace": "system", "name": "charges-cronjob", "uid": "7"}, "spec": {"jobTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": {
	"backoffLimit": 2, "template": {"spec": {"serviceAccountName": "runner", "containers": [
		{"name": "sidecar", "args": ["--mode=other"]},
		{"name": "loader", "args": ["--mode=collectionjob"], "env": [
			{"name": "CLUSTER_ID", "value": "default"}, {"name": "SCHEDULED_TIMESTAMP", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}]}]}}}}}}`

func TestNewJob(t *testing.T) {
	hour := time.Date(2031, 3, 3, 9, 0, 0, 0, time.UTC)
	const own = `["--mode=collectionjob"]`
	cases := map[string]struct {
		reason string
		before string
		offset time.Duration
		args   string
	}{
		"MachineTime": {"Without a moved clock a run has the arguments of its CronJob.", own, 0, own},
		"Moved":       {"The run has the clock of the harness.", own, 90 * time.Minute, `["--mode=collectionjob", "--clock-offset=1h30m0s"]`},
		"MovedOn": {
			"The controller has yet to hear of it.", `["--clock-offset=1h0m0s", "--mode=collectionjob"]`,
			90 * time.Minute, `["--mode=collectionjob", "--clock-offset=1h30m0s"]`,
		},
		"MovedBack": {"The controller has yet to hear of it.", `["--mode=collectionjob", "--clock-offset=1h0m0s"]`, 0, own},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := newJob(read(t, strings.Replace(cronJob, own, tc.before, 1)), "charges-run-", hour, tc.offset)
			if err != nil {
				t.Fatal(err)
			}
			want := `{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"namespace": "system", "generateName": "charges-run-",
				"labels": {"a": "b"}, "annotations": {"cronjob.kubernetes.io/instantiate": "manual"},
				"ownerReferences": [{"apiVersion": "batch/v1", "kind": "CronJob", "name": "charges-cronjob", "uid": "7", "controller": true}]}, "spec": {
				"backoffLimit": 0, "template": {"spec": {"serviceAccountName": "runner", "containers": [
					{"name": "sidecar", "args": ["--mode=other"]},
					{"name": "loader", "args": ` + tc.args + `, "env": [
						{"name": "CLUSTER_ID", "value": "default"}, {"name": "SCHEDULED_TIMESTAMP", "value": "2031-03-03T09:00:00Z"}]}]}}}}`
			if diff := cmp.Diff(normal(t, want), normal(t, got)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
	if _, err := newJob(read(t, `{"metadata": {}}`), "x", hour, 0); err == nil {
		t.Error("want a CronJob without the container to be refused")
	}
}

// TestAgain makes a Job of what the API server has made of it.
func TestAgain(t *testing.T) {
	found := read(t, `{"metadata": {"namespace": "system", "name": "now", "uid": "1", "resourceVersion": "7", "annotations": {"a": "b"}, "ownerReferences": [{"name": "c"}]},
		"spec": {"suspend": true, "backoffLimit": 2, "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "1"}}, "template": {
			"metadata": {"labels": {"ours": "x", "controller-uid": "1", "job-name": "now", "batch.kubernetes.io/controller-uid": "1", "batch.kubernetes.io/job-name": "now"}},
			"spec": {"containers": [{"name": "loader", "args": ["--mode=cronjob"]}]}}}, "status": {"conditions": [{"type": "Suspended"}]}}`)
	want := `{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"namespace": "system", "name": "now", "annotations": {"a": "b"}, "ownerReferences": [{"name": "c"}]},
		"spec": {"suspend": false, "backoffLimit": 2, "template": {"metadata": {"labels": {"ours": "x"}},
			"spec": {"containers": [{"name": "loader", "args": ["--mode=cronjob", "--clock-offset=1h0m0s"]}]}}}}`
	got, err := again(found, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(normal(t, want), normal(t, got)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if _, err := again(read(t, `{}`), 0); err == nil {
		t.Error("want a Job without the container to be refused")
	}
}

// TestSettings shows what becomes of the container's variables and arguments.
func TestSettings(t *testing.T) {
	s, err := parseSettings([]string{"--poll=3s", "CLUSTER_ID=blue", "EMPTY="})
	if err != nil {
		t.Fatal(err)
	}
	found := []any{object{"name": "CLUSTER_ID", "value": "default"}, object{"name": "DSN", "valueFrom": object{"secretKeyRef": object{"name": "s"}}}}
	want := `[{"name": "DSN", "valueFrom": {"secretKeyRef": {"name": "s"}}}, {"name": "CLUSTER_ID", "value": "blue"}, {"name": "EMPTY", "value": ""}]`
	if diff := cmp.Diff(normal(t, want), normal(t, s.over(found))); diff != "" {
		t.Errorf("variables: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(2, len(found)); diff != "" {
		t.Errorf("what was found is changed: -want, +got:\n%s", diff)
	}

	p := Product{settings: s}
	if diff := cmp.Diff([]string{"--poll=3s"}, p.arguments()); diff != "" {
		t.Errorf("arguments at the machine's time: -want, +got:\n%s", diff)
	}
	p.offset.Store(int64(time.Hour))
	if diff := cmp.Diff([]string{"--clock-offset=1h0m0s", "--poll=3s"}, p.arguments()); diff != "" {
		t.Errorf("arguments at another: -want, +got:\n%s", diff)
	}
	if _, err := parseSettings([]string{"poll"}); err == nil {
		t.Error("want a word that is neither flag nor variable to be refused")
	}
}

// TestKustomization shows that an image of the user's own for the collectors is
// left alone, and that without one they have the controller's.
func TestKustomization(t *testing.T) {
	p := Product{Image: "provider-finops:dev"}
	for variable, want := range map[string]bool{"CLUSTER_ID=blue": true, "OPERATOR_IMAGE=other:1": false} {
		var err error
		if p.settings, err = parseSettings([]string{variable}); err != nil {
			t.Fatal(err)
		}
		_, got := p.kustomization("../base")["replacements"]
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: replaced: -want, +got:\n%s", variable, diff)
		}
	}
}

package testbed

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/cluster/replay"
	"github.com/provider-finops/provider-finops/cluster/toolbox"
)

func projectRoot(t *testing.T) string {
	t.Helper()
	root, err := toolbox.ProjectRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// A control plane does what CronJobs need: their Jobs, owned; and it leaves
// nothing behind.
func TestControlPlane(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Setenv(KubeconfigVariable, "")
	t.Setenv("KUBECONFIG", "/nonexistent/somebody-elses") // Never looked at.

	bed, err := Start(t.Context(), projectRoot(t), Parts{ControlPlane: true}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bed.Stop)
	kubectl := func(stdin string, args ...string) string {
		t.Helper()
		cmd := exec.Command(bed.Tools.Path("kubectl"), append(args, "--kubeconfig="+bed.Kubeconfig)...)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("kubectl %s: %v\n%s", args, err, out)
		}
		return string(out)
	}
	kubectl("", "create", "cronjob", "hourly", "--image=none", "--schedule=0 * * * *")
	kubectl("", "create", "job", "now", "--from=cronjob/hourly")
	kubectl("", "wait", "--for=jsonpath={.status.active}=1", "job/now", "--timeout=240s")
	kubectl("", "delete", "cronjob", "hourly", "--cascade=foreground", "--timeout=240s")
	if diff := cmp.Diff("No resources found in default namespace.\n", kubectl("", "get", "jobs,pods")); diff != "" {
		t.Errorf("left after the owner's deletion: -want, +got:\n%s", diff)
	}

	bed.Stop()
	left, err := filepath.Glob(filepath.Join(temporary, "*"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(0, len(left)); diff != "" {
		t.Errorf("files left: -want, +got:\n%s%v", diff, left)
	}
}

// What the user has named is taken, and neither started nor stopped.
func TestNamedParts(t *testing.T) {
	t.Setenv(PostgresVariable, "postgres://mine")
	t.Setenv(KubeconfigVariable, "/home/me/config")
	t.Setenv(toolbox.AssetsVariable, "")
	bed, err := Start(t.Context(), projectRoot(t), Parts{ControlPlane: true}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	bed.Stop()
	want := []string{"FINOPS_TEST_KUBECONFIG=/home/me/config", "FINOPS_TEST_POSTGRES=postgres://mine", "KUBECONFIG=/home/me/config"}
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(bed.Environment()))); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestReplay(t *testing.T) {
	t.Setenv(PostgresVariable, "")
	t.Setenv(KubeconfigVariable, "")
	bed, err := Start(t.Context(), projectRoot(t), Parts{Replay: &replay.Options{Now: time.Now}}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bed.Stop)
	response, err := http.Get(bed.OpenCost + "/allocation?window=bogus")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if diff := cmp.Diff(http.StatusBadRequest, response.StatusCode); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	bed.Stop()
	if response, err := http.Get(bed.OpenCost); err == nil {
		_ = response.Body.Close()
		t.Error("somebody still answers on the port")
	}
}

// A part that cannot start takes the others down with it.
func TestFailedStart(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Setenv(KubeconfigVariable, "")
	broken := t.TempDir()
	for _, program := range toolbox.ControlPlane {
		text := []byte("#!/bin/sh\necho no luck today\nexit 1\n")
		if err := os.WriteFile(filepath.Join(broken, program), text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(toolbox.AssetsVariable, broken)
	var progress bytes.Buffer
	_, err := Start(t.Context(), projectRoot(t), Parts{ControlPlane: true, Replay: &replay.Options{Now: time.Now}}, &progress)
	if err == nil || !strings.Contains(err.Error(), "no luck today") {
		t.Errorf("got error %v, want what the program said", err)
	}
	if left, _ := filepath.Glob(filepath.Join(temporary, "*")); len(left) > 0 {
		t.Errorf("files left: %v", left)
	}
}

package apitest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// The parts of Kubernetes' controller manager that tests may want.
const (
	CronJobs         = "cronjob-controller"
	Jobs             = "job-controller"
	GarbageCollector = "garbage-collector-controller"
	Namespaces       = "namespace-controller"
	RoleAggregation  = "clusterrole-aggregation-controller"
)

// ControllerManager runs the named controllers of Kubernetes until the test
// ends.
func ControllerManager(t testing.TB, controllers ...string) {
	t.Helper()
	env := start(t)
	user, err := env.AddUser(envtest.User{Name: "controller-manager", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		t.Fatalf("cannot add a user for the controller manager: %v", err)
	}
	kubeconfig, err := user.KubeConfig()
	if err != nil {
		t.Fatalf("cannot write a kubeconfig for the controller manager: %v", err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, kubeconfig, 0o600); err != nil {
		t.Fatalf("cannot store a kubeconfig for the controller manager: %v", err)
	}
	dir, err := assets()
	if err != nil {
		t.Fatal(err)
	}

	cmd := exec.Command(filepath.Join(dir, "kube-controller-manager"),
		"--kubeconfig="+file,
		"--leader-elect=false",
		"--secure-port=0",
		"--use-service-account-credentials=false",
		"--controllers="+strings.Join(controllers, ","))
	log, err := os.Create(filepath.Join(t.TempDir(), "controller-manager.log"))
	if err != nil {
		t.Fatalf("cannot open a log for the controller manager: %v", err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatalf("cannot start the controller manager: %v", err)
	}
	t.Cleanup(func() {
		end(t, cmd)
		_ = log.Close()
		if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("the controller manager said:\n%s", text)
		}
	})
}

// end asks a process to stop, and kills it if it does not.
func end(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("cannot stop process %d: %v", cmd.Process.Pid, err)
	}
	kill := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	_ = cmd.Wait() // It was told to stop, so how it ended says nothing.
}

package apitest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// Kubectl returns a function that runs kubectl against the server, as an
// administrator, with a text for its stdin, and returns what it prints.
func Kubectl(t testing.TB) func(stdin string, args ...string) (string, error) {
	t.Helper()
	env := start(t)
	user, err := env.AddUser(envtest.User{Name: "kubectl", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		t.Fatalf("cannot add a user for kubectl: %v", err)
	}
	kubeconfig, err := user.KubeConfig()
	if err != nil {
		t.Fatalf("cannot write a kubeconfig for kubectl: %v", err)
	}
	folder := t.TempDir()
	file := filepath.Join(folder, "kubeconfig")
	if err := os.WriteFile(file, kubeconfig, 0o600); err != nil {
		t.Fatalf("cannot store a kubeconfig for kubectl: %v", err)
	}
	dir, err := assets()
	if err != nil {
		t.Fatal(err)
	}
	return func(stdin string, args ...string) (string, error) {
		var out, complaint bytes.Buffer
		cmd := exec.Command(filepath.Join(dir, "kubectl"), args...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+file, "KUBECACHEDIR="+filepath.Join(folder, "cache"))
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &complaint
		if err := cmd.Run(); err != nil {
			return out.String(), fmt.Errorf("cannot run kubectl %s: %w\n%s", strings.Join(args, " "), err, &complaint)
		}
		return out.String(), nil
	}
}

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
	file := Kubeconfig(t, "kubectl")
	folder := filepath.Dir(file)
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

// Kubeconfig returns the file by which a process reaches the server, as an
// administrator of that name.
func Kubeconfig(t testing.TB, name string) string {
	t.Helper()
	user, err := start(t).AddUser(envtest.User{Name: name, Groups: []string{"system:masters"}}, nil)
	if err != nil {
		t.Fatalf("cannot add user %s: %v", name, err)
	}
	kubeconfig, err := user.KubeConfig()
	if err != nil {
		t.Fatalf("cannot write a kubeconfig for %s: %v", name, err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, kubeconfig, 0o600); err != nil {
		t.Fatalf("cannot store a kubeconfig for %s: %v", name, err)
	}
	return file
}

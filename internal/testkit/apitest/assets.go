package apitest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// assets returns the folder with the binaries of the control plane.
var assets = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv("KUBEBUILDER_ASSETS"); dir != "" {
		return dir, nil
	}
	root, err := Root()
	if err != nil {
		return "", err
	}

	cmd := exec.Command("go", "run", "-C", filepath.Join(root, "cluster"), "./cmd/harness", "assets")
	cmd.Stderr = os.Stderr // It says what it builds: that can take minutes.
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("cannot get the binaries of the control plane from the harness: %w", err)
	}

	return strings.TrimSpace(string(out)), nil
})

// Assets returns the folder with the binaries of the control plane, for what
// starts servers of its own.
func Assets(t testing.TB) string {
	t.Helper()
	dir, err := assets()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Root returns the top folder of the project, found upwards from the working
// directory of the test.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("cannot tell the working directory: %w", err)
	}
	for {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(mod, []byte("module github.com/provider-finops/provider-finops\n")) {
			return dir, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("cannot read go.mod of %q: %w", dir, err)
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("cannot find the project above the working directory")
		}
		dir = up
	}
}

// Package toolbox finds the programs of the test cluster: etcd, Kubernetes,
// kubectl, kwok and kuttl; Crossplane and its command line. It builds them from
// the tool modules beside it, once for each set of versions and flags, into the
// user's cache.
package toolbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// AssetsVariable names a folder with ready programs. envtest reads it too.
const AssetsVariable = "KUBEBUILDER_ASSETS"

// What programs are called that more than one set has.
const (
	etcd              = "etcd"
	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	kubectl           = "kubectl"
)

// The sets of programs people ask for.
var (
	Envtest      = []string{etcd, apiServer, kubectl}
	ControlPlane = []string{etcd, apiServer, controllerManager, kubectl}
	Kuttl        = []string{"kubectl-kuttl", kubectl}
	Node         = []string{"kube-scheduler", "kubelet"}
)

// A Toolbox is a folder with programs.
type Toolbox struct{ Dir string }

// Path is the full name of one program.
func (t Toolbox) Path(program string) string { return filepath.Join(t.Dir, program) }

// Open returns the folder that KUBEBUILDER_ASSETS names, or the cached one,
// built if it is missing. Progress is told what takes long. An error names the
// programs that are needed and not there.
func Open(ctx context.Context, root string, progress io.Writer, needed ...string) (Toolbox, error) {
	if dir := os.Getenv(AssetsVariable); dir != "" {
		box := Toolbox{Dir: dir}
		if missing := box.missing(needed); len(missing) > 0 {
			return Toolbox{}, fmt.Errorf("cannot use %s=%q: it lacks %s; unset the variable and the harness builds everything",
				AssetsVariable, dir, strings.Join(missing, ", "))
		}
		return box, nil
	}
	box, err := kubernetes.cached(ctx, root, progress)
	if err != nil {
		return Toolbox{}, err
	}
	if missing := box.missing(needed); len(missing) > 0 {
		return Toolbox{}, fmt.Errorf("cannot use %q: it lacks %s; remove the folder and try again", box.Dir, strings.Join(missing, ", "))
	}
	return box, nil
}

func (t Toolbox) missing(needed []string) []string {
	var missing []string
	for _, program := range needed {
		if info, err := os.Stat(t.Path(program)); err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			missing = append(missing, program)
		}
	}
	return missing
}

// ProjectRoot is the nearest folder from dir upwards that holds the tool module.
func ProjectRoot(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("cannot resolve folder %q: %w", dir, err)
	}
	for at := dir; ; at = filepath.Dir(at) {
		_, err := os.Stat(filepath.Join(at, modulePath, "go.mod"))
		if err == nil {
			return at, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("cannot look for the project in %q: %w", at, err)
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("cannot find the project: neither %q nor a folder above it has %s/go.mod; call the harness from inside the repository", dir, modulePath)
		}
	}
}

package toolbox

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/provider-finops/provider-finops/cluster/process"
)

// modulePath is the tool module's folder, from the project's root.
const modulePath = "cluster/tools"

// programs are the packages to build, and links are the names under which the
// first of them is called.
var (
	programs = []string{"./cmd/kubebox", "sigs.k8s.io/kwok/cmd/kwok", "github.com/kudobuilder/kuttl/cmd/kubectl-kuttl"}
	links    = []string{etcd, apiServer, controllerManager, "kube-scheduler", kubectl, "kubelet"}
)

// buildFlags must stay the same everywhere: other ones mean another full set
// of entries in the compile cache. Without a version stamped in, the server
// reports one that clients cannot parse.
var buildFlags = []string{
	"-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false",
	"-ldflags=-s -w" +
		" -X k8s.io/component-base/version.gitVersion=v1.36.3" +
		" -X k8s.io/component-base/version.gitMajor=1" +
		" -X k8s.io/component-base/version.gitMinor=36" +
		" -X k8s.io/component-base/version.gitTreeState=clean",
}

// reportInterval is how often a running build says that it runs.
const reportInterval = 10 * time.Second

// cached returns the folder for this state of the tool module, building it
// under a lock, so that two harnesses do the work once.
func cached(ctx context.Context, root string, progress io.Writer) (Toolbox, error) {
	module := filepath.Join(root, modulePath)
	version, err := goVersion(ctx, module)
	if err != nil {
		return Toolbox{}, err
	}
	key, err := cacheKey(module, version, buildFlags)
	if err != nil {
		return Toolbox{}, err
	}
	cache, err := cacheDir()
	if err != nil {
		return Toolbox{}, err
	}
	box := Toolbox{Dir: filepath.Join(cache, "tools-"+key)}
	if exists(box.Dir) {
		return box, nil
	}
	unlock, err := lock(ctx, box.Dir+".lock", progress)
	if err != nil {
		return Toolbox{}, err
	}
	defer unlock()
	if exists(box.Dir) {
		return box, nil // Somebody else has built it meanwhile.
	}
	return box, build(ctx, module, box.Dir, progress)
}

func cacheDir() (string, error) {
	base := os.Getenv("XDG_CACHE_HOME")
	if base == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("cannot find a cache folder, set XDG_CACHE_HOME: %w", err)
		}
		base = filepath.Join(home, ".cache")
	}
	dir := filepath.Join(base, "provider-finops")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("cannot make the cache folder: %w", err)
	}
	return dir, nil
}

// build makes the folder under another name and renames it once it is whole.
func build(ctx context.Context, module, dir string, progress io.Writer) error {
	_, _ = fmt.Fprintln(progress, "building etcd, Kubernetes, kwok and kuttl; this happens once and takes some 5 minutes on 2 cores")
	began := time.Now()
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".building-")
	if err != nil {
		return fmt.Errorf("cannot make a folder to build in: %w", err)
	}
	defer func() { _ = os.RemoveAll(tmp) }() // Nothing is there any more once it is renamed.

	args := append([]string{"build", "-v", "-o", tmp + "/"}, buildFlags...)
	cmd := goCommand(ctx, module, append(args, programs...)...)
	if err := runReporting(cmd, began, progress); err != nil {
		return err
	}
	for _, link := range links {
		if err := os.Symlink("kubebox", filepath.Join(tmp, link)); err != nil {
			return fmt.Errorf("cannot link %q: %w", link, err)
		}
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return fmt.Errorf("cannot open the built folder to others: %w", err)
	}
	if err := os.Rename(tmp, dir); err != nil {
		return fmt.Errorf("cannot move what was built into place: %w", err)
	}
	_, _ = fmt.Fprintf(progress, "built after %s: %s\n", time.Since(began).Round(time.Second), dir)
	return nil
}

// runReporting runs go build -v, which names each package it compiles, and
// says now and then how far it is.
func runReporting(cmd *exec.Cmd, began time.Time, progress io.Writer) error {
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return fmt.Errorf("cannot follow the build: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot start %s: %w", cmd, err)
	}
	var compiled atomic.Int64
	stop := make(chan struct{})
	go report(stop, &compiled, began, progress)
	complaints := follow(stderr, &compiled)
	close(stop)
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("cannot build the cluster's programs: %w\n%s", err, strings.Join(complaints, "\n"))
	}
	return nil
}

// follow counts the packages and keeps what else the build says.
func follow(stderr io.Reader, compiled *atomic.Int64) (complaints []string) {
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if line := lines.Text(); isPackage(line) {
			compiled.Add(1)
		} else {
			complaints = append(complaints, line)
		}
	}
	_, _ = io.Copy(io.Discard, stderr) // A line too long to scan must not block the build.
	return complaints
}

func isPackage(line string) bool {
	return line != "" && !strings.HasPrefix(line, "#") && !strings.ContainsAny(line, " \t:")
}

func report(stop <-chan struct{}, compiled *atomic.Int64, began time.Time, progress io.Writer) {
	tick := time.NewTicker(reportInterval)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			_, _ = fmt.Fprintf(progress, "building the cluster's programs: %s, %d packages compiled\n",
				time.Since(began).Round(time.Second), compiled.Load())
		}
	}
}

func goVersion(ctx context.Context, module string) (string, error) {
	out, err := goCommand(ctx, module, "version").Output()
	if err != nil {
		return "", fmt.Errorf("cannot ask go for its version, is it on the PATH? %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// goCommand runs go in the tool module, whatever workspace or flags are set
// around it, and takes it down with the harness.
func goCommand(ctx context.Context, module string, args ...string) *exec.Cmd {
	cmd := process.Command(ctx, "go", args...)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "PWD="+module)
	return cmd
}

func exists(dir string) bool {
	_, err := os.Stat(dir)
	return err == nil
}

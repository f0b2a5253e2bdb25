package toolbox

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/provider-finops/provider-finops/cluster/process"
)

// modulePath is the first tool module's folder, from the project's root.
const modulePath = "cluster/tools"

// A set is what is built from one tool module into one folder of the cache.
type set struct {
	name     string // The folder's, before its key.
	module   string // Folder, from the project's root.
	contents string // As people call it, with how long it takes.
	programs []string
	flags    []string

	// links are further names of the first program.
	links []string

	// files are copied out of a module that the programs come from: its path,
	// and from there each folder with the name it gets.
	filesOf string
	files   map[string]string
}

// kubernetes is one program by many names, and what tests a cluster. Without a
// version stamped in, the server reports one that clients cannot parse.
var kubernetes = set{
	name:     "tools",
	module:   modulePath,
	contents: "etcd, Kubernetes, kwok and kuttl; this happens once and takes some 5 minutes on 2 cores",
	programs: []string{"./cmd/kubebox", "sigs.k8s.io/kwok/cmd/kwok", "github.com/kudobuilder/kuttl/cmd/kubectl-kuttl"},
	links:    []string{etcd, apiServer, controllerManager, "kube-scheduler", kubectl, "kubelet"},
	flags: buildFlags("-s -w" +
		" -X k8s.io/component-base/version.gitVersion=v1.36.3" +
		" -X k8s.io/component-base/version.gitMajor=1" +
		" -X k8s.io/component-base/version.gitMinor=36" +
		" -X k8s.io/component-base/version.gitTreeState=clean"),
}

// buildFlags must stay the same everywhere, but for the linker's: other ones
// mean another full set of entries in the compile cache.
func buildFlags(linker string) []string {
	return []string{"-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false", "-ldflags=" + linker}
}

// reportInterval is how often a running build says that it runs.
const reportInterval = 10 * time.Second

// cached returns the folder for this state of the tool module, building it
// under a lock, so that two harnesses do the work once.
func (s set) cached(ctx context.Context, root string, progress io.Writer) (Toolbox, error) {
	module := filepath.Join(root, s.module)
	version, err := goVersion(ctx, module)
	if err != nil {
		return Toolbox{}, err
	}
	key, err := cacheKey(module, version, s.flags)
	if err != nil {
		return Toolbox{}, err
	}
	cache, err := cacheDir()
	if err != nil {
		return Toolbox{}, err
	}
	box := Toolbox{Dir: filepath.Join(cache, s.name+"-"+key)}
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
	return box, s.build(ctx, module, box.Dir, progress)
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
func (s set) build(ctx context.Context, module, dir string, progress io.Writer) error {
	_, _ = fmt.Fprintln(progress, "building "+s.contents)
	began := time.Now()
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".building-")
	if err != nil {
		return fmt.Errorf("cannot make a folder to build in: %w", err)
	}
	defer func() { _ = os.RemoveAll(tmp) }() // Nothing is there any more once it is renamed.

	args := append([]string{"build", "-v", "-o", tmp + "/"}, s.flags...)
	cmd := goCommand(ctx, module, append(args, s.programs...)...)
	if err := runReporting(cmd, began, progress); err != nil {
		return err
	}
	for _, link := range s.links {
		if err := os.Symlink(path.Base(s.programs[0]), filepath.Join(tmp, link)); err != nil {
			return fmt.Errorf("cannot link %q: %w", link, err)
		}
	}
	if err := s.copyFiles(ctx, module, tmp); err != nil {
		return err
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

// copyFiles takes what the programs need from where they come from, so that
// they work when the module cache is gone.
func (s set) copyFiles(ctx context.Context, module, dir string) error {
	if s.filesOf == "" {
		return nil
	}
	out, err := goCommand(ctx, module, "list", "-m", "-f", "{{.Dir}}", s.filesOf).Output()
	if err != nil {
		return fmt.Errorf("cannot find module %q: %w", s.filesOf, err)
	}
	for from, to := range s.files {
		if err := os.CopyFS(filepath.Join(dir, to), os.DirFS(filepath.Join(strings.TrimSpace(string(out)), from))); err != nil {
			return fmt.Errorf("cannot copy %q of module %q: %w", from, s.filesOf, err)
		}
	}
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

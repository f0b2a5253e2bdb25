package realm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/provider-finops/provider-finops/cluster/process"
)

const (
	groupRoot    = "/sys/fs/cgroup"
	groupPrefix  = "finops-"
	removeWithin = time.Minute // Processes that were killed take a moment to leave.
)

// A group is the name of the control groups of one run, the same in every
// hierarchy. It says who owns them, the process that has called Run, and which
// of its runs it is.
type group string

// runs counts those of this process.
var runs atomic.Int64

// Owner is the process that has called Run, as it is known outside.
func Owner() string { return group(os.Getenv(groupVariable)).owner() }

func (g group) owner() string {
	owner, _, _ := strings.Cut(strings.TrimPrefix(string(g), groupPrefix), ".")
	return owner
}

// Group is the path of this run's control groups, under the root of each
// hierarchy, as a node's pods go below it.
func Group() string { return "/" + os.Getenv(groupVariable) }

// newGroup makes the groups.
func newGroup() (group, error) {
	owner, err := process.Self()
	if err != nil {
		return "", err
	}
	g := group(fmt.Sprintf("%s%s.%d", groupPrefix, owner, runs.Add(1)))
	for _, hierarchy := range hierarchies() {
		dir := filepath.Join(hierarchy, string(g))
		handDown(hierarchy)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", fmt.Errorf("cannot make a control group: %w", err)
		}
		if err := inheritCPUs(hierarchy, dir); err != nil {
			return "", err
		}
	}
	return g, nil
}

// handDown lets groups have the controllers of their parent, where there is one
// hierarchy for all: systemd hands down those that it has a use for itself. What
// cannot be had a kubelet complains about.
func handDown(hierarchy string) {
	has, err := os.ReadFile(filepath.Join(hierarchy, "cgroup.controllers"))
	if err != nil {
		return // In the first version there is nothing to hand down.
	}
	for controller := range strings.FieldsSeq(string(has)) {
		_ = os.WriteFile(filepath.Join(hierarchy, "cgroup.subtree_control"), []byte("+"+controller), 0o600)
	}
}

// inheritCPUs gives a new group of the first version's cpuset what its parent
// has; it begins with none, and no process could enter.
func inheritCPUs(parent, dir string) error {
	for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
		own := filepath.Join(dir, name)
		text, err := os.ReadFile(own)
		if errors.Is(err, os.ErrNotExist) || len(strings.TrimSpace(string(text))) > 0 {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "cgroup.controllers")); err == nil {
			continue // In the second version empty means: as above.
		}
		if text, err = os.ReadFile(filepath.Join(parent, name)); err == nil {
			err = os.WriteFile(own, text, 0o600)
		}
		if err != nil {
			return fmt.Errorf("cannot hand a control group its CPUs: %w", err)
		}
	}
	return nil
}

// hierarchies are the mounted ones: one in the second version, one for each
// controller in the first.
func hierarchies() []string {
	if _, err := os.Stat(filepath.Join(groupRoot, "cgroup.controllers")); err == nil {
		return []string{groupRoot}
	}
	var found []string
	entries, _ := os.ReadDir(groupRoot) // Without any there is nothing to make and nothing to remove.
	for _, entry := range entries {
		dir := filepath.Join(groupRoot, entry.Name())
		if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err == nil && entry.IsDir() {
			found = append(found, dir)
		}
	}
	return found
}

// remove removes the groups and all below, once nobody is in them.
func (g group) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeWithin)
	defer cancel()
	return process.WaitFor(ctx, "control groups "+string(g)+" to be empty", func(context.Context) error {
		var failed error
		for _, hierarchy := range hierarchies() {
			failed = errors.Join(failed, removeTree(filepath.Join(hierarchy, string(g))))
		}
		return failed
	})
}

// removeTree removes a folder of folders, the deepest first; the files of a
// control group cannot be removed and go with it.
func removeTree(dir string) error {
	var dirs []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			dirs = append(dirs, path)
		}
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, dir := range slices.Backward(dirs) {
		if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Clean removes what runs have left that were killed. Those that still run are
// left alone.
func Clean(ctx context.Context) error {
	for _, hierarchy := range hierarchies() {
		left, _ := filepath.Glob(filepath.Join(hierarchy, groupPrefix+"*-*")) // The pattern is sound.
		for _, dir := range left {
			if g := group(filepath.Base(dir)); !g.owned() {
				if err := g.remove(ctx); err != nil {
					return fmt.Errorf("cannot remove what an earlier run has left: %w", err)
				}
			}
		}
	}
	return nil
}

// owned says whether the run still lives. A name that is not ours counts as owned.
func (g group) owned() bool {
	owner, err := process.ParseOwner(g.owner())
	return err != nil || owner.Lives()
}

// EmptyGroup removes what is below the control groups of this run, once no
// process is in them.
func EmptyGroup(ctx context.Context) error {
	g := group(os.Getenv(groupVariable))
	return process.WaitFor(ctx, "the control groups below "+string(g)+" to be empty", func(context.Context) error {
		var failed error
		for _, hierarchy := range hierarchies() {
			below, err := filepath.Glob(filepath.Join(hierarchy, string(g), "*", "cgroup.procs"))
			failed = errors.Join(failed, err)
			for _, file := range below {
				failed = errors.Join(failed, removeTree(filepath.Dir(file)))
			}
		}
		return failed
	})
}

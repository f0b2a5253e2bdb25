package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/provider-finops/provider-finops/cluster/process"
	"github.com/provider-finops/provider-finops/cluster/realm"
)

// stopTimeout is for containers to go that were killed.
const stopTimeout = time.Minute

// Stop ends the node and its pods at once, and takes away what they and it have
// made: mounts, control groups, links, files. Whatever had called Start may
// start another one then.
func (n *Node) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if n.kubelet != nil {
		n.kubelet.Stop(stopGrace) // First, or it would start again what is ended.
	}
	var failed error
	if n.containerd != nil {
		failed = n.endContainers(ctx)
		n.containerd.Stop(stopGrace)
	}
	return errors.Join(failed, endOrphans(ctx), unmount(), os.RemoveAll(folder), realm.EmptyGroup(ctx), closeNetwork(ctx))
}

// endContainers kills what runs and waits for it to be gone.
func (n *Node) endContainers(ctx context.Context) error {
	return process.WaitFor(ctx, "the node's containers to end", func(ctx context.Context) error {
		out, err := n.ctr(ctx, "tasks", "list", "--quiet")
		if err != nil {
			return err
		}
		tasks := strings.Fields(out)
		if len(tasks) == 0 {
			return nil
		}
		for _, task := range tasks {
			_, _ = n.ctr(ctx, "tasks", "delete", "--force", task) // What fails is listed again.
		}
		return fmt.Errorf("%d are left", len(tasks))
	}, n.containerd)
}

// endOrphans kills what the node's programs have left to process 1: containerd
// parts with the shims of its containers at once, and one that is told to end
// while another request is under way stays.
func endOrphans(ctx context.Context) error {
	return process.WaitFor(ctx, "what the node's programs have left behind to end", func(context.Context) error {
		text, err := os.ReadFile("/proc/1/task/1/children")
		if err != nil {
			return fmt.Errorf("cannot list the processes: %w", err)
		}
		var left []string
		for child := range strings.FieldsSeq(string(text)) {
			pid, err := strconv.Atoi(child)
			if err != nil {
				return fmt.Errorf("cannot read process id %q: %w", child, err)
			}
			if pid == os.Getpid() {
				continue
			}
			_ = syscall.Kill(pid, syscall.SIGKILL) // An error means that it has just ended.
			name, _ := os.ReadFile(filepath.Join("/proc", child, "comm"))
			left = append(left, strings.TrimSpace(string(name))+" ("+child+")")
		}
		if len(left) > 0 {
			return fmt.Errorf("left are %s", strings.Join(left, ", "))
		}
		return nil
	})
}

// unmount takes away all mounts under the node's folder, and the networks of
// pods, the deepest first.
func unmount() error {
	text, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return fmt.Errorf("cannot list the mounts: %w", err)
	}
	var failed error
	for _, line := range slices.Backward(strings.Split(string(text), "\n")) {
		fields := strings.Fields(line)
		if len(fields) < 2 || !ours(fields[1]) {
			continue
		}
		if err := syscall.Unmount(fields[1], syscall.MNT_DETACH); err != nil {
			failed = errors.Join(failed, fmt.Errorf("cannot unmount %q: %w", fields[1], err))
			continue
		}
		if strings.HasPrefix(fields[1], podNetworks) {
			failed = errors.Join(failed, os.Remove(fields[1]))
		}
	}
	return failed
}

// podNetworks is where containerd keeps hold of the networks of pods.
const podNetworks = "/run/netns/"

func ours(mounted string) bool {
	return strings.HasPrefix(mounted, folder+"/") || strings.HasPrefix(mounted, podNetworks)
}

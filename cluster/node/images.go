package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/provider-finops/provider-finops/cluster/image"
	"github.com/provider-finops/provider-finops/cluster/process"
)

// pauseImage is what holds a pod's namespaces. No registry has it.
const pauseImage = "finops.test/pause:1"

// Import makes the images of a docker-archive known to the node. Pods that name
// one must not insist on pulling it: there is no registry to be reached.
func (n *Node) Import(ctx context.Context, archive string) error {
	_, err := n.ctr(ctx, "images", "import", archive)
	if err != nil {
		return fmt.Errorf("cannot import the image in %q: %w", archive, err)
	}
	return nil
}

// ctr runs containerd's own client.
func (n *Node) ctr(ctx context.Context, args ...string) (string, error) {
	cmd := process.Command(ctx, n.programs.Ctr, append([]string{"--address=" + file("containerd.sock"), "--namespace=k8s.io"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("ctr %s: %w\n%s", args[0], err, out)
	}
	return string(out), nil
}

// importPause builds the image meanwhile containerd starts.
func (n *Node) importPause(ctx context.Context, root string) error {
	binary := file("pause")
	cmd := process.Command(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", binary, "./node/pause")
	cmd.Dir = filepath.Join(root, "cluster")
	cmd.Env = append(os.Environ(), "GOWORK=off", "PWD="+cmd.Dir, "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build the pause program: %w\n%s", err, out)
	}
	img, err := image.Build(binary)
	if err != nil {
		return err
	}
	archive := file("pause.tar")
	if err := image.Write(archive, pauseImage, img); err != nil {
		return err
	}
	err = process.WaitFor(ctx, "containerd to answer", func(ctx context.Context) error {
		_, err := n.ctr(ctx, "version")
		return err
	}, n.containerd)
	if err != nil {
		return err
	}
	return n.Import(ctx, archive)
}

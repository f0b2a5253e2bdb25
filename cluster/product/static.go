package product

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/provider-finops/provider-finops/cluster/process"
)

// BuildStatic compiles the binary as "make build" does, for an image: without
// libraries, without paths of this machine, stamped with the commit where git
// knows it. It returns the binary's name in the folder.
func BuildStatic(ctx context.Context, root, dir, architecture string, progress io.Writer) (string, error) {
	began := time.Now()
	binary := filepath.Join(dir, "provider-finops")
	cmd := process.Command(ctx, "go", "build", "-trimpath", "-buildvcs="+stamped(ctx, root), "-ldflags=-s -w", "-o", binary, "./cmd/provider")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOWORK=off", "PWD="+root, "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+architecture)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build provider-finops for an image: %w\n%s", err, out)
	}
	_, _ = fmt.Fprintf(progress, "provider-finops built for an image after %s\n", time.Since(began).Round(100*time.Millisecond))
	return binary, nil
}

// stamped says whether git knows a commit: without one the build would fail
// that asks for it.
func stamped(ctx context.Context, root string) string {
	cmd := process.Command(ctx, "git", "rev-parse", "--verify", "--quiet", "HEAD")
	cmd.Dir = root
	if cmd.Run() != nil {
		return "false"
	}
	return "true"
}

package process

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// AptInstall installs packages of Debian with the given apt-get, which has to
// run as root.
func AptInstall(ctx context.Context, apt string, progress io.Writer, packages ...string) error {
	for _, args := range [][]string{{"update", "-q"}, append([]string{"install", "-q", "-y", "--no-install-recommends"}, packages...)} {
		cmd := exec.CommandContext(ctx, apt, args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		cmd.Stdout, cmd.Stderr = progress, progress
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("cannot run apt-get %s: %w", args[0], err)
		}
	}
	return nil
}

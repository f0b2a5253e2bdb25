package toolbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

const lockInterval = 200 * time.Millisecond

// lock waits for the file's lock. The kernel drops it when its holder dies,
// so an interrupted build blocks nobody.
func lock(ctx context.Context, path string, progress io.Writer) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, fmt.Errorf("cannot open the build's lock: %w", err)
	}
	tick := time.NewTicker(lockInterval)
	defer tick.Stop()
	for told := false; ; told = true {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			_ = file.Close()
			return nil, fmt.Errorf("cannot lock %q: %w", path, err)
		}
		if !told {
			_, _ = fmt.Fprintln(progress, "waiting for another harness that is building the cluster's programs")
		}
		select {
		case <-ctx.Done():
			_ = file.Close()
			return nil, fmt.Errorf("cannot wait for the lock %q: %w", path, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

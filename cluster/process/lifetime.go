package process

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// ErrToldToStop is the cause of a context that Lifetime has ended.
var ErrToldToStop = errors.New("told to stop")

// Lifetime returns a context that ends on SIGINT, SIGTERM or SIGHUP, and when
// stdin, if it is a pipe or a socket, is closed at its other end. So whoever
// started a harness with a pipe takes it down by ending, however it ends. A
// terminal and /dev/null have no other end, and are left alone.
func Lifetime(ctx context.Context, stdin *os.File) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case <-told:
			cancel(ErrToldToStop)
		case <-ctx.Done():
		}
		signal.Stop(told) // A second signal ends the harness at once.
	}()
	if isPipe(stdin) {
		go func() {
			_, _ = io.Copy(io.Discard, stdin)
			cancel(ErrToldToStop)
		}()
	}
	return ctx, func() { cancel(context.Canceled) }
}

func isPipe(f *os.File) bool {
	if f == nil {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0
}

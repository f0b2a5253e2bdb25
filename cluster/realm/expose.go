package realm

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/provider-finops/provider-finops/cluster/relay"
)

// Expose lets the machine reach a TCP address inside, until the relay is stopped;
// its own address is on the machine's loopback interface.
func Expose(inside string) (*relay.Relay, error) {
	listener, err := listenOutside("127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("cannot expose %q: %w", inside, err)
	}
	return relay.Serve(listener, inside), nil
}

// listenOutside makes a socket in the machine's network; a socket stays where
// it was made.
func listenOutside(address string) (net.Listener, error) {
	type result struct {
		listener net.Listener
		err      error
	}
	made := make(chan result, 1)
	go func() {
		runtime.LockOSThread() // Only unlocked where the thread is back for certain; else it ends with this function.
		own, err := os.Open("/proc/thread-self/ns/net")
		if err != nil {
			made <- result{nil, err}
			return
		}
		defer func() { _ = own.Close() }()
		if err := unix.Setns(outsideNetwork, unix.CLONE_NEWNET); err != nil {
			made <- result{nil, err}
			return
		}
		listener, err := net.Listen("tcp4", address)
		if back := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); back != nil {
			err = errors.Join(err, back)
		} else {
			runtime.UnlockOSThread()
		}
		made <- result{listener, err}
	}()
	r := <-made
	return r.listener, r.err
}

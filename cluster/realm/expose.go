package realm

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// An Exposed address inside is reached from the machine at Address, which is
// on loopback.
type Exposed struct {
	Address string

	listener net.Listener
	running  sync.WaitGroup
	one      sync.Mutex
	open     map[net.Conn]struct{}
	closed   bool
}

// Expose lets the machine reach a TCP address inside, until Stop.
func Expose(inside string) (*Exposed, error) {
	listener, err := listenOutside("127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("cannot expose %q: %w", inside, err)
	}
	e := &Exposed{Address: listener.Addr().String(), listener: listener, open: map[net.Conn]struct{}{}}
	e.running.Go(func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return // Closed.
			}
			e.running.Go(func() { e.serve(connection, inside) })
		}
	})
	return e, nil
}

// Stop ends it, with all its connections.
func (e *Exposed) Stop() {
	_ = e.listener.Close()
	e.one.Lock()
	e.closed = true
	for connection := range e.open {
		_ = connection.Close()
	}
	e.one.Unlock()
	e.running.Wait()
}

func (e *Exposed) serve(outer net.Conn, inside string) {
	defer e.track(outer)()
	inner, err := net.Dial("tcp", inside)
	if err != nil {
		return // The caller sees the connection closed, as by a server that is down.
	}
	defer e.track(inner)()
	var both sync.WaitGroup
	both.Go(func() { hand(inner, outer) })
	both.Go(func() { hand(outer, inner) })
	both.Wait()
}

// track makes Stop close the connection; what it returns closes it now.
func (e *Exposed) track(c net.Conn) func() {
	e.one.Lock()
	defer e.one.Unlock()
	e.open[c] = struct{}{}
	if e.closed {
		_ = c.Close()
	}
	return func() {
		e.one.Lock()
		defer e.one.Unlock()
		delete(e.open, c)
		_ = c.Close()
	}
}

// hand copies until one side has said all, and tells the other.
func hand(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	if half, ok := to.(*net.TCPConn); ok {
		_ = half.CloseWrite()
	}
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

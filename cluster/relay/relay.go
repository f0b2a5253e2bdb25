// Package relay lets whoever connects to a listener reach an address, which may
// be in another network: a socket stays in the one that it was made in.
package relay

import (
	"io"
	"net"
	"sync"
)

// A Relay is running until Stop.
type Relay struct {
	Address string // Of the listener.

	listener net.Listener
	running  sync.WaitGroup
	one      sync.Mutex
	open     map[net.Conn]struct{}
	closed   bool
}

// Serve leads everybody who connects to the TCP address.
func Serve(listener net.Listener, address string) *Relay {
	r := &Relay{Address: listener.Addr().String(), listener: listener, open: map[net.Conn]struct{}{}}
	r.running.Go(func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return // Closed.
			}
			r.running.Go(func() { r.serve(connection, address) })
		}
	})
	return r
}

// Stop ends it, with all its connections.
func (r *Relay) Stop() {
	_ = r.listener.Close()
	r.one.Lock()
	r.closed = true
	for connection := range r.open {
		_ = connection.Close()
	}
	r.one.Unlock()
	r.running.Wait()
}

func (r *Relay) serve(outer net.Conn, address string) {
	defer r.track(outer)()
	inner, err := net.Dial("tcp", address)
	if err != nil {
		return // The caller sees the connection closed, as by a server that is down.
	}
	defer r.track(inner)()
	var both sync.WaitGroup
	both.Go(func() { hand(inner, outer) })
	both.Go(func() { hand(outer, inner) })
	both.Wait()
}

// track makes Stop close the connection; what it returns closes it now.
func (r *Relay) track(c net.Conn) func() {
	r.one.Lock()
	defer r.one.Unlock()
	r.open[c] = struct{}{}
	if r.closed {
		_ = c.Close()
	}
	return func() {
		r.one.Lock()
		defer r.one.Unlock()
		delete(r.open, c)
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

package main

import (
	"net"
	"sync"
	"testing"
)

// A tap lies on the wires of a process, counts what it says, and strikes when it
// says the n-th thing. It can fall silent then: nothing gets through any more,
// and no wire is cut.
type tap struct {
	at     int // None if it is zero.
	silent bool
	strike func()

	mu      sync.Mutex
	said    int
	stopped bool
	open    []net.Conn
	closed  bool
}

// wire lays a wire to an address, and returns where it begins. It lies until the
// test ends.
func (p *tap) wire(t *testing.T, to string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var carrying sync.WaitGroup
	carrying.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // The test is over.
			}
			server, err := net.Dial("tcp", to)
			if err != nil || !p.holds(client, server) {
				_ = client.Close()
				continue
			}
			carrying.Go(func() { p.carry(server, client, true) })
			carrying.Go(func() { p.carry(client, server, false) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		p.mu.Lock()
		p.closed = true
		for _, c := range p.open {
			_ = c.Close()
		}
		p.mu.Unlock()
		carrying.Wait()
	})
	return listener.Addr().String()
}

// holds remembers connections, so that they end with the test.
func (p *tap) holds(connections ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = append(p.open, connections...)
	return !p.closed
}

// carry carries what one end says to the other, until either closes.
func (p *tap) carry(to, from net.Conn, counted bool) {
	defer func() { _ = to.Close() }()
	defer func() { _ = from.Close() }()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if !p.passes(counted) {
			continue
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// passes counts what the process says, strikes when its time has come, and tells
// whether it gets through.
func (p *tap) passes(counted bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if counted {
		p.said++
	}
	if p.at > 0 && p.said >= p.at && !p.stopped {
		p.stopped = true
		p.strike()
	}
	return !p.stopped || !p.silent
}

// struck is whether it has come to that.
func (p *tap) struck() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stopped
}

// total is how much the process has said.
func (p *tap) total() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said
}

package pgtest

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// A Line lies between a client and the server. It can be cut at the worst moment
// there is: the server has committed, and nobody is told.
type Line struct {
	// DSN leads to the server by this line.
	DSN string

	server string

	mu      sync.Mutex
	commits int // So many more until the cut; none if it is not above zero.
	seen    int
}

// NewLine lays a line to a database.
func NewLine(t testing.TB, dsn string) *Line {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &Line{server: u.Host}
	u.Host = listener.Addr().String()
	l.DSN = u.String()
	var open sync.WaitGroup
	open.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // The test is over.
			}
			open.Go(func() { l.carry(client) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		open.Wait()
	})
	return l
}

// CutAfter cuts the line once the server has carried out the n-th commit from now
// on. It counts from one.
func (l *Line) CutAfter(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.commits, l.seen = n, 0
}

// Commits is how many there were since the line was last told when to be cut.
func (l *Line) Commits() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen
}

func (l *Line) cuts() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen++
	return l.seen == l.commits
}

// carry carries a connection until either end closes it, or it is cut.
func (l *Line) carry(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", l.server)
	if err != nil {
		return // To the client it is a connection that ends.
	}

	answered := make(chan struct{})
	go func() {
		defer close(answered)
		_, _ = io.Copy(client, server) // An error is an end.
		_ = client.Close()
	}()
	defer func() { <-answered }()
	defer func() { _ = server.Close() }()

	in := bufio.NewReader(client)
	for first := true; ; first = false {
		message, err := read(in, first)
		if err != nil {
			return
		}
		cut := !first && isCommit(message) && l.cuts()
		if cut {
			_ = client.Close() // Before the server is asked: whatever it says, nobody hears it.
			message = append(message, goodbye...)
		}
		if _, err := server.Write(message); err != nil {
			return
		}
		if cut {
			_, _ = io.Copy(io.Discard, server) // It commits, and then closes.
			return
		}
	}
}

// goodbye is what a client says that has nothing more to say.
var goodbye = []byte{'X', 0, 0, 0, 4}

// read reads one message: its kind, but for the first of a session, its length
// and the rest.
func read(in *bufio.Reader, first bool) ([]byte, error) {
	head := 5
	if first {
		head = 4
	}
	start := make([]byte, head)
	if _, err := io.ReadFull(in, start); err != nil {
		return nil, err
	}
	message := make([]byte, head-4+int(binary.BigEndian.Uint32(start[head-4:])))
	copy(message, start)
	_, err := io.ReadFull(in, message[head:])
	return message, err
}

// isCommit reports whether a message is a plain query that commits.
func isCommit(message []byte) bool {
	return message[0] == 'Q' && strings.EqualFold(strings.TrimRight(string(message[5:]), "\x00; "), "commit")
}

package isolation

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
)

// doorsVariable tells the inside the names of the doors, in the order of their
// sockets.
const doorsVariable = "FINOPS_TEST_DOORS"

// firstFile is the number that a child knows its first extra file by.
const firstFile = 3

// newDoors listens once for each name, outside. A socket belongs to the network
// it was made in, so a process inside that inherits one hears who connects
// outside.
func newDoors(names []string) (files []*os.File, err error) {
	for _, name := range names {
		listener, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			return files, fmt.Errorf("cannot make door %q: %w", name, err)
		}
		file, err := listener.File()
		_ = listener.Close() // The file is a copy.
		if err != nil {
			return files, fmt.Errorf("cannot hand on door %q: %w", name, err)
		}
		files = append(files, file)
	}
	return files, nil
}

// WithDoors gives a command of Command doors: ports on the machine's own loopback
// interface that lead inside.
func WithDoors(cmd *exec.Cmd, names ...string) error {
	files, err := newDoors(names)
	cmd.ExtraFiles = files
	cmd.Env = append(cmd.Env, doorsVariable+"="+strings.Join(names, ","))
	return err
}

// A Hall is the inside of the doors.
type Hall struct{ listeners map[string]net.Listener }

// EnterHall finds the doors, inside.
func EnterHall() (*Hall, error) {
	h := &Hall{listeners: map[string]net.Listener{}}
	for i, name := range strings.Split(os.Getenv(doorsVariable), ",") {
		file := os.NewFile(uintptr(firstFile+i), name)
		listener, err := net.FileListener(file)
		if err != nil {
			return nil, fmt.Errorf("cannot find door %q: %w", name, err)
		}
		_ = file.Close() // The listener has its own copy, which no child gets.
		h.listeners[name] = listener
	}
	return h, nil
}

// Lead lets whoever comes in by the door reach the address inside, and returns
// the door's own, outside.
func (h *Hall) Lead(name, address string) string {
	go func() {
		for {
			outside, err := h.listeners[name].Accept()
			if err != nil {
				return // Closed.
			}
			go lead(outside, address)
		}
	}()
	return h.listeners[name].Addr().String()
}

// Close lets nobody in any more.
func (h *Hall) Close() error {
	failed := make([]error, 0, len(h.listeners))
	for _, l := range h.listeners {
		failed = append(failed, l.Close())
	}
	return errors.Join(failed...)
}

// lead copies both ways until both have ended.
func lead(outside net.Conn, address string) {
	defer func() { _ = outside.Close() }() // Whoever came has gone.
	inside, err := net.Dial("tcp", address)
	if err != nil {
		return // To the one outside it is a connection that ends.
	}
	defer func() { _ = inside.Close() }() // As above.
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{inside, outside}, {outside, inside}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], way[1]) // An error is an end.
			if half, ok := way[0].(*net.TCPConn); ok {
				_ = half.CloseWrite() // The other way may go on.
			}
		})
	}
	both.Wait()
}

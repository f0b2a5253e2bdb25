package isolation

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
)

// doorsVariable carries the doors to the inside.
const doorsVariable = "FINOPS_TEST_DOORS"

// firstFile is the number that a child knows its first extra file by.
const firstFile = 3

// told is what the inside hears of the doors.
type told struct {
	Names []string `json:"names"` // In the order of their sockets.
	Ports Doors    `json:"ports"`
}

// Doors are ports on the machine's own loopback interface, by name, that lead
// inside. A socket belongs to the network it was made in, so a process inside
// that inherits one hears who connects outside.
type Doors map[string]int

// NewDoors makes them outside. The files are their sockets, in the order of the
// names.
func NewDoors(names ...string) (Doors, []*os.File, error) {
	doors := Doors{}
	var files []*os.File
	for _, name := range names {
		listener, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			return nil, files, fmt.Errorf("cannot make a door: %w", err)
		}
		address, ok := listener.Addr().(*net.TCPAddr)
		if !ok {
			return nil, files, fmt.Errorf("cannot read the address %s of a door", listener.Addr())
		}
		file, err := listener.File()
		if err != nil {
			return nil, files, fmt.Errorf("cannot hand on a door: %w", err)
		}
		_ = listener.Close() // The file is a copy.
		doors[name] = address.Port
		files = append(files, file)
	}
	return doors, files, nil
}

// WithDoors gives a command of Command the doors.
func WithDoors(cmd *exec.Cmd, names ...string) (Doors, error) {
	doors, files, err := NewDoors(names...)
	cmd.ExtraFiles = files
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(told{names, doors})
	if err != nil {
		return nil, fmt.Errorf("cannot tell of the doors: %w", err)
	}
	cmd.Env = append(cmd.Env, doorsVariable+"="+string(text))
	return doors, nil
}

// A Hall is the inside of the doors.
type Hall struct {
	Ports Doors

	listeners map[string]net.Listener
}

// EnterHall finds the doors, inside.
func EnterHall() (*Hall, error) {
	var heard told
	if err := json.Unmarshal([]byte(os.Getenv(doorsVariable)), &heard); err != nil {
		return nil, fmt.Errorf("cannot find the doors: %w", err)
	}
	h := &Hall{Ports: heard.Ports, listeners: map[string]net.Listener{}}
	for i, name := range heard.Names {
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

// Lead lets whoever comes in by the door reach the address inside.
func (h *Hall) Lead(name, address string) {
	go func() {
		for {
			outside, err := h.listeners[name].Accept()
			if err != nil {
				return // Closed.
			}
			go lead(outside, address)
		}
	}()
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

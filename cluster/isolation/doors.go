package isolation

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"

	"github.com/provider-finops/provider-finops/cluster/relay"
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
type Hall struct {
	listeners map[string]net.Listener
	relays    []*relay.Relay
}

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
	r := relay.Serve(h.listeners[name], address)
	h.relays = append(h.relays, r)
	return r.Address
}

// Close lets nobody in any more, and sees out whoever is there.
func (h *Hall) Close() {
	for _, l := range h.listeners {
		_ = l.Close() // A relay may have closed it.
	}
	for _, r := range h.relays {
		r.Stop()
	}
}

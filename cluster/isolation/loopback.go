package isolation

import (
	"fmt"
	"net"
	"syscall"
	"unsafe"
)

const loopback = "lo"

// What the kernel's interface requests are made of (netdevice(7)): a name of 16
// bytes and a union of 24.
type (
	flagsRequest struct {
		name  [syscall.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}
	addressRequest struct {
		name    [syscall.IFNAMSIZ]byte
		address syscall.RawSockaddrInet4
		_       [8]byte
	}
)

// bringUp is "ip link set lo up".
func bringUp() error {
	request := &flagsRequest{}
	copy(request.name[:], loopback)
	if err := ioctl(syscall.SIOCGIFFLAGS, unsafe.Pointer(request)); err != nil {
		return fmt.Errorf("cannot read the state of the loopback interface: %w", err)
	}
	request.flags |= syscall.IFF_UP
	if err := ioctl(syscall.SIOCSIFFLAGS, unsafe.Pointer(request)); err != nil {
		return fmt.Errorf("cannot bring up the loopback interface: %w", err)
	}
	return nil
}

// addAddress is "ip address add ADDRESS/MASK dev lo". To the kernel a whole
// network on the loopback interface is this machine's.
func addAddress(address net.IP, mask net.IPMask) error {
	for _, step := range []struct {
		request uintptr
		value   []byte
	}{{syscall.SIOCSIFADDR, address.To4()}, {syscall.SIOCSIFNETMASK, mask}} {
		request := &addressRequest{address: syscall.RawSockaddrInet4{Family: syscall.AF_INET}}
		copy(request.name[:], loopback+":1")
		copy(request.address.Addr[:], step.value)
		if err := ioctl(step.request, unsafe.Pointer(request)); err != nil {
			return fmt.Errorf("cannot give the loopback interface address %s: %w", address, err)
		}
	}
	return nil
}

func ioctl(request uintptr, argument unsafe.Pointer) error {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = syscall.Close(socket) }() // It was only asked through.
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(socket), request, uintptr(argument)); errno != 0 {
		return errno
	}
	return nil
}

// Package isolation runs the harness once more in a network of its own, where
// fixed addresses and ports are free and nothing leads out. The machine's own
// network is never changed. What has to be reached from outside is led in by
// doors.
package isolation

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"

	"github.com/provider-finops/provider-finops/cluster/process"
)

// insideVariable tells the inside that it is there.
const insideVariable = "FINOPS_TEST_ISOLATED"

// Inside says whether this process is in a network that Command has made.
func Inside() bool { return os.Getenv(insideVariable) != "" }

// Command is this program, to be run with the arguments in a network of its
// own. Whoever is not root gets a user namespace too, in which he is.
func Command(ctx context.Context, args ...string) (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find the harness's own program: %w", err)
	}
	cmd := process.Command(ctx, program, args...)
	cmd.Env = append(os.Environ(), insideVariable+"=yes")
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWNET
	if uid := os.Geteuid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	return cmd, nil
}

// Explain adds to an error of such a command what helps.
func Explain(err error) error {
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("cannot make a network of our own, run as root or allow user namespaces: %w", err)
	}
	return err
}

// Open brings up the loopback interface inside and gives it the address, such
// as 10.96.0.1/24, with the network around it.
func Open(address string) error {
	if !Inside() {
		return errors.New("cannot change the machine's own network")
	}
	ip, network, err := net.ParseCIDR(address)
	if err != nil {
		return fmt.Errorf("cannot read an address: %w", err)
	}
	if err := bringUp(); err != nil {
		return err
	}
	return addAddress(ip, network.Mask)
}

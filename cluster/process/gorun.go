package process

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// EndWithGoRun asks the kernel to end this process when its parent ends, if
// the parent is a "go run", which hands on no SIGTERM. Call it before any
// other work, on the main goroutine.
func EndWithGoRun() {
	parent, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", os.Getppid()))
	if err != nil || strings.TrimSpace(string(parent)) != "go" {
		return
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGTERM), 0); errno != 0 {
		return // The harness still ends on a signal of its own, or with its stdin.
	}
}

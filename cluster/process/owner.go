package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// An Owner says which process something belongs to: its id, when it has
// started, so that a later process with the same id owns nothing, and in which
// namespace the id counts. As text it can be part of a file's name.
type Owner struct {
	pid       int
	started   uint64 // In the kernel's ticks since boot.
	namespace uint64 // The kernel's number of it.
}

// Self is this process.
func Self() (Owner, error) {
	started, err := startTime(os.Getpid())
	if err != nil {
		return Owner{}, err
	}
	namespace, err := namespace()
	return Owner{os.Getpid(), started, namespace}, err
}

// ParseOwner reads what String has written.
func ParseOwner(text string) (Owner, error) {
	var o Owner
	if n, err := fmt.Sscanf(text+"\n", "%d-%d-%d\n", &o.pid, &o.started, &o.namespace); n != 3 || err != nil {
		return Owner{}, fmt.Errorf("cannot read an owner from %q", text)
	}
	return o, nil
}

// String is what ParseOwner reads.
func (o Owner) String() string { return fmt.Sprintf("%d-%d-%d", o.pid, o.started, o.namespace) }

// Lives says whether the process may still run. Of another namespace than ours,
// as in a container that shares a folder with us, we cannot tell, so it does.
func (o Owner) Lives() bool {
	if ours, err := namespace(); err != nil || o.namespace != ours {
		return true
	}
	started, err := startTime(o.pid)
	return err == nil && started == o.started
}

// namespace is the number of the one that process ids count in.
func namespace() (uint64, error) {
	text, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return 0, fmt.Errorf("cannot ask in which namespace process ids count: %w", err)
	}
	number, err := strconv.ParseUint(strings.Trim(text, "pid:[]"), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("cannot read the namespace %q: %w", text, err)
	}
	return number, nil
}

// startTime asks the kernel when a process has started.
func startTime(pid int) (uint64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("cannot ask when process %d has started: %w", pid, err)
	}
	// The second field is the program's name in brackets and may hold blanks.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const state, started = 0, 19 // They are fields 3 and 22, and these begin with field 3.
	if len(fields) <= started || fields[state] == "Z" {
		return 0, fmt.Errorf("process %d has ended", pid)
	}
	return strconv.ParseUint(fields[started], 10, 64)
}

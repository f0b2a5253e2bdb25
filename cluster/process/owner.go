package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// An Owner says which process something belongs to: its id and when it has
// started, so that a later process with the same id owns nothing. As text it
// can be part of a file's name.
type Owner struct {
	pid     int
	started uint64 // In the kernel's ticks since boot.
}

// Self is this process.
func Self() (Owner, error) {
	started, err := startTime(os.Getpid())
	if err != nil {
		return Owner{}, err
	}
	return Owner{os.Getpid(), started}, nil
}

// ParseOwner reads what String has written.
func ParseOwner(text string) (Owner, error) {
	id, ticks, _ := strings.Cut(text, "-")
	pid, err := strconv.Atoi(id)
	started, err2 := strconv.ParseUint(ticks, 10, 64)
	if err := errors.Join(err, err2); err != nil {
		return Owner{}, fmt.Errorf("cannot read an owner from %q: %w", text, err)
	}
	return Owner{pid, started}, nil
}

// String is what ParseOwner reads.
func (o Owner) String() string { return fmt.Sprintf("%d-%d", o.pid, o.started) }

// Lives says whether the process still runs.
func (o Owner) Lives() bool {
	started, err := startTime(o.pid)
	return err == nil && started == o.started
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

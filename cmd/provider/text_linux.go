package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// giveBackText lets the kernel take the program's text and constants out of this
// process again. Every package initialises itself, also those that only another
// mode works with, and that touches nearly all of the text once. What a mode
// needs comes back from the page cache when it is needed; the rest, some 13 MiB,
// stays out.
func giveBackText() error {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("cannot tell the program's file: %w", err)
	}
	file, err := os.Open("/proc/self/smaps")
	if err != nil {
		return fmt.Errorf("cannot tell where the text lies: %w", err)
	}
	defer file.Close() //nolint:errcheck // It was only read.

	for _, m := range textOf(program, file) {
		_, _, errno := syscall.Syscall(syscall.SYS_MADVISE, m.start, m.end-m.start, syscall.MADV_DONTNEED)
		if errno != 0 {
			err = errors.Join(err, fmt.Errorf("cannot give back %d bytes of text: %w", m.end-m.start, errno))
		}
	}
	return err
}

// A mapping is a part of the process's memory, end not included.
type mapping struct{ start, end uintptr }

// textOf finds the read-only mappings of a program in /proc/PID/smaps. Those with
// a page that is no longer the file's, such as one with a debugger's breakpoint,
// are left out: that page could not be read again.
func textOf(program string, smaps io.Reader) []mapping {
	var found []mapping
	var here mapping
	readOnly := false
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		line := lines.Text()
		var next mapping
		var rights string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &next.start, &next.end, &rights); err == nil {
			here, readOnly = next, strings.HasSuffix(line, " "+program) && (rights == "r-xp" || rights == "r--p")
			continue
		}
		if text, is := strings.CutPrefix(line, "Anonymous:"); is && readOnly && strings.TrimSpace(text) == "0 kB" {
			found = append(found, here)
		}
	}
	return found
}

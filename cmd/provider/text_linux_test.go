package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTextOf(t *testing.T) {
	smaps := func(header, anonymous string) string {
		return header + "\nSize:              25904 kB\nRss:               19952 kB\nAnonymous:         " + anonymous + "\nVmFlags: rd ex mr mw me\n"
	}
	const program = "/usr/bin/provider-finops"
	cases := map[string]struct {
		reason, smaps string
		want          []mapping
	}{
		"TextAndConstants": {
			"Both are the file's.",
			smaps("00400000-01b36000 r-xp 00000000 fe:00 11117737                           "+program, "0 kB") +
				smaps("01b36000-03482000 r--p 01736000 fe:00 11117737                           "+program, "0 kB"),
			[]mapping{{0x400000, 0x1b36000}, {0x1b36000, 0x3482000}},
		},
		"Variables":   {"What was written there is nowhere else.", smaps("03482000-03540000 rw-p 03082000 fe:00 11117737 "+program, "0 kB"), nil},
		"Breakpoint":  {"A page of it is not the file's any more.", smaps("00400000-01b36000 r-xp 00000000 fe:00 11117737 "+program, "4 kB"), nil},
		"Heap":        {"It is no file's.", smaps("3d1f1c00000-3d1f2400000 rw-p 00000000 00:00 0 ", "4552 kB"), nil},
		"AnotherFile": {"The kernel's own.", smaps("7ffd1a9f2000-7ffd1a9f4000 r-xp 00000000 00:00 0                          [vdso]", "0 kB"), nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := textOf(program, strings.NewReader(tc.smaps))
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(mapping{})); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// The kernel takes the text, and the process goes on.
func TestGiveBackText(t *testing.T) {
	if err := giveBackText(); err != nil {
		t.Error(err)
	}
}

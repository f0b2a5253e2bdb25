package demo

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// A stage is where the demo speaks: what it does, what a user would type, and
// what that prints.
type stage struct {
	out     io.Writer
	began   time.Time
	chapter int
}

func newStage(out io.Writer) *stage { return &stage{out: out, began: time.Now()} }

// open begins a chapter.
func (s *stage) open(title string) {
	s.chapter++
	_, _ = fmt.Fprintf(s.out, "\n== %d. %s  [%s]\n", s.chapter, title, time.Since(s.began).Round(100*time.Millisecond))
}

// blank parts two thoughts of a chapter.
func (s *stage) blank() { _, _ = fmt.Fprintln(s.out) }

func (s *stage) sayf(format string, args ...any) {
	_, _ = fmt.Fprintf(s.out, "   "+format+"\n", args...)
}

// typed shows a command, as the user would type it.
func (s *stage) typed(command string) {
	_, _ = fmt.Fprintf(s.out, "\n   $ %s\n", strings.ReplaceAll(command, "\n", "\n     "))
}

func (s *stage) printed(text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
		_, _ = fmt.Fprint(s.out, "     "+line)
	}
}

package bench

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"
)

// The marks in a document between which a report stands.
const (
	beginMark = "<!-- The figures down to the end mark are written by `make bench-docs`. -->"
	endMark   = "<!-- end of the figures -->"
)

// Rewrite returns a document with the figures of a report between its marks. All
// else stays as it is.
func Rewrite(document []byte, r *Report) ([]byte, error) {
	before, rest, ok := bytes.Cut(document, []byte(beginMark))
	_, after, ended := bytes.Cut(rest, []byte(endMark))
	if !ok || !ended {
		return nil, errors.New("the document has no marks to put the figures between")
	}
	return bytes.Join([][]byte{before, []byte(beginMark + "\n\n"), []byte(Markdown(r)), []byte("\n" + endMark), after}, nil), nil
}

// Markdown writes the report for a document.
func Markdown(r *Report) string {
	var out strings.Builder
	fmt.Fprintf(&out, "Made on %s in %s, at scale %s. %s.\n\n", r.Began.UTC().Format("2006-01-02 15:04 UTC"), r.Took.Round(time.Second), figure(r.Scale), r.Machine)
	fmt.Fprintf(&out, "%d of %d goals pass.\n\n", len(r.Results)-r.Short(), len(r.Results))
	out.WriteString("| Goal | What | Measured | Limit | | Ratio | Must | Result |\n|---|---|---:|---:|---|---:|---:|---|\n")
	for i := range r.Results {
		one := &r.Results[i]
		if one.Err != "" {
			fmt.Fprintf(&out, "| %s | %s | | | | | %s | error |\n", one.ID, one.Title, one.bound())
			continue
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", one.ID, one.Title, figure(one.Measure.Value), figure(one.Measure.Limit),
			one.Measure.Unit, figure(one.Ratio), one.bound(), one.verdict())
	}
	out.WriteString("\nWhat each ratio is, and what else was seen:\n\n")
	for i := range r.Results {
		one := &r.Results[i]
		fmt.Fprintf(&out, "* **%s**: %s.\n", one.ID, one.Means)
		if one.Err != "" {
			fmt.Fprintf(&out, "  It could not be measured: %s.\n", strings.ReplaceAll(one.Err, "\n", " "))
		}
		for _, note := range one.Measure.Notes {
			fmt.Fprintf(&out, "  %s.\n", note)
		}
	}
	return out.String()
}

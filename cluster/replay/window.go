package replay

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A window is half-open, [start, end).
type window struct{ start, end time.Time }

// String writes it as the server's messages do.
func (w window) String() string {
	const layout = "2006-01-02T15:04:05-0700"
	return fmt.Sprintf("[%s, %s)", w.start.Format(layout), w.end.Format(layout))
}

var (
	// The server's own pattern is not anchored either.
	instantPair = regexp.MustCompile(`(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z),(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z)`)
	unixPair    = regexp.MustCompile(`^(\d+)[,|-](\d+)$`)
	relative    = regexp.MustCompile(`^(today|yesterday|week|lastweek|month|lastmonth|\d+[mhdw]( offset \d+[mhdw])?)$`)
)

// A windowKind says how the server takes a window parameter.
type windowKind int

const (
	windowIllegal    windowKind = iota // Refused.
	windowPair                         // Two instants.
	windowImpossible                   // A date such as month 13: the server never answers.
	windowRelative                     // Legal there, but about no particular hour.
)

func parseWindow(text string) (window, windowKind) {
	if m := instantPair.FindStringSubmatch(text); m != nil {
		start, startErr := time.Parse(time.RFC3339, m[1])
		end, endErr := time.Parse(time.RFC3339, m[2])
		if startErr != nil || endErr != nil {
			return window{}, windowImpossible
		}
		return window{start, end}, windowPair
	}
	if m := unixPair.FindStringSubmatch(text); m != nil {
		start, startErr := strconv.ParseInt(m[1], 10, 64)
		end, endErr := strconv.ParseInt(m[2], 10, 64)
		if startErr == nil && endErr == nil {
			return window{time.Unix(start, 0).UTC(), time.Unix(end, 0).UTC()}, windowPair
		}
	}
	if relative.MatchString(text) {
		return window{}, windowRelative
	}
	return window{}, windowIllegal
}

// parseStep reads a Go duration, or a number of days or weeks. Like the server
// it takes what it cannot read for not given: the whole window is one step.
func parseStep(text string, w window) time.Duration {
	whole := w.end.Sub(w.start)
	days := map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour}
	for unit, length := range days {
		if n, err := strconv.Atoi(strings.TrimSuffix(text, unit)); err == nil && strings.HasSuffix(text, unit) {
			return time.Duration(n) * length
		}
	}
	if text == "0" {
		return 0
	}
	step, err := time.ParseDuration(text)
	if err != nil {
		return whole
	}
	return step
}

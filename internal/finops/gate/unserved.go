package gate

import (
	"strings"
	"time"
)

// Unserved is what becomes of a deleted Subscription that no collector will
// release, where the controller may do so itself (BETTER-SUB-11).
type Unserved struct {
	// Since is from when on no collector has been there, or the deletion if that
	// came later.
	Since time.Time

	// From is when the controller settles it at the earliest.
	From time.Time

	// Held is what the last attempt came to, empty before the first.
	Held string
}

const unservedSince = "; without one since "

// String completes what a wind-down waits for.
func (u Unserved) String() string {
	text := unservedSince + u.Since.UTC().Format(time.RFC3339) +
		", the controller settles them itself from " + u.From.UTC().Format(time.RFC3339) + " on"
	if u.Held != "" {
		text += " (" + u.Held + ")"
	}
	return text
}

// UnservedSince reads from what was said of a wind-down since when it has been
// unserved. It is all that is remembered of that over a restart. It reports false
// if nothing of the kind was said.
func UnservedSince(said string) (time.Time, bool) {
	_, after, found := strings.Cut(said, unservedSince)
	text, _, _ := strings.Cut(after, ",")
	since, err := time.Parse(time.RFC3339, text)
	return since, found && err == nil
}

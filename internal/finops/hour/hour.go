// Package hour decides which hour a collector run works on.
//
// The unit of all collection is the whole hour in UTC, named by its start. A
// run is pinned to one such hour when it starts, from what scheduled it and not
// from the clock, so that every retry of a Job does the same work. Both
// collectors pin alike; what they then do with the hour is theirs.
package hour

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Length is the length of every window that is collected or charged.
const Length = time.Hour

const (
	// maxLead is how far the pinned hour may lie ahead of the clock: a little,
	// because two machines never agree, and no more, because an hour that has
	// not begun has nothing to measure (design R14).
	maxLead = 5 * time.Minute

	// maxJobAge is how old a Job may be for its name to be believed (BETTER-CJ-6).
	maxJobAge = 7 * 24 * time.Hour
)

// ErrAhead says that the pinned hour has not begun.
var ErrAhead = errors.New("the hour has not begun")

// A Source says what an hour was pinned by.
type Source string

// The sources of an hour, in the order in which they are asked.
const (
	FromSchedule Source = "schedule" // SCHEDULED_TIMESTAMP.
	FromJobName  Source = "job name" // The suffix a CronJob gives its Jobs.
	FromClock    Source = "clock"    // Nothing said otherwise: a run by hand.
)

// A Hint is what a run knows about why it was started. Every part of it may be
// empty.
type Hint struct {
	Scheduled string // SCHEDULED_TIMESTAMP: RFC 3339, in whatever zone.
	Job       string // The name of the Job this run belongs to.
	CronJob   string // The name of the CronJob that would have made the Job.
}

// Unread returns a scheduled time that is there and cannot be read, or nothing.
// A run goes by what comes after it then, and should say so: whoever wrote it
// meant another hour.
func (h Hint) Unread() string {
	if _, err := time.Parse(time.RFC3339, h.Scheduled); err != nil {
		return h.Scheduled
	}
	return ""
}

// Of returns the hour that contains t.
func Of(t time.Time) time.Time {
	return t.UTC().Truncate(Length)
}

// Pin returns the hour a run works on: the one that was scheduled, else the one
// in the Job's name (BETTER-CJ-6: Kubernetes never fills the former on a pod),
// else the one that contains now. It returns ErrAhead for an hour that begins
// more than five minutes after now.
func Pin(hint Hint, now time.Time) (time.Time, Source, error) {
	at, source := instant(hint, now)

	pinned := Of(at)
	if pinned.After(now.Add(maxLead)) {
		return time.Time{}, source, fmt.Errorf("cannot work on hour %q by the %s at %q: %w",
			pinned.Format(time.RFC3339), source, now.UTC().Format(time.RFC3339), ErrAhead)
	}

	return pinned, source, nil
}

// Begun returns the pinned hour if it has begun, else the one that contains now.
// Where two machines' clocks disagree a run may be pinned a little ahead, but
// what is settled then has no later chance: an hour is closed when it is over.
func Begun(pinned, now time.Time) time.Time {
	if current := Of(now); pinned.After(current) {
		return current
	}
	return pinned
}

func instant(hint Hint, now time.Time) (time.Time, Source) {
	if at, err := time.Parse(time.RFC3339, hint.Scheduled); err == nil {
		return at, FromSchedule
	}
	if at, ok := ofJob(hint.Job, hint.CronJob, now); ok {
		return at, FromJobName
	}
	return now, FromClock
}

// ofJob reads the minute a CronJob was due from the name of the Job it made,
// which is the CronJob's name and the minutes since the Unix epoch. Any other
// name that happens to end in digits says nothing.
func ofJob(job, cronJob string, now time.Time) (time.Time, bool) {
	suffix, made := strings.CutPrefix(job, cronJob+"-")
	if !made || cronJob == "" {
		return time.Time{}, false
	}

	minutes, err := strconv.ParseUint(suffix, 10, 32)
	if err != nil {
		return time.Time{}, false
	}

	at := time.Unix(int64(minutes)*60, 0).UTC()
	if at.Before(now.Add(-maxJobAge)) || at.After(now.Add(maxLead)) {
		return time.Time{}, false
	}
	return at, true
}

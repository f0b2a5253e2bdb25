package main

import (
	"time"

	"k8s.io/utils/clock"
)

// movedClock is business time at a distance from the machine's.
type movedClock struct {
	clock.PassiveClock

	offset time.Duration
}

// businessClock returns the one clock a process takes business time from.
func businessClock(offset time.Duration) clock.PassiveClock {
	if offset == 0 {
		return clock.RealClock{}
	}
	return movedClock{PassiveClock: clock.RealClock{}, offset: offset}
}

// Now is the machine's time, moved.
func (c movedClock) Now() time.Time { return c.PassiveClock.Now().Add(c.offset) }

// Since is the moved time that has passed since t.
func (c movedClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

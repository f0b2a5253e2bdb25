// Package schedule turns the interval of a CostJob into the schedule of its
// CronJob.
//
// The unit of work is the whole UTC hour, so an interval is not translated but
// looked up in a short list; what is not on the list runs once a day.
package schedule

import "time"

// Daily is the schedule of the default interval, and of every interval that
// is not on the list.
const Daily = "0 0 * * *"

const hourly = "0 * * * *"

// cron lists the intervals that have a schedule of their own. The two below an
// hour are debugging aids: they recompute the current hour more often.
var cron = map[time.Duration]string{
	time.Minute:     "* * * * *",
	5 * time.Minute: "*/5 * * * *",
	time.Hour:       hourly,
	6 * time.Hour:   "0 */6 * * *",
	12 * time.Hour:  "0 */12 * * *",
	24 * time.Hour:  Daily,
}

// Of returns the cron schedule for an interval, in UTC. The answer for an
// interval that is not on the list is Daily and false: the schedule stands as
// documented, and the caller tells the user (BETTER-CJ-2). An interval that is
// not positive is no interval and is treated the same way (OPEN-API-4).
func Of(interval time.Duration) (spec string, recognised bool) {
	spec, recognised = cron[interval]
	if !recognised {
		return Daily, false
	}
	return spec, true
}

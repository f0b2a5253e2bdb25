package charge

import (
	"time"

	"github.com/provider-finops/provider-finops/internal/finops/hour"
)

// A Run is what a collector run is pinned to.
type Run struct {
	// Hour is the hour in progress. It never changes while the run lasts.
	Hour time.Time

	// SettledBefore is the end of the hours whose measurements are final: the
	// allocation boundary or the Hour, whichever is earlier. The zero time
	// settles nothing.
	SettledBefore time.Time
}

// Windows are the hours a run has to write for one Subscription, each named by
// its start.
type Windows struct {
	// First to End, End not included, are the closed hours, oldest first. There
	// are none if End is not after First.
	First, End time.Time

	// Current says that the hour in progress is written too.
	Current bool
}

// Each calls do for every closed hour, oldest first, until it returns false.
func (w Windows) Each(do func(start time.Time) bool) {
	for h := w.First; h.Before(w.End); h = h.Add(hour.Length) {
		if !do(h) {
			return
		}
	}
}

// Within cuts the closed hours to those from start to end, end not included.
func (w Windows) Within(start, end time.Time) Windows {
	if w.First.Before(start) {
		w.First = start
	}
	if w.End.After(end) {
		w.End = end
	}
	return w
}

// Count is the number of closed hours.
func (w Windows) Count() int {
	return max(0, int(w.End.Sub(w.First)/hour.Length))
}

// Windows says which hours a run has to write, given the latest hour that is
// already final, or the zero time if none is (OPEN-CJ-14). A run goes all the
// way, however much there is to catch up (OPEN-CJ-20), and not past the end of
// the life (OPEN-CJ-17).
func (b Bill) Windows(run Run, finalizedThrough time.Time) Windows {
	w := Windows{First: hour.Of(b.life.ActivatedAt), End: run.Hour}
	if next := finalizedThrough.Add(hour.Length); !finalizedThrough.IsZero() && next.After(w.First) {
		w.First = next
	}

	end, ended := b.end()
	if closed := hourAtOrAfter(end); ended && closed.Before(w.End) {
		w.End = closed
	}
	w.Current = !w.First.After(run.Hour) && (!ended || run.Hour.Before(end))
	return w
}

// Final reports whether the rows of a closed hour will never change: at once
// for a Subscription that is charged a fee only, and for a metered one as soon
// as the measurements are final. All rows of an hour share the answer
// (OPEN-CJ-13), for there is one watermark and it must not pass open usage.
func (b Bill) Final(run Run, window time.Time) bool {
	return window.Before(b.finalEnd(run))
}

// finalEnd is the end of a run's final hours.
func (b Bill) finalEnd(run Run) time.Time {
	if b.metered && run.SettledBefore.Before(run.Hour) {
		return run.SettledBefore
	}
	return run.Hour
}

// FinalThrough is the latest of the closed hours such that it and all before it
// are final: the new watermark. It reports false if none of them is.
func (b Bill) FinalThrough(run Run, w Windows) (time.Time, bool) {
	end := w.End
	if f := b.finalEnd(run); f.Before(end) {
		end = f
	}
	if !w.First.Before(end) {
		return time.Time{}, false
	}
	return end.Add(-hour.Length), true
}

package tick

import "time"

// A grid is the row of tick boundaries of one life. Boundaries are numbered
// from one; all times are Unix seconds.
type grid struct {
	period    Period
	activated int64
}

// ticks counts the boundaries b with activated < b <= t.
func (g grid) ticks(t int64) int64 {
	if g.period.alignment == MonthBoundary {
		// One boundary for every count of months that began since the activation,
		// whose own month began before it or with it.
		return max(0, floorDiv(monthOf(t)-monthOf(g.activated), g.period.count))
	}
	first := g.first()
	if t < first {
		return 0
	}
	return 1 + (t-first)/g.period.seconds
}

// boundary is the n-th boundary, n >= 1.
func (g grid) boundary(n int64) int64 {
	if g.period.alignment == MonthBoundary {
		return startOfMonth(monthOf(g.activated) + n*g.period.count)
	}
	return g.first() + (n-1)*g.period.seconds
}

// first is the first boundary, strictly after the activation even if that lies
// on the grid.
func (g grid) first() int64 {
	switch g.period.alignment {
	case HourBoundary:
		return (floorDiv(g.activated, g.period.seconds) + 1) * g.period.seconds
	case DayBoundary:
		// The next midnight, however many days the period has.
		return (floorDiv(g.activated, secondsPerDay) + 1) * secondsPerDay
	case MonthBoundary:
		return g.boundary(1)
	case ActivatedAt:
	}
	return g.activated + g.period.seconds
}

// snap is the first boundary at or after t.
func (g grid) snap(t int64) int64 {
	n := g.ticks(t)
	if n > 0 && g.boundary(n) == t {
		return t
	}
	return g.boundary(n + 1)
}

// monthOf numbers the month of t, counted from January of the year zero.
func monthOf(t int64) int64 {
	year, month, _ := time.Unix(t, 0).UTC().Date()
	return int64(year)*monthsPerYear + int64(month-time.January)
}

// startOfMonth is the first instant of the month of that number.
func startOfMonth(month int64) int64 {
	year := floorDiv(month, monthsPerYear)
	return time.Date(int(year), time.January+time.Month(month-year*monthsPerYear), 1, 0, 0, 0, 0, time.UTC).Unix()
}

// floorDiv divides by a positive divisor and rounds down, for times before 1970
// as well.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

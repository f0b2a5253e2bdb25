package pricing

import "github.com/provider-finops/provider-finops/internal/finops/tick"

// The alignments of fee ticks, as Offerings spell them.
const (
	AlignActivatedAt   = string(tick.ActivatedAt)
	AlignHourBoundary  = string(tick.HourBoundary)
	AlignDayBoundary   = string(tick.DayBoundary)
	AlignMonthBoundary = string(tick.MonthBoundary)
)

// CanonicalPeriod writes a period as it is published. One that cannot be read is
// shown as it was given: that it cannot be charged is said elsewhere.
func CanonicalPeriod(alignment, period string) string {
	p, err := tick.ParsePeriod(tick.Alignment(alignment), period)
	if err != nil {
		return period
	}
	return p.String()
}

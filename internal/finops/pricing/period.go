package pricing

import "strings"

// The alignments of fee ticks, as Offerings spell them.
const (
	AlignActivatedAt   = "ActivatedAt"
	AlignHourBoundary  = "HourBoundary"
	AlignDayBoundary   = "DayBoundary"
	AlignMonthBoundary = "MonthBoundary"
)

// CanonicalPeriod writes a period as it is published: without leading zeros and
// with its unit. A period of ActivatedAt names its unit itself and is never
// converted to another: 90m stays 90m.
func CanonicalPeriod(alignment, period string) string {
	period = strings.TrimLeft(period, "0")
	unit := map[string]string{AlignHourBoundary: "h", AlignDayBoundary: "d", AlignMonthBoundary: "mo"}[alignment]
	return strings.TrimSuffix(period, unit) + unit
}

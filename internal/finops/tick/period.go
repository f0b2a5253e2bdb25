package tick

import (
	"fmt"
	"strconv"
	"strings"
)

// An Alignment says on which grid the tick boundaries lie.
type Alignment string

// The alignments there are.
const (
	ActivatedAt   Alignment = "ActivatedAt"   // One period after another, from the activation on.
	HourBoundary  Alignment = "HourBoundary"  // Every n hours since the Unix epoch (OPEN-BILL-1).
	DayBoundary   Alignment = "DayBoundary"   // Midnight, then every n days.
	MonthBoundary Alignment = "MonthBoundary" // The first of every n-th month after that of the activation (OPEN-BILL-2).
)

const (
	secondsPerMinute = 60
	secondsPerHour   = 60 * secondsPerMinute
	secondsPerDay    = 24 * secondsPerHour

	// secondsPerMonth is what the opening tick of a month is measured against:
	// a twelfth of 365.25 days, whatever month it is.
	secondsPerMonth = 2_629_800

	monthsPerYear = 12
)

// maxPeriodLength is how long the text of a period may be.
const maxPeriodLength = 8

// A Period is the length of a tick: a count of units on the grid of an
// alignment. Make one with [ParsePeriod]; the zero Period is of no use.
type Period struct {
	alignment Alignment
	count     int64
	suffix    string // The unit as it is published, such as "mo".
	seconds   int64  // The nominal length of the whole period.
}

// A unit is what a period counts under some alignment.
type unit struct {
	suffix  string
	seconds int64
}

// A rule says how periods are written under one alignment (OPEN-API-8).
type rule struct {
	units     []unit // The suffixes that are understood.
	bare      bool   // The suffix may be left out.
	maxDigits int    // Without leading zeros.
}

var rules = map[Alignment]rule{
	ActivatedAt:   {units: []unit{{"h", secondsPerHour}, {"m", secondsPerMinute}, {"s", 1}}, maxDigits: maxPeriodLength - 1},
	HourBoundary:  {units: []unit{{"h", secondsPerHour}}, bare: true, maxDigits: 6},
	DayBoundary:   {units: []unit{{"d", secondsPerDay}}, bare: true, maxDigits: 5},
	MonthBoundary: {units: []unit{{"mo", secondsPerMonth}}, bare: true, maxDigits: 3},
}

// ParsePeriod reads the text of a period under an alignment: a whole number
// greater than zero and its unit, which the boundary alignments let one leave
// out. The error names the text and what would have been understood.
func ParsePeriod(alignment Alignment, text string) (Period, error) {
	r, known := rules[alignment]
	if !known {
		return Period{}, fmt.Errorf("cannot read period %q: unknown tickAlignment %q", text, alignment)
	}
	if len(text) > maxPeriodLength {
		return Period{}, fmt.Errorf("cannot read period %q: longer than %d characters", text, maxPeriodLength)
	}

	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz")
	u, ok := r.unit(text[len(digits):])
	if !ok {
		return Period{}, fmt.Errorf("cannot read period %q under tickAlignment %s: the unit must be one of %s", text, alignment, r)
	}

	count := strings.TrimLeft(digits, "0")
	if strings.Trim(digits, "0123456789") != "" || count == "" {
		return Period{}, fmt.Errorf("cannot read period %q under tickAlignment %s: want a whole number greater than zero", text, alignment)
	}
	if len(count) > r.maxDigits {
		return Period{}, fmt.Errorf("cannot read period %q under tickAlignment %s: more than %d digits", text, alignment, r.maxDigits)
	}

	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil {
		return Period{}, fmt.Errorf("cannot read period %q under tickAlignment %s: %w", text, alignment, err)
	}
	return Period{alignment: alignment, count: n, suffix: u.suffix, seconds: n * u.seconds}, nil
}

// Alignment is the grid the period is meant for.
func (p Period) Alignment() Alignment { return p.alignment }

// String is the form in which a period is published: without leading zeros and
// always with its unit, which is never converted to another (30.5).
func (p Period) String() string { return strconv.FormatInt(p.count, 10) + p.suffix }

// Seconds is the nominal length of a full period. A month counts 2,629,800
// seconds, whichever it is.
func (p Period) Seconds() int64 { return p.seconds }

func (r rule) unit(suffix string) (unit, bool) {
	if suffix == "" && r.bare {
		return r.units[0], true
	}
	for _, u := range r.units {
		if u.suffix == suffix {
			return u, true
		}
	}
	return unit{}, false
}

// String lists the suffixes for a message.
func (r rule) String() string {
	names := make([]string, 0, len(r.units)+1)
	for _, u := range r.units {
		names = append(names, strconv.Quote(u.suffix))
	}
	if r.bare {
		names = append(names, "none")
	}
	return strings.Join(names, ", ")
}

package tick

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestParsePeriod holds what the API accepts and refuses (specification 10.5,
// OPEN-API-8) and the published forms (30.5).
func TestParsePeriod(t *testing.T) {
	type want struct {
		published string
		seconds   int64
		err       string
	}
	cases := map[string]struct {
		reason    string
		alignment Alignment
		text      string
		want      want
	}{
		"Minutes":           {reason: "A unit is never converted to another.", alignment: ActivatedAt, text: "90m", want: want{published: "90m", seconds: 5400}},
		"Hours":             {reason: "Hours follow the activation.", alignment: ActivatedAt, text: "1h", want: want{published: "1h", seconds: 3600}},
		"Seconds":           {reason: "Seconds stay seconds.", alignment: ActivatedAt, text: "3600s", want: want{published: "3600s", seconds: 3600}},
		"LeadingZeros":      {reason: "Leading zeros mean nothing.", alignment: ActivatedAt, text: "0090m", want: want{published: "90m", seconds: 5400}},
		"LongestHours":      {reason: "Longer than a duration of nanoseconds can be.", alignment: ActivatedAt, text: "9999999h", want: want{published: "9999999h", seconds: 35999996400}},
		"BareHour":          {reason: "A boundary alignment has only one unit.", alignment: HourBoundary, text: "1", want: want{published: "1h", seconds: 3600}},
		"ZeroPaddedHour":    {reason: "Leading zeros mean nothing.", alignment: HourBoundary, text: "01", want: want{published: "1h", seconds: 3600}},
		"SuffixedHour":      {reason: "The unit may be written.", alignment: HourBoundary, text: "2h", want: want{published: "2h", seconds: 7200}},
		"LongestHourGrid":   {reason: "The largest number of hours.", alignment: HourBoundary, text: "999999h", want: want{published: "999999h", seconds: 3599996400}},
		"BareDay":           {reason: "A boundary alignment has only one unit.", alignment: DayBoundary, text: "7", want: want{published: "7d", seconds: 604800}},
		"SuffixedDay":       {reason: "The unit may be written.", alignment: DayBoundary, text: "7d", want: want{published: "7d", seconds: 604800}},
		"LongestDayGrid":    {reason: "The largest number of days.", alignment: DayBoundary, text: "99999d", want: want{published: "99999d", seconds: 8639913600}},
		"BareMonth":         {reason: "A boundary alignment has only one unit.", alignment: MonthBoundary, text: "3", want: want{published: "3mo", seconds: 7889400}},
		"SuffixedMonth":     {reason: "The unit may be written.", alignment: MonthBoundary, text: "3mo", want: want{published: "3mo", seconds: 7889400}},
		"LongestMonthGrid":  {reason: "The largest number of months.", alignment: MonthBoundary, text: "999mo", want: want{published: "999mo", seconds: 2627170200}},
		"TwoUnits":          {reason: "One unit only.", alignment: ActivatedAt, text: "1h30m", want: want{err: "whole number"}},
		"Zero":              {reason: "No time is no period.", alignment: HourBoundary, text: "0", want: want{err: "greater than zero"}},
		"ZeroHours":         {reason: "No time is no period.", alignment: ActivatedAt, text: "0h", want: want{err: "greater than zero"}},
		"DayUnderHour":      {reason: "The unit of another alignment.", alignment: HourBoundary, text: "1d", want: want{err: `must be one of "h", none`}},
		"HourUnderDay":      {reason: "The unit of another alignment.", alignment: DayBoundary, text: "1h", want: want{err: `must be one of "d", none`}},
		"MinuteUnderMonth":  {reason: "A minute is no month.", alignment: MonthBoundary, text: "1m", want: want{err: `must be one of "mo", none`}},
		"MonthUnderOwn":     {reason: "A month has no fixed length to follow an activation with.", alignment: ActivatedAt, text: "1mo", want: want{err: `must be one of "h", "m", "s"`}},
		"BareUnderOwn":      {reason: "Without a grid the unit has to be written.", alignment: ActivatedAt, text: "1", want: want{err: `must be one of "h", "m", "s"`}},
		"Negative":          {reason: "Time does not run backwards.", alignment: ActivatedAt, text: "-1h", want: want{err: "whole number"}},
		"Fraction":          {reason: "Whole numbers only.", alignment: DayBoundary, text: "1.5d", want: want{err: "whole number"}},
		"Plus":              {reason: "No signs.", alignment: DayBoundary, text: "+1", want: want{err: "whole number"}},
		"Unicode":           {reason: "Only the ten digits of ASCII.", alignment: DayBoundary, text: "٧", want: want{err: "whole number"}},
		"Capital":           {reason: "Units are written small.", alignment: ActivatedAt, text: "1H", want: want{err: "must be one of"}},
		"Empty":             {reason: "Nothing is no period.", alignment: DayBoundary, text: "", want: want{err: "greater than zero"}},
		"TooManyHours":      {reason: "Above the largest number of hours.", alignment: HourBoundary, text: "1000000", want: want{err: "more than 6 digits"}},
		"TooManyDays":       {reason: "Above the largest number of days.", alignment: DayBoundary, text: "100000", want: want{err: "more than 5 digits"}},
		"TooManyMonths":     {reason: "Above the largest number of months.", alignment: MonthBoundary, text: "1000", want: want{err: "more than 3 digits"}},
		"TooLong":           {reason: "Longer than the API lets through.", alignment: ActivatedAt, text: "00000001h", want: want{err: "longer than 8 characters"}},
		"UnknownAlignment":  {reason: "There is no such grid.", alignment: "WeekBoundary", text: "1", want: want{err: "unknown tickAlignment"}},
		"NumberAfterSuffix": {reason: "The unit comes last.", alignment: HourBoundary, text: "h1", want: want{err: "whole number"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := ParsePeriod(tc.alignment, tc.text)
			if tc.want.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want.err) {
					t.Errorf("%s\nParsePeriod(%s, %q): want an error with %q, got %v", tc.reason, tc.alignment, tc.text, tc.want.err, err)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s\nParsePeriod(%s, %q): %v", tc.reason, tc.alignment, tc.text, err)
			}
			got := want{published: p.String(), seconds: p.Seconds()}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s\nParsePeriod(%s, %q): -want, +got:\n%s", tc.reason, tc.alignment, tc.text, diff)
			}
		})
	}
}

// FuzzParsePeriod checks that what is read is positive and fits, and that the
// published form of a period is read as the same period.
func FuzzParsePeriod(f *testing.F) {
	for _, text := range []string{"1h", "90m", "3600s", "9999999h", "1", "07", "7d", "3mo", "", "0", "-1", "1h30m", "٧"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, alignment := range []Alignment{ActivatedAt, HourBoundary, DayBoundary, MonthBoundary} {
			p, err := ParsePeriod(alignment, text)
			if err != nil {
				continue
			}
			if p.count < 1 || p.seconds < p.count || p.Alignment() != alignment {
				t.Errorf("ParsePeriod(%s, %q) = %+v, which is no period", alignment, text, p)
			}
			again, err := ParsePeriod(alignment, p.String())
			if err != nil || again != p {
				t.Errorf("ParsePeriod(%s, %q) = %+v, published as %q, read back as %+v, %v", alignment, text, p, p, again, err)
			}
		}
	})
}

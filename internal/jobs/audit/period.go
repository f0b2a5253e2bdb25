package audit

import (
	"fmt"
	"slices"
	"time"

	"github.com/provider-finops/provider-finops/internal/finops/charge"
	"github.com/provider-finops/provider-finops/internal/finops/hour"
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
)

// A Period is a month, a day or an hour, in UTC, end not included.
type Period struct {
	Granularity charge.Granularity
	Start, End  time.Time
}

func (p Period) isHour() bool { return p.Granularity == charge.Hour }

// ParsePeriod reads a month such as 2026-04, a day such as 2026-04-01, or an hour
// such as 2026-04-01T10 or 2026-04-01T10:00:00Z.
func ParsePeriod(text string) (Period, error) {
	for _, form := range []struct {
		layout      string
		granularity charge.Granularity
	}{
		{"2006-01", charge.Month},
		{time.DateOnly, charge.Day},
		{"2006-01-02T15", charge.Hour},
		{"2006-01-02T15:04Z07:00", charge.Hour},
		{time.RFC3339, charge.Hour},
	} {
		t, err := time.Parse(form.layout, text)
		if err != nil {
			continue
		}
		if form.granularity == charge.Hour && !hour.Of(t).Equal(t) {
			return Period{}, fmt.Errorf("cannot use %q: an hour begins at minute 0", text)
		}
		start, end := form.granularity.Span(t)
		return Period{Granularity: form.granularity, Start: start, End: end}, nil
	}
	return Period{}, fmt.Errorf("cannot read %q as a month (2026-04), a day (2026-04-01) or an hour (2026-04-01T10)", text)
}

// ParseSource reads what a row can be for; an empty text is all of it.
func ParseSource(text string) (pricing.Meter, error) {
	if text != "" && !slices.Contains(charge.Sources(), pricing.Meter(text)) {
		return "", fmt.Errorf("cannot explain %q: a row is for one of %v", text, charge.Sources())
	}
	return pricing.Meter(text), nil
}

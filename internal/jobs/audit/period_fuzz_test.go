package audit_test

import (
	"testing"
	"time"

	"github.com/provider-finops/provider-finops/internal/jobs/audit"
)

// FuzzParsePeriod reads what people ask about: whatever is read is a span of
// whole hours in UTC, and its start, written as an hour, is within it.
func FuzzParsePeriod(f *testing.F) {
	for _, text := range []string{
		"2026-04", "2026-04-01", "2026-04-01T10", "2026-04-01T10:00Z", "2026-04-01T10:00:00Z", "2026-04-01T15:30:00+05:30", "2026-02-30", "2026-13",
		"", "2026", "2026-4", "0000-01", "9999-12", "2026-04-01T10:00:00.5Z",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := audit.ParsePeriod(text)
		if err != nil {
			return
		}
		if !p.Start.Before(p.End) || p.Start.Location() != time.UTC || p.Start.Unix()%3600 != 0 || p.End.Unix()%3600 != 0 {
			t.Fatalf("ParsePeriod(%q) = %+v", text, p)
		}
		again, err := audit.ParsePeriod(p.Start.Format(time.RFC3339))
		if err != nil || !again.Start.Equal(p.Start) || again.End.After(p.End) {
			t.Fatalf("ParsePeriod(%q) = %+v; its first hour is read as %+v, %v", text, p, again, err)
		}
	})
}

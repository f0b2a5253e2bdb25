package docs_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/provider-finops/provider-finops/internal/finops/money"
	"github.com/provider-finops/provider-finops/internal/finops/tick"
)

// TestFiguresOfTheFee computes the figures that the page on billing shows.
func TestFiguresOfTheFee(t *testing.T) {
	page := read(t, "concepts/billing.md")
	cases := map[string]struct {
		reason    string
		alignment tick.Alignment
		period    string
		price     money.Micros
		activated string
		ended     string
		from, to  string
		figure    string
	}{
		"OpeningHour":  {"Three quarters of an hour.", tick.HourBoundary, "1", 40000000, "2026-03-05T09:15:00Z", "", "2026-03-05T09:00:00Z", "2026-03-05T10:00:00Z", "30000000"},
		"OpeningDay":   {"The rest of a day.", tick.DayBoundary, "1", 24000000, "2026-03-05T10:20:30Z", "", "2026-03-05T00:00:00Z", "2026-03-06T00:00:00Z", "13658333"},
		"OpeningMonth": {"The rest of a month.", tick.MonthBoundary, "1", 300000000, "2026-08-12T09:15:00Z", "", "2026-08-01T00:00:00Z", "2026-09-01T00:00:00Z", "193326488"},
		"ClosingOwn":   {"Five ticks.", tick.ActivatedAt, "1h", 40000000, "2026-04-01T09:00:00Z", "2026-04-01T13:42:07Z", "2026-04-01T00:00:00Z", "2027-01-01T00:00:00Z", "200000000"},
		"ClosingHour":  {"A part and two whole ones.", tick.HourBoundary, "1", 40000000, "2026-03-05T07:15:00Z", "2026-03-05T09:40:00Z", "2026-03-05T00:00:00Z", "2027-01-01T00:00:00Z", "110000000"},
		"ClosingMonth": {"A whole last month.", tick.MonthBoundary, "1", 500000000, "2026-03-10T00:00:00Z", "2026-04-15T13:00:00Z", "2026-03-01T00:00:00Z", "2027-01-01T00:00:00Z", "861396303"},
		"HourAhead":    {"The tick at its end.", tick.ActivatedAt, "1h", 40000000, "2026-04-01T09:00:00Z", "", "2026-04-01T13:00:00Z", "2026-04-01T14:00:00Z", "| hour 13:00 | | 40000000 |"},
		"DaySoFar":     {"Four ticks at 13:00.", tick.ActivatedAt, "1h", 40000000, "2026-04-01T09:00:00Z", "", "2026-04-01T00:00:00Z", "2026-04-01T13:00:00Z", "| April 1 | 160000000 |"},
		"Day":          {"Fifteen ticks.", tick.ActivatedAt, "1h", 40000000, "2026-04-01T09:00:00Z", "", "2026-04-01T00:00:00Z", "2026-04-02T00:00:00Z", "| 600000000 |"},
		"Month":        {"711 ticks.", tick.ActivatedAt, "1h", 40000000, "2026-04-01T09:00:00Z", "", "2026-04-01T00:00:00Z", "2026-05-01T00:00:00Z", "| 28440000000 |"},
	}
	at := func(text string) time.Time {
		if text == "" {
			return time.Time{}
		}
		when, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			terms, err := tick.ParseTerms(tc.alignment, tc.period, tc.price, 0)
			if err != nil {
				t.Fatal(err)
			}
			amount, err := terms.Over(tick.Life{ActivatedAt: at(tc.activated), DeactivatedAt: at(tc.ended)}).Amount(at(tc.from), at(tc.to))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(tc.figure, fmt.Sprint(amount)) || !strings.Contains(page, tc.figure) {
				t.Errorf("%s\nThe page has to show %q, and it is %d", tc.reason, tc.figure, amount)
			}
		})
	}
}

// TestExplanationsAreShown compares the guide with what the tests of the command
// want it to say.
func TestExplanationsAreShown(t *testing.T) {
	guide := read(t, "guides/follow-a-figure.md")
	for _, name := range []string{"month", "usage-hour", "fee-hour"} {
		said, err := os.ReadFile("../internal/jobs/audit/testdata/explain-" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(guide, strings.TrimSpace(string(said))) {
			t.Errorf("the guide does not show what explain says about %s:\n%s", name, said)
		}
	}
}

// TestFirstBoundaries computes the table of boundaries that the page on billing
// shows.
func TestFirstBoundaries(t *testing.T) {
	page := read(t, "concepts/billing.md")
	cases := map[string]struct {
		alignment tick.Alignment
		period    string
		activated string
		format    string // Of the boundaries, as far as the line writes them out.
		line      string
	}{
		"OwnCycle": {tick.ActivatedAt, "90m", "2026-03-05T10:20:00Z", "15:04, 15:04, 15:04", "| `ActivatedAt`, `90m` | 2026-03-05 10:20 | %s |"},
		"Hours":    {tick.HourBoundary, "6", "2026-03-05T10:20:00Z", "15:04, 15:04, 15:04", "| `HourBoundary`, `6` | 2026-03-05 10:20 | %s |"},
		"Days":     {tick.DayBoundary, "7", "2026-03-05T22:00:00Z", "January 2, 2, 2", "| `DayBoundary`, `7` | 2026-03-05 22:00 | %s at 00:00 |"},
		"Months":   {tick.MonthBoundary, "3", "2026-08-12T09:15:00Z", "January 2, January 2", "| `MonthBoundary`, `3` | 2026-08-12 09:15 | %s |"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			activated, err := time.Parse(time.RFC3339, tc.activated)
			if err != nil {
				t.Fatal(err)
			}
			terms, err := tick.ParseTerms(tc.alignment, tc.period, 1, 0)
			if err != nil {
				t.Fatal(err)
			}
			fee := terms.Over(tick.Life{ActivatedAt: activated})
			var shown []string
			for n, layout := range strings.Split(tc.format, ", ") {
				shown = append(shown, fee.Boundary(int64(n+1)).Format(layout))
			}
			if want := fmt.Sprintf(tc.line, strings.Join(shown, ", ")); !strings.Contains(page, want) {
				t.Errorf("The page has to show %q", want)
			}
		})
	}
}

package charge

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/internal/finops/pricing"
	"github.com/provider-finops/provider-finops/internal/finops/tick"
)

var (
	hourly  = Terms{Fee: fee(tick.ActivatedAt, "1h", 40000000)}
	monthly = Terms{Fee: fee(tick.MonthBoundary, "1", 500000000)}
	usage   = Terms{Meters: []Meter{{Name: pricing.MeterCPUHour}}}
	both    = Terms{Fee: hourly.Fee, Meters: usage.Meters}
)

// TestWindows holds the worked run of the specification, 50.9, and the bounds
// of OPEN-CJ-14, -17 and -20.
func TestWindows(t *testing.T) {
	const none = ""
	type want struct {
		hours   []string // Closed hours; a trailing * marks those that are not final.
		current bool
		through string
	}
	cases := map[string]struct {
		reason    string
		bill      Bill
		run       Run
		watermark string
		want      want
	}{
		"FirstRun": {
			reason: "From the hour of the activation to the pinned one.",
			bill:   NewBill(hourly, since("2026-04-01T09:00:00Z"), false), run: run("2026-04-01T10:00:00Z"),
			want: want{hours: []string{"09"}, current: true, through: "2026-04-01T09:00:00Z"},
		},
		"NextRun": {
			reason: "From the watermark on.",
			bill:   NewBill(hourly, since("2026-04-01T09:00:00Z"), false), run: run("2026-04-01T11:00:00Z"), watermark: "2026-04-01T09:00:00Z",
			want: want{hours: []string{"10"}, current: true, through: "2026-04-01T10:00:00Z"},
		},
		"AfterACrash": {
			reason: "The run of 12:00 did nothing, so that of 13:00 does two hours.",
			bill:   NewBill(hourly, since("2026-04-01T09:00:00Z"), false), run: run("2026-04-01T13:00:00Z"), watermark: "2026-04-01T10:00:00Z",
			want: want{hours: []string{"11", "12"}, current: true, through: "2026-04-01T12:00:00Z"},
		},
		"SameHourAgain": {
			reason: "Nothing is left but the hour in progress.",
			bill:   NewBill(hourly, since("2026-04-01T09:00:00Z"), false), run: run("2026-04-01T13:00:00Z"), watermark: "2026-04-01T12:00:00Z",
			want: want{current: true},
		},
		"EarlierHourAgain": {
			reason: "A late retry of a past hour finds everything final, that hour included.",
			bill:   NewBill(hourly, since("2026-04-01T09:00:00Z"), false), run: run("2026-04-01T11:00:00Z"), watermark: "2026-04-01T12:00:00Z",
			want: want{},
		},
		"Ended": {
			reason: "The hour after the snap is not written, nor is it in progress (50.9).",
			bill:   NewBill(hourly, between("2026-04-01T09:00:00Z", "2026-04-01T13:42:07Z"), false), run: run("2026-04-01T14:00:00Z"), watermark: "2026-04-01T12:00:00Z",
			want: want{hours: []string{"13"}, through: "2026-04-01T13:00:00Z"},
		},
		"EndedLongAgo": {
			reason: "An ended Subscription that nobody deletes is written no more.",
			bill:   NewBill(hourly, between("2026-04-01T09:00:00Z", "2026-04-01T13:42:07Z"), false), run: run("2026-04-03T00:00:00Z"), watermark: "2026-04-01T13:00:00Z",
			want: want{},
		},
		"EndedOnTheHour": {
			reason: "A boundary belongs to the hour it ends.",
			bill:   NewBill(hourly, between("2026-04-01T09:00:00Z", "2026-04-01T11:00:00Z"), false), run: run("2026-04-01T13:00:00Z"),
			want: want{hours: []string{"09", "10"}, through: "2026-04-01T10:00:00Z"},
		},
		"EndedMonthly": {
			reason: "Until the snap there are hours to mark, the one in progress included.",
			bill:   NewBill(monthly, between("2026-03-10T00:00:00Z", "2026-04-15T13:00:00Z"), false), run: run("2026-04-15T15:00:00Z"), watermark: "2026-04-15T12:00:00Z",
			want: want{hours: []string{"13", "14"}, current: true, through: "2026-04-15T14:00:00Z"},
		},
		"UsageOnlyEnded": {
			reason: "Without a fee there is no snap: the recorded end takes its place.",
			bill:   NewBill(usage, between("2026-04-01T09:20:00Z", "2026-04-01T10:30:00Z"), true), run: run("2026-04-01T13:00:00Z"),
			want: want{hours: []string{"09", "10"}, through: "2026-04-01T10:00:00Z"},
		},
		"MeteredBeyondTheBoundary": {
			reason: "What is measured provisionally is charged provisionally, and the watermark waits (50.9).",
			bill:   NewBill(both, between("2026-04-01T09:00:00Z", "2026-04-01T13:42:07Z"), true), run: runSettled("2026-04-01T14:00:00Z", "2026-04-01T13:00:00Z"), watermark: "2026-04-01T11:00:00Z",
			want: want{hours: []string{"12", "13*"}, through: "2026-04-01T12:00:00Z"},
		},
		"MeteredPromoted": {
			reason: "The next run finds the boundary higher and promotes the hour (50.9).",
			bill:   NewBill(both, between("2026-04-01T09:00:00Z", "2026-04-01T13:42:07Z"), true), run: runSettled("2026-04-01T15:00:00Z", "2026-04-01T14:00:00Z"), watermark: "2026-04-01T12:00:00Z",
			want: want{hours: []string{"13"}, through: "2026-04-01T13:00:00Z"},
		},
		"NothingMeasured": {
			reason: "Without any measurement nothing metered is final.",
			bill:   NewBill(both, since("2026-04-01T12:10:00Z"), true), run: Run{Hour: at("2026-04-01T14:00:00Z")},
			want: want{hours: []string{"12*", "13*"}, current: true},
		},
		"SourcesWithoutMeters": {
			reason: "Usage that is not priced holds nothing up.",
			bill:   NewBill(hourly, since("2026-04-01T12:10:00Z"), true), run: Run{Hour: at("2026-04-01T14:00:00Z")},
			want: want{hours: []string{"12", "13"}, current: true, through: "2026-04-01T13:00:00Z"},
		},
		"ActivatedInTheHour": {
			reason: "A life that has just begun has only the hour in progress.",
			bill:   NewBill(hourly, since("2026-04-01T14:10:00Z"), false), run: run("2026-04-01T14:00:00Z"),
			want: want{current: true},
		},
		"ActivatedLater": {
			reason: "A retry of an hour before the activation has nothing to write.",
			bill:   NewBill(hourly, since("2026-04-01T15:10:00Z"), false), run: run("2026-04-01T14:00:00Z"),
			want: want{},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var watermark time.Time
			if tc.watermark != none {
				watermark = at(tc.watermark)
			}
			windows := tc.bill.Windows(tc.run, watermark)
			got := want{current: windows.Current}
			windows.Each(func(start time.Time) bool {
				mark := "*"
				if tc.bill.Final(tc.run, start) {
					mark = ""
				}
				got.hours = append(got.hours, start.Format("15")+mark)
				return true
			})
			if through, some := tc.bill.FinalThrough(tc.run, windows); some {
				got.through = through.Format(time.RFC3339)
			}
			if windows.Count() != len(got.hours) {
				t.Errorf("%s\nCount(): want %d, got %d", tc.reason, len(got.hours), windows.Count())
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s\nWindows(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestWithin(t *testing.T) {
	w := Windows{First: at("2026-04-01T09:00:00Z"), End: at("2026-04-03T00:00:00Z"), Current: true}
	got := w.Within(at("2026-04-01T00:00:00Z"), at("2026-04-02T00:00:00Z"))
	if got.Count() != 15 || !got.Current {
		t.Errorf("The first day of a life that began at 09:00 has 15 hours, got %d", got.Count())
	}
	if n := w.Within(at("2026-04-05T00:00:00Z"), at("2026-04-06T00:00:00Z")).Count(); n != 0 {
		t.Errorf("A day after the windows has none of them, got %d", n)
	}
}

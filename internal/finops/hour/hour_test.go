package hour

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestPin(t *testing.T) {
	now := at("2026-04-01T13:20:00Z")

	type want struct {
		hour   time.Time
		source Source
		err    error
	}

	cases := map[string]struct {
		reason string
		hint   Hint
		now    time.Time
		want   want
	}{
		"Scheduled": {
			reason: "What was scheduled is worked on, however late the run starts.",
			hint:   Hint{Scheduled: "2026-03-30T07:59:59Z"},
			want:   want{hour: at("2026-03-30T07:00:00Z"), source: FromSchedule},
		},
		"ScheduledWestOfGreenwich": {
			reason: "Kubernetes writes the zone of the CronJob; the hour is one of UTC.",
			hint:   Hint{Scheduled: "2026-04-01T05:00:00-07:00"},
			want:   want{hour: at("2026-04-01T12:00:00Z"), source: FromSchedule},
		},
		"ScheduledInAHalfHourZone": {
			reason: "13:00 in a zone of half hours is not on the hour in UTC: convert first, truncate then.",
			hint:   Hint{Scheduled: "2026-04-01T13:00:00+05:30"},
			want:   want{hour: at("2026-04-01T07:00:00Z"), source: FromSchedule},
		},
		"ScheduledTwiceByWinterTime": {
			reason: "The first 02:00 of that night is another hour of UTC than the second.",
			hint:   Hint{Scheduled: "2025-10-26T02:00:00+02:00"},
			want:   want{hour: at("2025-10-26T00:00:00Z"), source: FromSchedule},
		},
		"ScheduledBeforeJob": {
			reason: "The documented variable is asked first.",
			hint:   Hint{Scheduled: "2026-04-01T11:00:00Z", Job: "hourly-cronjob-29584140", CronJob: "hourly-cronjob"},
			want:   want{hour: at("2026-04-01T11:00:00Z"), source: FromSchedule},
		},
		"JobName": {
			reason: "The specification's example of BETTER-CJ-6.",
			hint:   Hint{Job: "hourly-cronjob-29584140", CronJob: "hourly-cronjob"},
			want:   want{hour: at("2026-04-01T13:00:00Z"), source: FromJobName},
		},
		"JobNameAfterRubbish": {
			reason: "A timestamp that does not parse is as good as none.",
			hint:   Hint{Scheduled: "13 o'clock", Job: "hourly-cronjob-29584085", CronJob: "hourly-cronjob"},
			want:   want{hour: at("2026-04-01T12:00:00Z"), source: FromJobName},
		},
		"JobOfAnother": {
			reason: "Only the name of this CronJob counts, not one that begins with it.",
			hint:   Hint{Job: "hourly-cronjob-b-29584080", CronJob: "hourly-cronjob"},
			want:   want{hour: at("2026-04-01T13:00:00Z"), source: FromClock},
		},
		"JobByHand": {
			reason: "A Job made by hand has no minute in its name.",
			hint:   Hint{Job: "hourly-cronjob-manual", CronJob: "hourly-cronjob"},
			want:   want{hour: at("2026-04-01T13:00:00Z"), source: FromClock},
		},
		"JobTooOld": {
			reason: "Digits that mean a time more than seven days ago are no schedule.",
			hint:   Hint{Job: "hourly-cronjob-29574059", CronJob: "hourly-cronjob"},
			want:   want{hour: at("2026-04-01T13:00:00Z"), source: FromClock},
		},
		"JobInTheFuture": {
			reason: "A number that means a time to come is none a CronJob has given.",
			hint:   Hint{Job: "hourly-cronjob-29584240", CronJob: "hourly-cronjob"},
			want:   want{hour: at("2026-04-01T13:00:00Z"), source: FromClock},
		},
		"JobWithoutCronJob": {
			reason: "Without the CronJob's name every name would fit.",
			hint:   Hint{Job: "-29584140"},
			want:   want{hour: at("2026-04-01T13:00:00Z"), source: FromClock},
		},
		"Nothing": {
			reason: "A run by hand works on the current hour.",
			want:   want{hour: at("2026-04-01T13:00:00Z"), source: FromClock},
		},
		"LittleAhead": {
			reason: "Clocks differ: five minutes ahead are accepted.",
			hint:   Hint{Scheduled: "2026-04-01T14:00:00Z"},
			now:    at("2026-04-01T13:55:00Z"),
			want:   want{hour: at("2026-04-01T14:00:00Z"), source: FromSchedule},
		},
		"TooFarAhead": {
			reason: "An hour that has not begun is refused (design R14).",
			hint:   Hint{Scheduled: "2026-04-01T14:00:00Z"},
			now:    at("2026-04-01T13:54:59Z"),
			want:   want{source: FromSchedule, err: ErrAhead},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.now.IsZero() {
				tc.now = now
			}

			got, source, err := Pin(tc.hint, tc.now)
			if diff := cmp.Diff(tc.want, want{got, source, err}, cmp.AllowUnexported(want{}), cmpopts.EquateErrors()); diff != "" {
				t.Errorf("%s\nPin(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func at(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return t.UTC()
}

func TestUnread(t *testing.T) {
	cases := map[string]struct {
		reason string
		hint   Hint
		want   string
	}{
		"Absent":   {reason: "Kubernetes leaves it empty on a pod; nobody has to hear of that."},
		"Readable": {reason: "It counts, so nothing is to be said.", hint: Hint{Scheduled: "2026-04-01T05:00:00-07:00"}},
		"Rubbish":  {reason: "Whoever wrote it meant another hour than the clock's.", hint: Hint{Scheduled: "yesterday"}, want: "yesterday"},
		"NoZone":   {reason: "A time without a zone is none.", hint: Hint{Scheduled: "2026-04-01T05:00:00"}, want: "2026-04-01T05:00:00"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.hint.Unread()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestBegun(t *testing.T) {
	cases := map[string]struct {
		reason      string
		pinned, now string
		want        string
	}{
		"Usual":        {"The hour of the schedule has just begun.", "2026-04-01T05:00:00Z", "2026-04-01T05:00:07Z", "2026-04-01T05:00:00Z"},
		"Late":         {"A retry works on its own hour, however late it is.", "2026-04-01T05:00:00Z", "2026-04-01T09:30:00Z", "2026-04-01T05:00:00Z"},
		"ALittleAhead": {"The hour before is not over on this clock, so it must not be closed.", "2026-04-01T05:00:00Z", "2026-04-01T04:59:58Z", "2026-04-01T04:00:00Z"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			parse := func(text string) time.Time {
				at, err := time.Parse(time.RFC3339, text)
				if err != nil {
					t.Fatal(err)
				}
				return at
			}
			if diff := cmp.Diff(parse(tc.want), Begun(parse(tc.pinned), parse(tc.now))); diff != "" {
				t.Errorf("%s\nBegun(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

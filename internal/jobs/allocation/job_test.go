package allocation

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/testkit/pgtest"
)

// TestHours plays runs one after the other and looks at the ledger, the rows and
// what OpenCost was asked for. Each line of the ledger is the hour, its state,
// its rows and how many of them are final.
func TestHours(t *testing.T) {
	cases := map[string]struct {
		reason string
		play   func(w *world)
		asked  []int // By the last run.
		hours  []string
		failed string // The error of the last run.
	}{
		"FirstRun": {
			reason: "The lookback and the hour in progress.",
			play:   func(w *world) { w.collect(10) },
			asked:  []int{5, 6, 7, 8, 9, 10},
			hours:  []string{"5 final 3 3", "6 final 3 3", "7 final 3 3", "8 final 3 3", "9 final 3 3", "10 open 3 0"},
		},
		"Hourly": {
			reason: "The hour that has just closed is fetched once more and is final then.",
			play:   func(w *world) { w.collect(10, 11); w.opencost.takeAsked(); w.collect(12) },
			asked:  []int{11, 12},
			hours:  []string{"5 final 3 3", "6 final 3 3", "7 final 3 3", "8 final 3 3", "9 final 3 3", "10 final 3 3", "11 final 3 3", "12 open 3 0"},
		},
		"FailedHourInTheMiddle": {
			reason: "One hour that cannot be fetched takes nothing from the others and leaves nothing of itself.",
			play: func(w *world) {
				w.opencost.answer(7, cutOff(at(7)))
				w.fail(10)
			},
			asked:  []int{5, 6, 7, 8, 9, 10},
			hours:  []string{"5 final 3 3", "6 final 3 3", "7 failed 0 0", "8 final 3 3", "9 final 3 3", "10 open 3 0"},
			failed: `cannot collect 1 of 6 hours, the first of them "2026-04-01T07:00:00Z"`,
		},
		"FailedHourHeals": {
			reason: "The next run fetches it again.",
			play: func(w *world) {
				w.opencost.answer(7, refused)
				w.fail(10)
				w.opencost.answer(7, nil)
				w.opencost.takeAsked()
				w.collect(10)
			},
			asked: []int{7, 10},
			hours: []string{"5 final 3 3", "6 final 3 3", "7 final 3 3", "8 final 3 3", "9 final 3 3", "10 open 3 0"},
		},
		"FailureOfAnHourThatIsStored": {
			reason: "What was measured while the hour was in progress stays, is not finalized as a straggler, and is fetched again.",
			play: func(w *world) {
				w.collect(10)
				w.opencost.answer(10, refused)
				w.opencost.takeAsked()
				w.fail(11)
			},
			asked:  []int{10, 11},
			hours:  []string{"5 final 3 3", "6 final 3 3", "7 final 3 3", "8 final 3 3", "9 final 3 3", "10 failed 3 0", "11 open 3 0"},
			failed: `cannot collect 1 of 2 hours, the first of them "2026-04-01T10:00:00Z"`,
		},
		"EmptyHour": {
			reason: "An hour without any item is doubted for three hours, then it counts as measured zero (OPEN-CJ-25).",
			play: func(w *world) {
				for _, n := range []int{5, 6, 7} {
					w.opencost.answer(n, items(at(n)))
				}
				w.collect(10)
			},
			asked: []int{5, 6, 7, 8, 9, 10},
			hours: []string{"5 empty 0 0", "6 empty 0 0", "7 open 0 0", "8 final 3 3", "9 final 3 3", "10 open 3 0"},
		},
		"EmptyHourOutsideTheLookback": {
			reason: "A doubted hour is fetched again, however old, until it is believed.",
			play: func(w *world) {
				w.settings.Limits.LookbackHours = 1
				w.opencost.answer(9, items(at(9)))
				w.collect(10, 11, 12)
				w.opencost.takeAsked()
				w.collect(13)
			},
			asked: []int{9, 12, 13},
			hours: []string{"9 empty 0 0", "10 final 3 3", "11 final 3 3", "12 final 3 3", "13 open 3 0"},
		},
		"OpenCostForgets": {
			reason: "An answer without any item deletes nothing; what is stored is finalized with its hour (OPEN-CJ-7).",
			play: func(w *world) {
				w.collect(10)
				w.opencost.answer(10, items(at(10)))
				w.opencost.takeAsked()
				w.collect(11)
			},
			asked: []int{10, 11},
			hours: []string{"5 final 3 3", "6 final 3 3", "7 final 3 3", "8 final 3 3", "9 final 3 3", "10 final 3 3", "11 open 3 0"},
		},
		"Vanished": {
			reason: "A workload that the second fetch does not know any more goes.",
			play: func(w *world) {
				w.collect(10)
				w.opencost.answer(10, items(at(10), "shop/web-1/app web 1"))
				w.opencost.takeAsked()
				w.collect(11)
			},
			asked: []int{10, 11},
			hours: []string{"5 final 3 3", "6 final 3 3", "7 final 3 3", "8 final 3 3", "9 final 3 3", "10 final 1 1", "11 open 3 0"},
		},
		"DailyInterval": {
			reason: "With the default interval of 24h no hour is lost (L2): 19 of them were.",
			play: func(w *world) {
				w.settings.Limits.LookbackHours = 2
				w.collect(0)
				w.opencost.takeAsked()
				w.collect(24)
			},
			asked: []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24},
			hours: func() []string {
				lines := []string{}
				for n := -2; n < 24; n++ {
					lines = append(lines, fmt.Sprintf("%d final 3 3", n))
				}
				return append(lines, "24 open 3 0")
			}(),
		},
		"SettleDelay": {
			reason: "With a settle delay the hour that has just closed stays open, and is no straggler (OPEN-CJ-8).",
			play: func(w *world) {
				w.settings.Limits.SettleDelay = 10 * time.Minute
				w.settings.Limits.LookbackHours = 2
				w.collect(10)
			},
			asked: []int{8, 9, 10},
			hours: []string{"8 final 3 3", "9 open 3 0", "10 open 3 0"},
		},
		"LateRetry": {
			reason: "A retry of an earlier hour finds its work done and touches nothing of the later hours.",
			play: func(w *world) {
				w.collect(10, 11)
				w.opencost.takeAsked()
				w.collect(10)
			},
			hours: []string{"5 final 3 3", "6 final 3 3", "7 final 3 3", "8 final 3 3", "9 final 3 3", "10 final 3 3", "11 open 3 0"},
		},
		"RefusedByTheDatabase": {
			reason: "What the database refuses concerns the hour it is in, and no other.",
			play: func(w *world) {
				w.settings.Limits.LookbackHours = 2
				if _, err := w.database.Pool.Exec(w.t.Context(), "ALTER TABLE provider_allocations ADD CONSTRAINT nobody_has_nine_cores CHECK (trunc(cpu_core_usage_avg) <> 9)"); err != nil {
					w.t.Fatal(err)
				}
				w.fail(10)
			},
			asked:  []int{8, 9, 10},
			hours:  []string{"8 final 3 3", "9 failed 0 0", "10 open 3 0"},
			failed: `cannot collect 1 of 3 hours, the first of them "2026-04-01T09:00:00Z"`,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			tc.play(w)
			if diff := cmp.Diff(tc.asked, w.opencost.takeAsked(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\nasked OpenCost: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.hours, w.hours()); diff != "" {
				t.Errorf("%s\nhours: -want, +got:\n%s", tc.reason, diff)
			}
			if last := w.costJob().Status.ExecutionHistory[0]; !strings.HasPrefix(last.Error, tc.failed) || tc.failed == "" && last.Error != "" {
				t.Errorf("%s\nthe run ended with %q, want %q", tc.reason, last.Error, tc.failed)
			}
			if is := w.list("SELECT 'behind' FROM allocation_days d FULL JOIN mv_provider_allocations_summary s USING (cluster_id, aggregation, day, namespace, controller_kind, controller) WHERE d.row_count IS DISTINCT FROM s.row_count"); len(is) > 0 {
				t.Errorf("%s\nthe summary was not refreshed", tc.reason)
			}
		})
	}
}

// TestTwice is the promise that a second run changes no row: equal dumps, and
// the server's own counters stand still.
func TestTwice(t *testing.T) {
	w := newWorld(t)
	w.opencost.answer(8, items(at(8)))
	w.collect(10, 11)

	dump, written := w.dump(), pgtest.Changes(t, w.database.Pool)
	w.collect(11)

	if diff := cmp.Diff(dump, w.dump()); diff != "" {
		t.Errorf("-first run, +second run:\n%s", diff)
	}
	if diff := cmp.Diff(written, pgtest.Changes(t, w.database.Pool)); diff != "" {
		t.Errorf("rows were written again: -first run, +second run:\n%s", diff)
	}
}

// TestAbandonedHour lets an hour fail for longer than it is fetched: it is given
// up once, with an event.
func TestAbandonedHour(t *testing.T) {
	w := newWorld(t)
	w.settings.Limits.LookbackHours, w.settings.Limits.BackfillHours = 1, 4
	w.opencost.answer(9, refused)
	w.opencost.answer(8, items(at(8)))
	w.fail(9)
	w.fail(10)
	w.collect(20, 21)

	want := []string{"HourGivenUp: hour 2026-04-01T09:00:00Z was never collected and is too old to be fetched again"}
	if diff := cmp.Diff(want, w.events()); diff != "" {
		t.Errorf("events: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"8 empty 0 0", "9 failed 0 0", "10 final 3 3"}, w.hours()[:3]); diff != "" {
		t.Errorf("hours: -want, +got:\n%s", diff)
	}
	w.holds(21)
}

func TestBookOfARun(t *testing.T) {
	unready := func(b *v1alpha1.PriceBook) *v1alpha1.PriceBook { b.Spec.Rates = nil; return b }

	cases := map[string]struct {
		reason  string
		objects []client.Object
		active  bool // PRICEBOOK_RESOLUTION=active.
		want    []string
		events  []string
	}{
		"OwnAndActive": {
			reason:  "The recommended setup: nothing to say.",
			objects: []client.Object{priceBook("finops", "tariff", true)},
			want:    []string{"finops/tariff EUR"},
		},
		"OwnButNotActive": {
			reason:  "The documented lookup holds, with a warning that names both.",
			objects: []client.Object{priceBook("finops", "tariff", false), priceBook("other", "best", true)},
			want:    []string{"finops/tariff EUR"},
			events:  []string{"PriceBookNotActive: allocations are priced with PriceBook finops/tariff; the active one is other/best"},
		},
		"ActiveFirst": {
			reason:  "PRICEBOOK_RESOLUTION=active.",
			objects: []client.Object{priceBook("finops", "tariff", false), priceBook("other", "best", true)},
			active:  true,
			want:    []string{"other/best EUR"},
		},
		"NoneOfItsOwn": {
			reason:  "A namespace without a book uses the active one (BETTER-PB-6).",
			objects: []client.Object{priceBook("other", "best", true), priceBook("other", "worst", false)},
			want:    []string{"other/best EUR"},
		},
		"NeverSound": {
			reason:  "A book without rates that never had any is as good as none.",
			objects: []client.Object{unready(priceBook("finops", "tariff", false)), priceBook("other", "best", true)},
			want:    []string{"other/best EUR"},
		},
		"None": {
			reason:  "Measurements are kept without a price.",
			objects: []client.Object{unready(priceBook("finops", "tariff", true))},
			want:    []string{"none"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.objects...)
			w.settings.ActiveBookFirst = tc.active
			w.settings.Limits.LookbackHours = 0
			w.collect(10)

			got := w.list(`SELECT DISTINCT coalesce(b.namespace || '/' || b.name || ' ' || a.currency, 'none')
				FROM provider_allocations AS a LEFT JOIN pricebooks AS b ON b.id = a.pricebook_id`)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nbooks: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.events, w.events(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\nevents: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestBookChanges follows the book of hours that are not final: they are priced
// anew by the next run, final ones keep what they have, and a book that breaks
// keeps its last good rates.
func TestBookChanges(t *testing.T) {
	w := newWorld(t)
	w.settings.Limits.LookbackHours = 1
	update := func(change func(*v1alpha1.PriceBook)) {
		t.Helper()
		book := &v1alpha1.PriceBook{}
		if err := w.kube.Get(t.Context(), client.ObjectKey{Namespace: "finops", Name: "tariff"}, book); err != nil {
			t.Fatal(err)
		}
		change(book)
		if err := w.kube.Update(t.Context(), book); err != nil {
			t.Fatal(err)
		}
	}

	w.collect(10)
	update(func(b *v1alpha1.PriceBook) { b.Spec.Rates.CPUHour = "0.04" })
	w.collect(11)
	update(func(b *v1alpha1.PriceBook) { b.Spec.Rates.CPUHour = "99999999999999999999" })
	w.collect(12)

	want := []string{"9 31000", "10 40000", "11 40000", "12 40000"}
	got := w.list(`SELECT extract(epoch FROM a.hour - '2026-04-01T00:00:00Z')::bigint / 3600 || ' ' || b.cpu_hour_micros
		FROM provider_allocations AS a JOIN pricebooks AS b ON b.id = a.pricebook_id GROUP BY a.hour, b.cpu_hour_micros ORDER BY a.hour`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rates by hour: -want, +got:\n%s", diff)
	}
}

// TestRecord looks at what a CostJob tells about its runs.
func TestRecord(t *testing.T) {
	w := newWorld(t)
	w.settings.Limits.LookbackHours = 0

	for n := range 9 {
		w.collect(n)
	}
	w.opencost.answer(9, refused)
	w.fail(9)
	w.opencost.answer(10, refused)
	w.fail(10)

	status := w.costJob().Status
	type summary struct {
		Records             int
		Newest, Oldest      time.Time
		Last, LastSuccess   time.Time
		LastStatus          v1alpha1.ExecutionStatus
		NewestDuration      string
		NewestErrorBegins   string
		OldestStatusOfThese v1alpha1.ExecutionStatus
	}
	two := 2 * time.Second
	want := summary{
		Records: 10, Newest: at(10).Add(two), Oldest: at(1).Add(two),
		Last: at(10).Add(two), LastSuccess: at(8).Add(two), LastStatus: v1alpha1.ExecutionStatusFailed,
		NewestDuration: "0s", NewestErrorBegins: `cannot collect 2 of 2 hours, the first of them "2026-04-01T09:00:00Z"`,
		OldestStatusOfThese: v1alpha1.ExecutionStatusSuccess,
	}
	newest, oldest := status.ExecutionHistory[0], status.ExecutionHistory[len(status.ExecutionHistory)-1]
	got := summary{
		Records: len(status.ExecutionHistory), Newest: newest.ExecutionTime.UTC(), Oldest: oldest.ExecutionTime.UTC(),
		Last: status.LastExecutionTime.UTC(), LastSuccess: status.LastSuccessfulExecutionTime.UTC(), LastStatus: status.LastExecutionStatus,
		NewestDuration: newest.Duration, NewestErrorBegins: newest.Error[:min(len(newest.Error), len(want.NewestErrorBegins))],
		OldestStatusOfThese: oldest.Status,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// fail runs the job for an hour and wants it to fail.
func (w *world) fail(n int) {
	w.t.Helper()
	if err := w.run(w.t.Context(), n, nil); err == nil {
		w.t.Fatalf("the run of hour %d succeeded", n)
	}
}

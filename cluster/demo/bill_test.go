package demo

import (
	"encoding/json"
	"math/big"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func at(clock string) time.Time {
	t, err := time.Parse(time.TimeOnly, clock)
	if err != nil {
		panic(err)
	}
	return time.Date(2026, 4, 1, t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

func living(activated, deactivated string) subscription {
	var s subscription
	s.Status.ActivatedAt = at(activated)
	if deactivated != "" {
		s.Status.DeactivatedAt = at(deactivated)
	}
	return s
}

// The specification's examples of fees (60.4, 60.5) and of rows (50.9).
func TestExpectedFee(t *testing.T) {
	hourly := fee{TickAlignment: "ActivatedAt", Period: "1h", PriceMicros: 40000000}
	aligned := fee{TickAlignment: "HourBoundary", Period: "1", PriceMicros: 40000000}
	cases := map[string]struct {
		reason string
		fee    fee
		s      subscription
		last   string
		want   map[int]int64 // By the hour of the day.
	}{
		"OwnCycle": {
			reason: "Each hour since the activation is a tick; the hour in progress owes nothing yet.",
			fee:    hourly, s: living("09:00:00", ""), last: "13:00:00",
			want: map[int]int64{9: 40000000, 10: 40000000, 11: 40000000, 12: 40000000},
		},
		"Ended": {
			reason: "The closing tick is charged in full: five ticks, hours 09 to 13.",
			fee:    hourly, s: living("09:00:00", "13:42:07"), last: "16:00:00",
			want: map[int]int64{9: 40000000, 10: 40000000, 11: 40000000, 12: 40000000, 13: 40000000},
		},
		"Prorated": {
			reason: "The opening tick of an aligned fee is charged by the second.",
			fee:    aligned, s: living("07:15:00", "09:40:00"), last: "12:00:00",
			want: map[int]int64{7: 30000000, 8: 40000000, 9: 40000000},
		},
		"EndedOnBoundary": {
			reason: "An ending on a boundary is its own closing boundary.",
			fee:    aligned, s: living("07:15:00", "10:00:00"), last: "12:00:00",
			want: map[int]int64{7: 30000000, 8: 40000000, 9: 40000000},
		},
		"EndedInOpeningTick": {
			reason: "A closing tick that is the opening one too is prorated.",
			fee:    aligned, s: living("07:15:00", "07:20:00"), last: "12:00:00",
			want: map[int]int64{7: 30000000},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := map[int]int64{}
			for hour := at("06:00:00"); !hour.After(at(tc.last)); hour = hour.Add(time.Hour) {
				owed, err := expectedFee(tc.fee, tc.s, hour, at(tc.last))
				if err != nil {
					t.Fatal(err)
				}
				if owed.Sign() != 0 {
					got[hour.Hour()] = owed.Int64()
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestExpectedFeeUnknown(t *testing.T) {
	if _, err := expectedFee(fee{TickAlignment: "MonthBoundary", Period: "1"}, living("09:00:00", ""), at("10:00:00"), at("11:00:00")); err == nil {
		t.Error("a fee that cannot be checked must not pass as right")
	}
}

// The specification's examples of usage (60.9).
func TestExpectedUsage(t *testing.T) {
	factor := func(f int64) (m struct{ AbsoluteMicros, FactorMilli *int64 }) { m.FactorMilli = &f; return m }
	absolute := func(a int64) (m struct{ AbsoluteMicros, FactorMilli *int64 }) { m.AbsoluteMicros = &a; return m }
	measured := func(cpu, ram, pv, sent, received string) allocation {
		a := allocation{
			Start: at("10:00:00"), End: at("11:00:00"),
			CPUCoreUsageAverage: json.Number(cpu), RAMByteUsageAverage: json.Number(ram), PVByteHours: json.Number(pv),
			NetworkTransferBytes: json.Number(sent), NetworkReceiveBytes: json.Number(received),
		}
		a.Properties.Namespace = "shop"
		return a
	}
	cases := map[string]struct {
		reason    string
		meter     meter
		rate      string
		activated string
		ended     string
		rows      []allocation
		want      int64
	}{
		"CPU": {
			reason: "2.5 cores for 45 minutes at 0.031 and a margin of 15 %.",
			meter:  meter{"cpuHour", factor(1150)}, rate: "0.031", activated: "10:15:00",
			rows: []allocation{measured("2.5", "0", "0", "0", "0")}, want: 66843,
		},
		"RAM": {
			reason: "3 GiB for an hour at 0.004 and 0.0002 more.",
			meter:  meter{"ramGbHour", absolute(200)}, rate: "0.004", activated: "09:00:00",
			rows: []allocation{measured("0", "3221225472", "0", "0", "0")}, want: 12600,
		},
		"RAMActiveForThreeQuarters": {
			reason: "The raw end of the Subscription counts, not the closing boundary.",
			meter:  meter{"ramGbHour", absolute(200)}, rate: "0.004", activated: "09:00:00", ended: "10:45:00",
			rows: []allocation{measured("0", "3221225472", "0", "0", "0")}, want: 9450,
		},
		"PV": {
			reason: "10 GiB hours at the bare rate.",
			meter:  meter{Name: "pvGbHour"}, rate: "0.00012", activated: "09:00:00",
			rows: []allocation{measured("0", "0", "10737418240", "0", "0")}, want: 1200,
		},
		"NetworkActiveForThreeQuarters": {
			reason: "Bytes have no time factor, but the hour is trimmed.",
			meter:  meter{Name: "networkGb"}, rate: "0.09", activated: "10:15:00",
			rows: []allocation{measured("0", "0", "0", "1610612736", "536870912")}, want: 135000,
		},
		"RoundedOnce": {
			reason: "Two rows of 0.00001 cores each make 0.62 micros together, which is none; a hundred make 31.",
			meter:  meter{Name: "cpuHour"}, rate: "0.031", activated: "09:00:00",
			rows: repeat(measured("1e-05", "0", "0", "0", "0"), 100), want: 31,
		},
		"NotSelected": {
			reason: "What runs in another namespace is somebody else's.",
			meter:  meter{Name: "cpuHour"}, rate: "0.031", activated: "09:00:00",
			rows: []allocation{{Start: at("10:00:00"), End: at("11:00:00"), CPUCoreUsageAverage: "9"}}, want: 0,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var book priceBook
			book.Spec.Rates = map[string]string{rates[tc.meter.Name]: tc.rate}
			s := living(tc.activated, tc.ended)
			s.Spec.UsageSources = []usageSource{{Namespace: "shop"}}
			got, err := expectedUsage(tc.meter, book, s, tc.rows, at("10:00:00"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.Int64()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func repeat(a allocation, n int) []allocation {
	rows := make([]allocation, n)
	for i := range rows {
		rows[i] = a
	}
	return rows
}

func TestPlain(t *testing.T) {
	for text, want := range map[string]string{"0.96180": "0.9618", "35650": "35650", "1/3": "1/3"} {
		r, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatalf("cannot read %q", text)
		}
		if diff := cmp.Diff(want, plain(r)); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", text, diff)
		}
	}
}

func TestDifferences(t *testing.T) {
	k := key{Subscription: "a", Source: "cpuHour"}
	if err := differences(map[key]int64{k: 1}, map[key]int64{k: 1}); err != nil {
		t.Errorf("equal bills differ: %v", err)
	}
	for name, got := range map[string]map[key]int64{
		"Other":   {k: 2},
		"Missing": {},
		"Surplus": {k: 1, {Subscription: "b"}: 1},
	} {
		if err := differences(map[key]int64{k: 1}, got); err == nil {
			t.Errorf("%s: a wrong bill passes", name)
		}
	}
}

func TestCurrency(t *testing.T) {
	for micros, want := range map[int64]string{0: "-", 34288: "0.034288", 1_250_000: "1.250000"} {
		if diff := cmp.Diff(want, currency(micros)); diff != "" {
			t.Errorf("%d: -want, +got:\n%s", micros, diff)
		}
	}
}

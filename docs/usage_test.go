package docs_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/provider-finops/provider-finops/internal/finops/charge"
	"github.com/provider-finops/provider-finops/internal/finops/money"
	"github.com/provider-finops/provider-finops/internal/finops/pricing"
	"github.com/provider-finops/provider-finops/internal/finops/tick"
)

// TestFiguresOfUsage computes the table of usage that the page on billing shows.
func TestFiguresOfUsage(t *testing.T) {
	page := read(t, "concepts/billing.md")
	hour := time.Date(2026, time.April, 1, 10, 0, 0, 0, time.UTC)
	minute := func(n int) time.Time { return hour.Add(time.Duration(n) * time.Minute) }
	plus, factor := int64(200), int64(1150)
	const gib = 1 << 30

	cases := map[string]struct {
		meter    pricing.Meter
		rate     money.Micros
		margin   money.Margin
		life     tick.Life
		measured charge.Measurement
		line     string
	}{
		"Opening": {
			pricing.MeterCPUHour, 31000,
			money.Margin{FactorMilli: &factor},
			tick.Life{ActivatedAt: minute(15)},
			charge.Measurement{Cores: big.NewRat(5, 2)},
			"| 2.5 cores for an hour, activated at minute 15; rate 31000, factor 1150 |",
		},
		"Memory": {
			pricing.MeterRAMGbHour, 4000,
			money.Margin{AbsoluteMicros: &plus},
			tick.Life{ActivatedAt: minute(0)},
			charge.Measurement{Bytes: big.NewRat(3*gib, 1)},
			"| 3 GiB for an hour; rate 4000, plus 200 |",
		},
		"Ending": {
			pricing.MeterRAMGbHour, 4000,
			money.Margin{AbsoluteMicros: &plus},
			tick.Life{ActivatedAt: minute(0), DeactivatedAt: minute(45)},
			charge.Measurement{Bytes: big.NewRat(3*gib, 1)},
			"| the same, ended at minute 45 |",
		},
		"Volume": {
			pricing.MeterPVGbHour, 120,
			money.Margin{},
			tick.Life{ActivatedAt: minute(0)},
			charge.Measurement{PVByteHours: big.NewRat(10*gib, 1)},
			"| 10 GiB of volume for an hour; rate 120 |",
		},
		"Network": {
			pricing.MeterNetworkGb, 90000,
			money.Margin{},
			tick.Life{ActivatedAt: minute(0)},
			charge.Measurement{NetworkBytes: big.NewRat(2*gib, 1)},
			"| 1.5 GiB sent and 0.5 GiB received; rate 90000 |",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			field, _ := tc.meter.Field()
			meter := charge.Meter{Name: tc.meter, Margin: tc.margin}
			terms, err := charge.NewTerms(nil, []charge.Meter{meter})
			if err != nil {
				t.Fatal(err)
			}
			m := tc.measured
			m.Start, m.End, m.BookID = minute(0), minute(60), 1
			for _, quantity := range []**big.Rat{&m.Cores, &m.GPUs, &m.Bytes, &m.PVByteHours, &m.NetworkBytes} {
				if *quantity == nil {
					*quantity = new(big.Rat)
				}
			}
			books := charge.Books{1: {ID: 1, Rates: pricing.Tariff{field: tc.rate}}}
			l, err := charge.NewBill(terms, tc.life, true).Line(m, hour, meter, books)
			if err != nil {
				t.Fatal(err)
			}
			amount, err := money.Floor(l.Amount)
			if err != nil {
				t.Fatal(err)
			}
			digits, _ := l.Quantity.FloatPrec()
			want := fmt.Sprintf("%s %s | %d | %d", tc.line, l.Quantity.FloatString(digits), l.Price, amount)
			if !strings.Contains(page, want+" |") && !strings.Contains(page, want+" (of ") {
				t.Errorf("The page has to show %q", want)
			}
		})
	}
}

// TestFiguresOfTheEnd computes what the guide says that somebody is charged last.
func TestFiguresOfTheEnd(t *testing.T) {
	guide := read(t, "guides/end-a-subscription.md")
	at := func(text string) time.Time {
		when, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	cases := map[string]struct {
		alignment        tick.Alignment
		period           string
		price            money.Micros
		activated, ended string
		figure           string
		closing          string // The hour of the closing tick.
		all, last        string
	}{
		"Hourly": {
			tick.ActivatedAt, "1h", 250000, "2031-03-03T08:20:00Z", "2031-03-03T12:30:00Z",
			"| `ActivatedAt`, `1h`, 250000 | March 3, 08:20 | 12:30 | 13:20 | 5 × 250000 = 1250000 | 13:00 |", "2031-03-03T13:00:00Z", "1250000", "250000",
		},
		"Monthly": {
			tick.MonthBoundary, "1", 500000000, "2031-03-10T00:00:00Z", "2031-04-15T13:00:00Z",
			"| `MonthBoundary`, `1`, 500000000 | March 10, 00:00 | April 15, 13:00 | May 1 | 361396303 + 500000000 = 861396303 | April 30, 23:00 |", "2031-04-30T23:00:00Z", "861396303", "500000000",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			terms, err := tick.ParseTerms(tc.alignment, tc.period, tc.price, 0)
			if err != nil {
				t.Fatal(err)
			}
			fee := terms.Over(tick.Life{ActivatedAt: at(tc.activated), DeactivatedAt: at(tc.ended)})
			all, err := fee.Amount(at(tc.activated), at(tc.activated).AddDate(1, 0, 0))
			if err != nil {
				t.Fatal(err)
			}
			last, err := fee.Amount(at(tc.closing), at(tc.closing).Add(time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(all) != tc.all || fmt.Sprint(last) != tc.last {
				t.Errorf("All of it is %d and the last hour %d, the table says %s and %s", all, last, tc.all, tc.last)
			}
			if !strings.Contains(tc.figure, fmt.Sprint(all)) || !strings.Contains(guide, tc.figure) {
				t.Errorf("The guide has to show %q", tc.figure)
			}
		})
	}
}

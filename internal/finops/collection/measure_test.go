package collection

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/internal/finops/decimal"
)

func TestMeasure(t *testing.T) {
	minute := func(n int) time.Time { return at(10).Add(time.Duration(n) * time.Minute) }
	web := Workload{Name: "shop/web/app", Namespace: "shop", Pod: "web", Container: "app"}

	type want struct {
		measurement Measurement
		corrections Corrections
	}

	cases := map[string]struct {
		reason string
		sample Sample
		want   want
	}{
		"AsItIs": {
			reason: "What is plausible is stored as it was sent.",
			sample: Sample{
				Workload: web, Start: minute(10), End: minute(15), Minutes: number("5"), CPUCores: number("0.17558"), RAMBytes: number("56406708.63636"),
				PVByteHours: number("1"), SentBytes: number("2"), RecvBytes: number("3"),
			},
			want: want{measurement: Measurement{
				Workload: web, Start: minute(10), End: minute(15), Minutes: number("5"), CPUCores: number("0.17558"), RAMBytes: number("56406708.63636"),
				PVByteHours: number("1"), SentBytes: number("2"), RecvBytes: number("3"),
			}},
		},
		"Negative": {
			reason: "Negative quantities are zero and counted; nobody is paid for using less than nothing.",
			sample: Sample{Workload: web, Start: minute(0), End: minute(60), Minutes: number("-2.45"), CPUCores: number("-1"), SentBytes: number("7")},
			want: want{
				measurement: Measurement{Workload: web, Start: minute(0), End: minute(60), SentBytes: number("7")},
				corrections: Corrections{Negative: 2},
			},
		},
		"Backwards": {
			reason: "An end before the start (opencost#4057) is no interval.",
			sample: Sample{Workload: web, Start: minute(60), End: minute(0), CPUCores: number("1")},
			want: want{
				measurement: Measurement{Workload: web, Start: minute(60), End: minute(60), CPUCores: number("1")},
				corrections: Corrections{Clipped: 1},
			},
		},
		"LongerThanTheHour": {
			reason: "Only what lies in the hour belongs to it.",
			sample: Sample{Workload: web, Start: minute(-30), End: minute(90)},
			want: want{
				measurement: Measurement{Workload: web, Start: minute(0), End: minute(60)},
				corrections: Corrections{Clipped: 1},
			},
		},
		"InAnotherHour": {
			reason: "What lies outside is an empty interval at its edge.",
			sample: Sample{Workload: web, Start: minute(90), End: minute(95)},
			want: want{
				measurement: Measurement{Workload: web, Start: minute(60), End: minute(60)},
				corrections: Corrections{Clipped: 1},
			},
		},
		"NoTime": {
			reason: "The year 1 is how OpenCost writes that it does not know.",
			sample: Sample{Workload: web},
			want: want{
				measurement: Measurement{Workload: web, Start: minute(0), End: minute(0)},
				corrections: Corrections{Clipped: 1},
			},
		},
		"UnusedGPU": {
			reason: "A GPU that nobody watches looks like one that nobody uses, so it is counted.",
			sample: Sample{Workload: web, Start: minute(0), End: minute(60), GPUs: number("1")},
			want: want{
				measurement: Measurement{Workload: web, Start: minute(0), End: minute(60), GPUs: number("1")},
				corrections: Corrections{IdleGPUs: 1},
			},
		},
		"TwoWrongsMakeNoRight": {
			reason: "The product of two negative numbers would be a charge.",
			sample: Sample{Workload: web, Start: minute(0), End: minute(60), GPUs: number("-2"), GPUUsage: number("-0.5")},
			want: want{
				measurement: Measurement{Workload: web, Start: minute(0), End: minute(60)},
				corrections: Corrections{Negative: 2},
			},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m, c := Measure(tc.sample, at(10))
			if diff := cmp.Diff(tc.want, want{m, c}, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s\nMeasure(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestGPUsUsed(t *testing.T) {
	cases := map[string]struct {
		reason            string
		average, reserved string
		want              string
	}{
		"EightReservedTwoDriven": {reason: "The documented example: a workload that reserves eight and drives two is charged for two.", average: "0.25", reserved: "8", want: "2"},
		"OneHalfUsed":            {reason: "A recorded answer: one GPU at 52.501 %.", average: "0.52501", reserved: "1", want: "0.52501"},
		"AllUsed":                {reason: "An average of one is every device in full.", average: "1", reserved: "4", want: "4"},
		"MoreThanOne":            {reason: "No device is used by more than all of it, so this is a number of devices.", average: "2", reserved: "8", want: "2"},
		"Nothing":                {reason: "Nothing is used.", average: "0", reserved: "8", want: "0"},
		"NoneReserved":           {reason: "A share of no device is nothing.", average: "0.5", reserved: "0", want: "0"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := GPUsUsed(number(tc.average), number(tc.reserved)).String()
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nGPUsUsed(%s, %s): -want, +got:\n%s", tc.reason, tc.average, tc.reserved, diff)
			}
		})
	}
}

func number(text string) decimal.Decimal {
	d, err := decimal.Parse(text)
	if err != nil {
		panic(err)
	}
	return d
}

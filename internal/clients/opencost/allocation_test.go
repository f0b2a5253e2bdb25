package opencost

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/provider-finops/provider-finops/internal/finops/decimal"
)

// TestRecordedAnswers reads one item out of each recorded answer in full.
func TestRecordedAnswers(t *testing.T) {
	at := func(clock string) time.Time {
		when, err := time.Parse(time.RFC3339, "2026-11-29T"+clock+"Z")
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	of := func(from, to, aggregate string) Query {
		q := hour10
		q.Start, q.End, q.Aggregate = at(from), at(to), aggregate
		return q
	}

	type want struct {
		items int
		item  Allocation
		err   error
	}

	cases := map[string]struct {
		reason string
		file   string
		query  Query
		want   want
	}{
		"GPU": {
			reason: "v2.4 sends the usage of a GPU flat in the item.",
			file:   "hour10-ns-pod-container.json",
			query:  hour10,
			want: want{items: 16, item: Allocation{
				Name: "ml/train-resnet-7xk2m/train", Namespace: "ml", Pod: "train-resnet-7xk2m", Container: "train",
				Controller: "train-resnet", ControllerKind: "job",
				Start: at("10:00:00"), End: at("11:00:00"), Minutes: number("60"),
				CPUCores: number("1.90126"), RAMBytes: number("7417507450.98333"), GPUs: number("1"), GPUUsage: number("0.52501"),
				SentBytes: number("1179497.28814"), RecvBytes: number("3145326.10169"),
			}},
		},
		"OlderServer": {
			reason: "v1.108 has no GPU usage, which then is zero.",
			file:   "v1.108.1/hour10-ns-pod-container.json",
			query:  hour10,
			want: want{items: 16, item: Allocation{
				Name: "ml/train-resnet-7xk2m/train", Namespace: "ml", Pod: "train-resnet-7xk2m", Container: "train",
				Controller: "train-resnet", ControllerKind: "job",
				Start: at("10:00:00"), End: at("11:00:00"), Minutes: number("60"),
				CPUCores: number("1.90126"), RAMBytes: number("7417507450.98333"), GPUs: number("1"),
				SentBytes: number("1179497.28814"), RecvBytes: number("3145326.10169"),
			}},
		},
		"Idle": {
			reason: "A server may send idle cost unasked; its one name stands for every dimension.",
			file:   "hour10-idle.json",
			query:  hour10,
			want: want{items: 17, item: Allocation{
				Name: "__idle__", Namespace: "__idle__", Start: at("10:00:00"), End: at("11:00:00"), Minutes: number("60"),
			}},
		},
		"Outage": {
			reason: "In the hour of an outage every pod is there, with minutes and nothing else.",
			file:   "hour03-outage.json",
			query:  of("03:00:00", "04:00:00", hour10.Aggregate),
			want: want{items: 15, item: Allocation{
				Name: "payments/ledger-0/ledger", Namespace: "payments", Pod: "ledger-0", Container: "ledger",
				Start: at("03:00:00"), End: at("03:02:30"), Minutes: number("2.5"),
			}},
		},
		"OtherZone": {
			reason: "A server with an offset writes windows in its zone; the instants are the same. Its pods carry their uid.",
			file:   "utcoffset-poduid-hour10.json",
			query:  hour10,
			want: want{items: 18, item: Allocation{
				Name: "payments/ledger-0 1be6e88d-0000-4000-8000-000000000000/ledger", Namespace: "payments",
				Pod: "ledger-0 1be6e88d-0000-4000-8000-000000000000", Container: "ledger", Controller: "ledger", ControllerKind: "statefulset",
				Start: at("10:00:00"), End: at("11:00:00"), Minutes: number("60"),
				CPUCores: number("0.102"), RAMBytes: number("573986883.88333"), PVByteHours: number("107374182400"),
				SentBytes: number("69536952.20339"), RecvBytes: number("47411558.64407"),
			}},
		},
		"KeyWithSlash": {
			reason: "An annotation's value holds the separator: the key is not taken apart.",
			file:   "hour10-annotation-owner.json",
			query:  of("10:00:00", "11:00:00", "annotation:example.test/owner"),
			want: want{items: 2, item: Allocation{
				Name: "alice/bob", Namespace: "shop", Pod: "web-7d4b9c6f5d-k8x2p", Controller: "web", ControllerKind: "deployment",
				Start: at("10:00:00"), End: at("11:00:00"), Minutes: number("60"),
				CPUCores: number("0.43221"), RAMBytes: number("458475080.9"), PVByteHours: number("10737418240"),
				SentBytes: number("114386084.74576"), RecvBytes: number("191873433.55932"),
			}},
		},
		"EmptyKey": {
			reason: "Everything in one item has no name, and is one item.",
			file:   "hour10-all.json",
			query:  of("10:00:00", "11:00:00", "all"),
			want: want{items: 1, item: Allocation{
				Start: at("10:00:00"), End: at("11:00:00"), Minutes: number("60"),
				CPUCores: number("3.14065"), RAMBytes: number("10177662758.46695"), GPUs: number("1"), GPUUsage: number("0.52501"),
				PVByteHours: number("805306368000"), SentBytes: number("457515642.85176"), RecvBytes: number("537029767.13817"),
			}},
		},
		"Clusters": {
			reason: "Equal names of two clusters are two items when asked for by cluster.",
			file:   "hour15-two-clusters-cluster-ns-pod-container.json",
			query:  of("15:00:00", "16:00:00", "cluster,namespace,pod,container"),
			want: want{items: 17, item: Allocation{
				Name: "cluster-one/payments/ledger-0/ledger", Namespace: "payments", Pod: "ledger-0", Container: "ledger",
				Controller: "ledger", ControllerKind: "statefulset", Start: at("15:00:00"), End: at("16:00:00"), Minutes: number("60"),
				CPUCores: number("0.12945"), RAMBytes: number("722068310.36667"), PVByteHours: number("107374182400"),
				SentBytes: number("90022702.37288"), RecvBytes: number("61379115.25424"),
			}},
		},
		"NoData":       {reason: "Before anything was measured.", file: "before-data-empty-hour.json", query: hour10},
		"NoWidth":      {reason: "A window without width.", file: "zero-width-window.json", query: hour10},
		"OnlyIdle":     {reason: "A set that OpenCost has lost.", file: "nodes-only-45min-idle-null.json", query: hour10},
		"ThreeSteps":   {reason: "Not the one set that was asked for, even if each is empty.", file: "before-data-three-steps.json", query: hour10, want: want{err: ErrShape}},
		"Summary":      {reason: "The answer of another endpoint.", file: "hour10-summary.json", query: hour10, want: want{err: ErrShape}},
		"OtherStep":    {reason: "A step that does not divide the window.", file: "hours09-11-step90m.json", query: of("09:00:00", "11:00:00", "cluster"), want: want{err: ErrWindow}},
		"OtherHour":    {reason: "The answer to another question.", file: "hour10-ns-pod-container.json", query: of("09:00:00", "10:00:00", hour10.Aggregate), want: want{err: ErrWindow}},
		"EdgesOfTheir": {reason: "OpenCost's serialiser with an open window among its items.", file: "serialiser-edge-cases.json", query: hour10, want: want{err: ErrWindow}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := want{}
			all, err := collect(t, write(string(readFile(t, tc.file))), tc.query, Options{})
			got.items, got.err = len(all), err
			if at := slices.IndexFunc(all, func(a Allocation) bool { return a.Name == tc.want.item.Name }); at >= 0 {
				got.item = all[at]
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{}), cmpopts.EquateErrors()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestItem reads items made by hand, for what no recorded answer holds.
func TestItem(t *testing.T) {
	item := string(firstItem(t))

	cases := map[string]struct {
		reason string
		body   string
		pick   func(Allocation) string
		want   string
	}{
		"NestedGPUUsage": {
			reason: "Since 2025 the usage is nested; the flat member wins nothing.",
			body:   with(item, `"gpuUsageAverage":0`, `"gpuUsageAverage":0.1,"gpuAllocation":{"gpuDevice":"a","gpuUsageAverage":0.75}`),
			pick:   func(a Allocation) string { return a.GPUUsage.String() }, want: "0.75",
		},
		"NestedGPUUsageOfZero": {
			reason: "A measured zero is a measurement.",
			body:   with(item, `"gpuUsageAverage":0`, `"gpuUsageAverage":0.1,"gpuAllocation":{"gpuUsageAverage":0}`),
			pick:   func(a Allocation) string { return a.GPUUsage.String() }, want: "0",
		},
		"NoGPUAllocation": {
			reason: "Null without a GPU; the flat member is looked at.",
			body:   with(item, `"gpuUsageAverage":0`, `"gpuUsageAverage":0.1,"gpuAllocation":null`),
			pick:   func(a Allocation) string { return a.GPUUsage.String() }, want: "0.1",
		},
		"NullGPUUsage": {
			reason: "A null inside falls back as well.",
			body:   with(item, `"gpuUsageAverage":0`, `"gpuUsageAverage":0.1,"gpuAllocation":{"gpuUsageAverage":null}`),
			pick:   func(a Allocation) string { return a.GPUUsage.String() }, want: "0.1",
		},
		"Null": {
			reason: "OpenCost's form of NaN.",
			body:   with(item, `"minutes":5`, `"minutes":null`),
			pick:   func(a Allocation) string { return a.Minutes.String() }, want: "0",
		},
		"Absent": {
			reason: "Any member may be missing in some version.",
			body:   with(item, `"minutes":5,`, ``),
			pick:   func(a Allocation) string { return a.Minutes.String() }, want: "0",
		},
		"Exponent": {
			reason: "Small numbers come with one.",
			body:   with(item, `"minutes":5`, `"minutes":7e-05`),
			pick:   func(a Allocation) string { return a.Minutes.String() }, want: "0.00007",
		},
		"Negative": {
			reason: "Reported as sent (opencost#4057).",
			body:   with(item, `"minutes":5`, `"minutes":-2.45`),
			pick:   func(a Allocation) string { return a.Minutes.String() }, want: "-2.45",
		},
		"NullProperties": {
			reason: "The key says where it belongs.",
			body:   `{"code":200,"data":[{"shop/web/app":{"name":"shop/web/app","properties":null,"window":{"start":"2026-11-29T10:00:00Z","end":"2026-11-29T11:00:00Z"},"start":"2026-11-29T10:00:00Z","end":"2026-11-29T11:00:00Z"}}]}`,
			pick:   func(a Allocation) string { return a.Namespace + "|" + a.Pod + "|" + a.Container + "|" + a.Controller }, want: "shop|web|app|",
		},
		"PropertiesDisagree": {
			reason: "The key is what the row is stored under.",
			body:   with(item, `"namespace":"batch"`, `"namespace":"other"`),
			pick:   func(a Allocation) string { return a.Namespace }, want: "batch",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			all, err := collect(t, write(tc.body), hour10, Options{})
			if err != nil || len(all) != 1 {
				t.Fatalf("%d items and %v, want one item", len(all), err)
			}
			if diff := cmp.Diff(tc.want, tc.pick(all[0])); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// FuzzDecode compares with the standard library's decoder, which accepts more:
// whatever is accepted here is a document with the same items there, and every
// text in it can be stored.
func FuzzDecode(f *testing.F) {
	for _, name := range []string{"hour10-all.json", "before-data-empty-hour.json", "before-data-three-steps.json", "nodes-only-45min-idle-null.json", "zero-width-window.json", "hour10-annotation-owner.json"} {
		f.Add(readFile(f, name))
	}
	f.Add([]byte(`{"data":[{"a":{"name":"a","window":{"start":"2026-11-29T10:00:00Z","end":"2026-11-29T11:00:00Z"},"start":"2026-11-29T10:00:00Z","end":"2026-11-29T10:00:00Z"}}],"code":200}`))

	f.Fuzz(func(t *testing.T, text []byte) {
		var names []string
		err := decode(&body{from: bytes.NewReader(text), limit: DefaultMaxBytes}, hour10, func(a Allocation) bool {
			names = append(names, a.Name)
			for _, text := range []string{a.Name, a.Namespace, a.Pod, a.Container, a.Controller, a.ControllerKind} {
				if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
					t.Fatalf("%q cannot be stored", text)
				}
			}
			return true
		})
		if err != nil {
			if err.Error() == "" || !errors.Is(err, err.Kind) {
				t.Fatalf("an error that says nothing: %#v", err)
			}
			return
		}

		var reference struct {
			Code int                          `json:"code"`
			Data []map[string]json.RawMessage `json:"data"`
		}
		if err := json.Unmarshal(text, &reference); err != nil || len(reference.Data) > 1 {
			t.Fatalf("%q was accepted, against %v with %d sets", text, err, len(reference.Data))
		}
		var want []string
		for _, set := range reference.Data {
			want = slices.Sorted(maps.Keys(set))
		}
		slices.Sort(names)
		if diff := cmp.Diff(want, names, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%q: -want, +got:\n%s", text, diff)
		}
	})
}

func number(text string) decimal.Decimal {
	d, err := decimal.Parse(text)
	if err != nil {
		panic(err)
	}
	return d
}

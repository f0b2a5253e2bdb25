package opencost

import (
	"bytes"
	"errors"
	"hash/maphash"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/provider-finops/provider-finops/internal/finops/decimal"
)

// A reference is an item as the library's own decoder reads it.
type reference struct {
	Name       *string `json:"name"`
	Properties struct {
		Namespace      string `json:"namespace"`
		Pod            string `json:"pod"`
		Container      string `json:"container"`
		Controller     string `json:"controller"`
		ControllerKind string `json:"controllerKind"`
	} `json:"properties"`
	Window struct {
		Start string `json:"start"`
		End   string `json:"end"`
	} `json:"window"`
	Start string `json:"start"`
	End   string `json:"end"`

	Minutes     jsontext.Value `json:"minutes"`
	CPUCores    jsontext.Value `json:"cpuCoreUsageAverage"`
	RAMBytes    jsontext.Value `json:"ramByteUsageAverage"`
	GPUs        jsontext.Value `json:"gpuCount"`
	GPUUsage    jsontext.Value `json:"gpuUsageAverage"`
	PVByteHours jsontext.Value `json:"pvByteHours"`
	SentBytes   jsontext.Value `json:"networkTransferBytes"`
	RecvBytes   jsontext.Value `json:"networkReceiveBytes"`

	GPUAllocation struct {
		Usage jsontext.Value `json:"gpuUsageAverage"`
	} `json:"gpuAllocation"`
}

func (r reference) item() (item, error) {
	var failed error
	quantity := func(v jsontext.Value) quantity {
		if v == nil || v.Kind() == 'n' {
			return quantity{}
		}
		d, err := decimal.Parse(string(v))
		if err != nil {
			failed = err
		}
		return quantity{d, err == nil}
	}

	i := item{
		hasName:   r.Name != nil,
		namespace: []byte(r.Properties.Namespace), pod: []byte(r.Properties.Pod), container: []byte(r.Properties.Container),
		controller: []byte(r.Properties.Controller), controllerKind: []byte(r.Properties.ControllerKind),
		windowStart: []byte(r.Window.Start), windowEnd: []byte(r.Window.End), start: []byte(r.Start), end: []byte(r.End),
		minutes: quantity(r.Minutes), cpuCores: quantity(r.CPUCores), ramBytes: quantity(r.RAMBytes), gpus: quantity(r.GPUs),
		gpuUsage: quantity(r.GPUUsage), gpuNested: quantity(r.GPUAllocation.Usage), pvByteHours: quantity(r.PVByteHours),
		sentBytes: quantity(r.SentBytes), recvBytes: quantity(r.RecvBytes),
	}
	if r.Name != nil {
		i.name = []byte(*r.Name)
	}
	return i, failed
}

// FuzzItem reads whatever the tokenizer lets pass, and compares with the
// library's own decoder: the same is accepted, and it says the same.
func FuzzItem(f *testing.F) {
	for _, file := range []string{"hour10-ns-pod-container.json", "utcoffset-poduid-hour10.json", "hour10-idle.json", "hour07-nan-usage.json"} {
		var answer struct{ Data []map[string]jsontext.Value }
		if err := json.Unmarshal(readFile(f, file), &answer, json.MatchCaseInsensitiveNames(true)); err != nil {
			f.Fatal(err)
		}
		for _, item := range answer.Data[0] {
			f.Add([]byte(item))
		}
	}
	for _, text := range []string{
		`null`, `{}`, ` { } `, `[]`, `"a"`, `1`, `true`,
		`{"name":"a\"b\\","n\u0061me":1}`, `{"na\u006de":"x","start":"\n","end":null}`, `{"name":"a","nam\u0065":"b"}`,
		`{"name":null,"properties":null,"window":null,"gpuAllocation":null,"minutes":null}`,
		`{"properties":{"pod":1}}`, `{"window":[]}`, `{"minutes":"1"}`, `{"minutes":{}}`, `{"minutes":-0.5e-3,"gpuCount":1e400}`,
		`{"x":[{"a":1,"b":[true,false,null,"]}"]},{"a":[]}],"y":{"a":{"a":{}}}}`, `{"x":{"a":1,"b":2,"a":3}}`, `{"x":[{"a":1,"a":1}]}`,
		"{\t\"name\" :\r\n\"a\" , \"minutes\" : 1 }", `{"gpuAllocation":{"gpuUsageAverage":0.5,"gpuUsageAverage":1}}`, `{"":1,"":2}`,
	} {
		f.Add([]byte(text))
	}

	f.Fuzz(func(t *testing.T, text []byte) {
		d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))
		value, err := d.ReadValue()
		if err != nil {
			return
		}

		var ref reference
		wantErr := json.Unmarshal(value, &ref)
		want, rangeErr := ref.item()
		wantErr = errors.Join(wantErr, rangeErr)

		var got item
		r := reader{seed: maphash.MakeSeed()}
		r.reset(value)
		gotErr := got.read(&r)
		if r.twice && gotErr == nil {
			gotErr = errors.New("a name twice")
		}

		if (gotErr == nil) != (wantErr == nil) {
			t.Fatalf("%q: got %v, want %v", text, gotErr, wantErr)
		}
		if gotErr != nil {
			return
		}
		if len(r.left) > 0 && strings.Trim(string(r.left), " \t\r\n") != "" {
			t.Fatalf("%q: %q was not read", text, r.left)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(item{}, quantity{}), cmp.Comparer(bytes.Equal)); diff != "" {
			t.Fatalf("%q: -want, +got:\n%s", text, diff)
		}
	})
}

// BenchmarkDecode reads recorded items, over and over.
func BenchmarkDecode(b *testing.B) {
	whole := readFile(b, "hour10-ns-pod-container.json")
	var answer struct {
		Data []map[string]jsontext.Value `json:"data"`
	}
	if err := json.Unmarshal(whole, &answer); err != nil {
		b.Fatal(err)
	}
	items := len(answer.Data[0])

	b.SetBytes(int64(len(whole)))
	b.ReportAllocs()
	for b.Loop() {
		if err := decode(&body{from: bytes.NewReader(whole), limit: DefaultMaxBytes}, hour10, func(Allocation) bool { return true }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(items), "ns/item")
}

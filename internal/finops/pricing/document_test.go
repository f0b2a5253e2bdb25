package pricing

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDocument compares with golden files: the bytes decide whether other
// programs see a change.
func TestDocument(t *testing.T) {
	cases := map[string]struct {
		reason string
		book   string
		rates  Rates
	}{
		"WorkedExample": {
			reason: "The example of part 20.4: what is not set is \"0\", never a blank.",
			book:   "tariff-a",
			rates:  Rates{CPUHour: "0.025", RAMGbHour: "0.0035"},
		},
		"AllRates": {
			reason: "Rates are carried over as they are written, and networkGiB prices all three ways out.",
			book:   "all-rates",
			rates: Rates{
				CPUHour: "1.80", SpotCPUHour: "2", RAMGbHour: "003", SpotRAMGbHour: "4", PVGbHour: "5", GPUHour: "0.0", NetworkGiB: "7",
			},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			want, err := os.ReadFile(filepath.Join("testdata", tc.book+".json"))
			if err != nil {
				t.Fatal(err)
			}
			doc := Document(tc.book, tc.rates)
			got, err := EncodeDocument(doc)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s\nEncodeDocument(...): -want +got:\n%s", tc.reason, diff)
			}
			if !SameDocument(got, doc) {
				t.Errorf("%s\nSameDocument(...): a document differs from itself", tc.reason)
			}
		})
	}
}

func TestSameDocument(t *testing.T) {
	doc := Document("tariff-a", Rates{CPUHour: "0.025"})
	own, err := EncodeDocument(doc)
	if err != nil {
		t.Fatal(err)
	}

	cases := map[string]struct {
		reason string
		stored string
		want   bool
	}{
		"OtherForm":   {reason: "Another program's white space changes nothing (OPEN-PB-5).", stored: strings.NewReplacer("\n", "", "  ", " ").Replace(own), want: true},
		"OtherRate":   {reason: "A rate changed.", stored: strings.Replace(own, "0.025", "0.026", 1)},
		"OtherZero":   {reason: "Values are text: OpenCost would read the same, we do not guess.", stored: strings.Replace(own, "0.025", "0.0250", 1)},
		"MissingKey":  {reason: "Ten keys are not eleven.", stored: strings.Replace(own, "  \"GPU\": \"0\",\n", "", 1)},
		"FurtherKey":  {reason: "Twelve keys are not eleven.", stored: strings.Replace(own, "{", `{"LBIngressDataCost": "0",`, 1)},
		"NumberValue": {reason: "All values are text.", stored: strings.Replace(own, `"0.025"`, "0.025", 1)},
		"NotJSON":     {reason: "What cannot be read is different.", stored: own[1:]},
		"Nothing":     {reason: "What is not there is different."},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, SameDocument(tc.stored, doc)); diff != "" {
				t.Errorf("%s\nSameDocument(...): -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestDocumentIsWhatOpenCostReads holds a document against one that a real
// OpenCost has read: the same keys, letter by letter, and nothing but text.
// OpenCost replaces the whole of a file by built-in prices, with no more than a
// line in its log, if one value is a number.
func TestDocumentIsWhatOpenCostReads(t *testing.T) {
	file, err := os.ReadFile(filepath.Join("testdata", "opencost-default.json"))
	if err != nil {
		t.Fatal(err)
	}
	var read map[string]string
	if err := json.Unmarshal(file, &read); err != nil {
		t.Fatal(err)
	}

	for _, rate := range []string{"", "0", "0.025", "003", "0.0000004", "9223372036854.775807", strings.Repeat("9", 40)} {
		text, err := EncodeDocument(Document(`"tariff" <a> & \ é`, Rates{rate, rate, rate, rate, rate, rate, rate}))
		if err != nil {
			t.Fatal(err)
		}
		var doc map[string]string
		if err := json.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatalf("rate %q: want text under every key: %v\n%s", rate, err, text)
		}
		for key, value := range doc {
			if _, ok := read[key]; !ok {
				t.Errorf("OpenCost does not know key %q", key)
			}
			if key == "provider" || key == "description" {
				continue
			}
			if n, err := strconv.ParseFloat(value, 64); err != nil || n < 0 || math.IsInf(n, 0) {
				t.Errorf("rate %q: OpenCost cannot read %q under %q: %v", rate, value, key, err)
			}
		}
	}
}

package replay

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestOnlyInstantsMove(t *testing.T) {
	// Labels and sub-objects may be called as instants are.
	const set = `{"a/b/c":{"name":"a/b/c","properties":{"start":"2026-11-29T10:00:00Z","labels":{"end":"2026-11-29T11:00:00Z"}},` +
		`"window":{"start":"2026-11-29T10:00:00Z","end":"2026-11-29T11:00:00Z"},"start":"2026-11-29T10:02:30Z","end":"2026-11-29T11:00:00Z",` +
		`"cpuCost":7e-05,"pvs":null,"list":["start",{"end":"x"}],"text":"\"start\":\"2026-11-29T10:00:00Z\""}}`
	const want = `{"a/b/c":{"name":"a/b/c","properties":{"start":"2026-11-29T10:00:00Z","labels":{"end":"2026-11-29T11:00:00Z"}},` +
		`"window":{"start":"2027-01-01T00:00:00Z","end":"2027-01-01T01:00:00Z"},"start":"2027-01-01T00:02:30Z","end":"2027-01-01T01:00:00Z",` +
		`"cpuCost":7e-05,"pvs":null,"list":["start",{"end":"x"}],"text":"\"start\":\"2026-11-29T10:00:00Z\""}}`

	r, err := cut([]byte(set))
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := r.writeTo(&got, time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestTurn(t *testing.T) {
	anchor := time.Date(2026, 11, 29, 7, 0, 0, 0, time.UTC)
	cases := map[string]struct {
		reason string
		hours  int
		want   int
	}{
		"Anchor":      {reason: "The anchor's hour is told by the first recording.", hours: 0, want: 0},
		"Next":        {reason: "Hours that follow each other are told by recordings that do.", hours: 1, want: 1},
		"Around":      {reason: "The first recording follows the last.", hours: 6, want: 0},
		"Before":      {reason: "Before the anchor the order is the same.", hours: -1, want: 5},
		"LongBefore":  {reason: "However long before.", hours: -600, want: 0},
		"BeforeEpoch": {reason: "Even before 1970.", hours: -600001, want: 5},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := turn(anchor, anchor.Add(time.Duration(tc.hours)*time.Hour), 6)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestParseStep(t *testing.T) {
	w := window{start: recordedAt, end: recordedAt.Add(5 * time.Hour)}
	cases := map[string]struct {
		reason string
		text   string
		want   time.Duration
	}{
		"Hour":    {reason: "A Go duration is what it says.", text: "1h", want: time.Hour},
		"Days":    {reason: "Days are taken too.", text: "2d", want: 48 * time.Hour},
		"Week":    {reason: "So are weeks.", text: "1w", want: 168 * time.Hour},
		"Absent":  {reason: "Without a step there is one set.", text: "", want: 5 * time.Hour},
		"Garbage": {reason: "What cannot be read counts as absent.", text: "often", want: 5 * time.Hour},
		"Zero":    {reason: "Zero can be read, and is refused later.", text: "0", want: 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, parseStep(tc.text, w)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

package bench

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRun(t *testing.T) {
	measured := func(value, limit float64) func(context.Context, *Env) (Measure, error) {
		return func(context.Context, *Env) (Measure, error) {
			return Measure{Value: value, Limit: limit, Unit: "rows/s"}, nil
		}
	}
	cases := map[string]struct {
		reason string
		goal   Goal
		want   bool
	}{
		"FastEnough":     {"Half of the limit is at least 30 %.", Goal{Must: 0.3, Run: measured(50, 100)}, true},
		"TooSlow":        {"A fifth of the limit is not.", Goal{Must: 0.3, Run: measured(20, 100)}, false},
		"SmallEnough":    {"An upper bound is met from below.", Goal{Must: 1, AtMost: true, Run: measured(60, 64)}, true},
		"TooLarge":       {"An upper bound is broken from above.", Goal{Must: 1, AtMost: true, Run: measured(65, 64)}, false},
		"CouldNotBeRead": {"A goal that was not measured is not met.", Goal{Must: 1, AtMost: true, Run: func(context.Context, *Env) (Measure, error) { return Measure{}, errors.New("no server") }}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.goal.ID, tc.goal.Ratio = "P0", "what was measured by what is possible"
			results := Run(t.Context(), &Env{Progress: io.Discard}, []Goal{tc.goal}, func() time.Time { return time.Time{} })
			if diff := cmp.Diff(tc.want, results[0].Pass); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			var table, text bytes.Buffer
			if err := errors.Join(Table(&table, &Report{Results: results}), JSON(&text, &Report{Results: results})); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(table.String(), "P0") || !strings.Contains(text.String(), `"pass": `) {
				t.Errorf("the report leaves the goal out:\n%s\n%s", &table, &text)
			}
		})
	}
}

func TestGrowth(t *testing.T) {
	curve := func(values ...float64) Curve {
		c := Curve{Unit: "s", Of: "rows"}
		for i, n := range []int{10, 100, 1000}[:len(values)] {
			c.Points = append(c.Points, Point{N: n, Value: values[i]})
		}
		return c
	}
	cases := map[string]struct {
		reason           string
		curve            Curve
		linear, constant float64
	}{
		"InProportion": {"Ten times as many take ten times as long.", curve(1, 10, 100), 1, 100},
		"Square":       {"Where everybody looks at everybody the cost of each grows with the number.", curve(1, 100, 10_000), 10, 10_000},
		"Flat":         {"What does not depend on the number has the same value everywhere.", curve(4, 4, 4), 0.1, 1},
		"OnePoint":     {"At a scale at which all sizes are one there is nothing that grows.", curve(7), 1, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff([]float64{tc.linear, tc.constant}, []float64{tc.curve.LinearGrowth().Ratio(), tc.curve.ConstantGrowth().Ratio()}); diff != "" {
				t.Errorf("%s: linear and constant growth: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func sample() *Report {
	m := Curve{Unit: "s", Of: "rows", Points: []Point{{10, 0.01}, {100, 0.2}, {1000, 3}}}.LinearGrowth()
	return &Report{
		Began: time.Date(2026, time.March, 5, 10, 0, 0, 0, time.UTC), Took: 9 * time.Minute, Scale: 1,
		Machine: Machine{CPUs: 2, CPU: "some <CPU>", Kernel: "6.1", Go: "go1.26", Postgres: "15.18", Fsync: "on"},
		Results: []Result{
			{ID: "P1", Title: "rows & more", Means: "rows by rows", Measure: Measure{Value: 50, Limit: 100, Unit: "rows/s", Notes: []string{"a note"}}, Ratio: 0.5, Must: 0.3, Pass: true},
			{ID: "P7", Title: "nothing to write", Measure: Measure{Limit: 10, Unit: "writes"}, AtMost: true, Pass: true},
			{ID: "P9", Title: "no server", Err: "no\nserver"},
			{ID: "G2", Title: "growth", Measure: m, Ratio: m.Ratio(), Must: 1.2, AtMost: true},
		},
	}
}

// The picture is XML whatever the names are, and shows every goal and curve.
func TestPicture(t *testing.T) {
	var out bytes.Buffer
	if err := Picture(&out, sample()); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for d := xml.NewDecoder(&out); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the picture is no XML: %v", err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			seen[e.Name.Local]++
		case xml.CharData:
			for _, id := range []string{"P1", "P7", "P9", "could not be measured", "rows & more"} {
				if string(e) == id {
					seen[id]++
				}
			}
		}
	}
	want := map[string]int{"P1": 1, "P7": 1, "P9": 1, "could not be measured": 1, "rows & more": 1, "circle": 3}
	for what, n := range want {
		if seen[what] != n {
			t.Errorf("the picture has %d times %q, want %d", seen[what], what, n)
		}
	}
}

// A report goes through its file, and into a document twice, unchanged.
func TestDocument(t *testing.T) {
	var text bytes.Buffer
	if err := JSON(&text, sample()); err != nil {
		t.Fatal(err)
	}
	read, err := Read(&text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), read); diff != "" {
		t.Errorf("the report read back: -want, +got:\n%s", diff)
	}

	once, err := Rewrite([]byte("above\n"+beginMark+"\nold figures\n"+endMark+"\nbelow\n"), read)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := Rewrite(once, read)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(once), string(twice)); diff != "" {
		t.Errorf("a second time changes the document: -want, +got:\n%s", diff)
	}
	if s := string(once); !strings.HasPrefix(s, "above\n") || !strings.HasSuffix(s, "\nbelow\n") || strings.Contains(s, "old figures") || !strings.Contains(s, "| P1 | rows & more | 50 | 100 | rows/s | 0.5 | >= 0.3 | pass |") {
		t.Errorf("the document became\n%s", once)
	}
	if _, err := Rewrite([]byte("no marks"), read); err == nil {
		t.Error("a document without marks is no place for a report")
	}
}

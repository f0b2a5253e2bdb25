package bench

import (
	"bytes"
	"context"
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
			if err := errors.Join(Table(&table, results), JSON(&text, results)); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(table.String(), "P0") || !strings.Contains(text.String(), `"pass": `) {
				t.Errorf("the report leaves the goal out:\n%s\n%s", &table, &text)
			}
		})
	}
}

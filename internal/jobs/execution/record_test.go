package execution

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

func TestAddTo(t *testing.T) {
	start := time.Date(2026, 4, 1, 13, 0, 7, 900, time.UTC)
	began := metav1.NewTime(start.Truncate(time.Second))
	earlier := metav1.NewTime(start.Add(-time.Hour).Truncate(time.Second))
	old := v1alpha1.ExecutionRecord{ExecutionTime: earlier, Status: v1alpha1.ExecutionStatusSuccess, Duration: "1s"}

	cases := map[string]struct {
		reason string
		record Record
		before v1alpha1.CostJobStatus
		want   v1alpha1.CostJobStatus
	}{
		"Success": {
			reason: "The newest comes first, and all three moments move.",
			record: Record{Start: start, Duration: 41270 * time.Millisecond},
			before: v1alpha1.CostJobStatus{ExecutionHistory: []v1alpha1.ExecutionRecord{old}},
			want: v1alpha1.CostJobStatus{
				LastExecutionTime: &began, LastSuccessfulExecutionTime: &began, LastExecutionStatus: v1alpha1.ExecutionStatusSuccess,
				ExecutionHistory: []v1alpha1.ExecutionRecord{{ExecutionTime: began, Status: v1alpha1.ExecutionStatusSuccess, Duration: "41.27s"}, old},
			},
		},
		"Failure": {
			reason: "The last success stays where it was.",
			record: Record{Start: start, Duration: time.Second, Err: errors.New("cannot connect")},
			before: v1alpha1.CostJobStatus{LastSuccessfulExecutionTime: &earlier},
			want: v1alpha1.CostJobStatus{
				LastExecutionTime: &began, LastSuccessfulExecutionTime: &earlier, LastExecutionStatus: v1alpha1.ExecutionStatusFailed,
				ExecutionHistory: []v1alpha1.ExecutionRecord{{ExecutionTime: began, Status: v1alpha1.ExecutionStatusFailed, Duration: "1s", Error: "cannot connect"}},
			},
		},
		"Eleventh": {
			reason: "Ten are kept.",
			record: Record{Start: start},
			before: v1alpha1.CostJobStatus{ExecutionHistory: []v1alpha1.ExecutionRecord{old, old, old, old, old, old, old, old, old, {Duration: "2s"}}},
			want: v1alpha1.CostJobStatus{
				LastExecutionTime: &began, LastSuccessfulExecutionTime: &began, LastExecutionStatus: v1alpha1.ExecutionStatusSuccess,
				ExecutionHistory: []v1alpha1.ExecutionRecord{
					{ExecutionTime: began, Status: v1alpha1.ExecutionStatusSuccess, Duration: "0s"}, old, old, old, old, old, old, old, old, old,
				},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := tc.before
			tc.record.addTo(&got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\naddTo: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestShortened(t *testing.T) {
	if got := shortened("short", 100); got != "short" {
		t.Errorf("What is short stays as it is, got %q", got)
	}
	for _, long := range []string{strings.Repeat("x", 300), strings.Repeat("ä", 100), "x" + strings.Repeat("ä", 100), strings.Repeat(`"`, 200), strings.Repeat("<", 99), strings.Repeat("…", 99)} {
		got := shortened(long, 100)
		if quoted(got) > 100 || !utf8.ValidString(got) || !strings.HasSuffix(got, "…") || strings.HasSuffix(got, "……") != strings.HasSuffix(long, "……") {
			t.Errorf("What is long is cut between characters, got %q", got)
		}
		if again := shortened(got, 100); again != got {
			t.Errorf("What was cut stays as it is, got %q of %q", again, got)
		}
	}
}

// TestTenFailures holds the size of a status (P15): ten failures with texts as
// long and as full of quotes as they come.
func TestTenFailures(t *testing.T) {
	status := v1alpha1.CostJobStatus{Conditions: []metav1.Condition{{
		Type: "Synced", Status: metav1.ConditionTrue, Reason: "ReconcileSuccess", ObservedGeneration: 12, LastTransitionTime: metav1.Now(),
	}}}
	start := time.Date(2026, 4, 1, 13, 0, 7, 0, time.UTC)
	for n := range 12 {
		text := strings.Repeat(`cannot read "window" from <html> & `, 200)
		Record{Start: start.Add(time.Duration(n) * time.Hour), Duration: 83*time.Minute + 59999*time.Millisecond, Err: errors.New(text)}.addTo(&status)
	}
	out, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", len(out))
	if len(out) > 4096 || len(status.ExecutionHistory) != v1alpha1.MaxExecutionHistory {
		t.Errorf("a status with %d failures has %d bytes, want 10 and at most 4096", len(status.ExecutionHistory), len(out))
	}
	if newest, earlier := status.ExecutionHistory[0].Error, status.ExecutionHistory[1].Error; len(newest) < 500 || len(earlier) < 80 || !strings.HasPrefix(newest, earlier[:80]) {
		t.Errorf("the texts say too little: %q, %q", newest, earlier)
	}
}

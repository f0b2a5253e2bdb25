package execution

import (
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
	if got := shortened("short"); got != "short" {
		t.Errorf("What is short stays as it is, got %q", got)
	}
	for _, long := range []string{strings.Repeat("x", 3*maxError), strings.Repeat("ä", maxError), "x" + strings.Repeat("ä", maxError)} {
		if got := shortened(long); len(got) > maxError+len("…") || !utf8.ValidString(got) || !strings.HasSuffix(got, "…") {
			t.Errorf("What is long is cut between characters, got %d bytes, valid %t", len(got), utf8.ValidString(got))
		}
	}
}

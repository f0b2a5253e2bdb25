package v1alpha1

import (
	"strings"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestReport sets conditions on an object that already has some.
func TestReport(t *testing.T) {
	since := metav1.NewTime(time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC))
	before := metav1.Condition{
		Type: TypeReady, Status: metav1.ConditionFalse, Reason: ReasonOfferingNotFound, Message: "gone",
		ObservedGeneration: 1, LastTransitionTime: since,
	}

	cases := map[string]struct {
		reason    string
		report    func(*Subscription)
		want      metav1.Condition
		wantReady metav1.ConditionStatus
		wantMoved bool
	}{
		"Same": {
			reason: "What is known already changes nothing, but for the generation it is known for.",
			report: func(s *Subscription) { s.Report(NotReady(ReasonOfferingNotFound, "gone")) },
			want:   metav1.Condition{Type: TypeReady, Status: metav1.ConditionFalse, Reason: ReasonOfferingNotFound, Message: "gone", ObservedGeneration: 7}, wantReady: metav1.ConditionFalse,
		},
		"OtherReason": {
			reason: "Another reason for the same status is no transition.",
			report: func(s *Subscription) { s.Report(NotReady(ReasonOfferingNotReady, "soon")) },
			want:   metav1.Condition{Type: TypeReady, Status: metav1.ConditionFalse, Reason: ReasonOfferingNotReady, Message: "soon", ObservedGeneration: 7}, wantReady: metav1.ConditionFalse,
		},
		"OtherStatus": {
			reason: "Another status is one, and the mirror follows.",
			report: func(s *Subscription) { s.Report(Ready(ReasonActivationSucceeded, "")) },
			want:   metav1.Condition{Type: TypeReady, Status: metav1.ConditionTrue, Reason: ReasonActivationSucceeded, ObservedGeneration: 7}, wantReady: metav1.ConditionTrue,
			wantMoved: true,
		},
		"RuntimeMarks": {
			reason: "The runtime's generic words never touch Ready.",
			report: func(s *Subscription) {
				s.SetConditions(xpv2.Creating(), xpv2.Deleting(), xpv2.Available(), xpv2.Unavailable())
			},
			want: before, wantReady: metav1.ConditionFalse,
		},
		"RuntimeSynced": {
			reason: "Synced goes through and leaves Ready alone.",
			report: func(s *Subscription) { s.SetConditions(xpv2.ReconcileSuccess()) },
			want:   before, wantReady: metav1.ConditionFalse,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := &Subscription{ObjectMeta: metav1.ObjectMeta{Generation: 7}}
			s.Status.Conditions = []metav1.Condition{before}
			tc.report(s)

			got := s.Status.Conditions[0]
			if moved := !got.LastTransitionTime.Equal(&since); moved != tc.wantMoved {
				t.Errorf("\n%s\ntransition time moved: want %t, got %t", tc.reason, tc.wantMoved, moved)
			}
			got.LastTransitionTime, tc.want.LastTransitionTime = metav1.Time{}, metav1.Time{}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nReady: -want, +got:\n%s", tc.reason, diff)
			}
			if s.Status.Ready != tc.wantReady {
				t.Errorf("\n%s\nmirror: want %q, got %q", tc.reason, tc.wantReady, s.Status.Ready)
			}
		})
	}
}

// TestReportTwice shows that a settled object stays as it is.
func TestReportTwice(t *testing.T) {
	once := &PriceBook{ObjectMeta: metav1.ObjectMeta{Generation: 3}}
	once.Report(Ready(ReasonValidationSucceeded, ""), Demoted("a/b is active"))
	once.SetConditions(xpv2.ReconcileSuccess())

	twice := once.DeepCopy()
	twice.Report(Ready(ReasonValidationSucceeded, ""), Demoted("a/b is active"))
	twice.SetConditions(xpv2.ReconcileSuccess())

	if diff := cmp.Diff(once, twice); diff != "" {
		t.Errorf("-once, +twice:\n%s", diff)
	}
}

// TestReportLongMessage shows that an error of any length leaves the status
// writable, and that characters are not cut in two.
func TestReportLongMessage(t *testing.T) {
	j := &CostJob{}
	j.SetConditions(xpv2.ReconcileError(textError(strings.Repeat("ü", 40000))))

	got := []rune(j.Status.Conditions[0].Message)
	if len(got) != maxMessage || got[0] != 'ü' || got[maxMessage-1] != '…' {
		t.Errorf("want %d characters that end in …, got %d", maxMessage, len(got))
	}
}

type textError string

func (e textError) Error() string { return string(e) }

// TestGetCondition asks for a condition that is there and for one that is not.
func TestGetCondition(t *testing.T) {
	o := &Offering{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
	o.Report(NotReady(ReasonNoActivePricebook, "none"))

	want := xpv2.Condition{Type: "Ready", Status: "False", Reason: "NoActivePricebook", Message: "none", ObservedGeneration: 2}
	got := o.GetCondition(xpv2.TypeReady)
	got.LastTransitionTime = metav1.Time{}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Ready: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(xpv2.Condition{Type: "Synced", Status: "Unknown"}, o.GetCondition(xpv2.TypeSynced)); diff != "" {
		t.Errorf("Synced: -want, +got:\n%s", diff)
	}
}

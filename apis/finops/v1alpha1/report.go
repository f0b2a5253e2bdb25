package v1alpha1

import (
	"slices"
	"unicode/utf8"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxMessage is how many characters the API server accepts as a message.
const maxMessage = 32768

// Report sets conditions of the FinOpsProvider as of its present generation.
func (p *FinOpsProvider) Report(c ...metav1.Condition) {
	report(&p.Status.Conditions, p.Generation, c)
}

// Report sets conditions of the PriceBook as of its present generation, and the
// mirror of Ready with them.
func (b *PriceBook) Report(c ...metav1.Condition) {
	report(&b.Status.Conditions, b.Generation, c)
	b.Status.Ready = readiness(b.Status.Conditions)
}

// Report sets conditions of the CostJob as of its present generation.
func (j *CostJob) Report(c ...metav1.Condition) {
	report(&j.Status.Conditions, j.Generation, c)
}

// Report sets conditions of the Offering as of its present generation, and the
// mirror of Ready with them.
func (o *Offering) Report(c ...metav1.Condition) {
	report(&o.Status.Conditions, o.Generation, c)
	o.Status.Ready = readiness(o.Status.Conditions)
}

// Report sets conditions of the Subscription as of its present generation, and
// the mirror of Ready with them.
func (s *Subscription) Report(c ...metav1.Condition) {
	report(&s.Status.Conditions, s.Generation, c)
	s.Status.Ready = readiness(s.Status.Conditions)
}

// report stamps and sets conditions. The transition time moves only when the
// status of a condition changes, and an equal condition changes nothing at all,
// so that a settled object stays as it is.
func report(into *[]metav1.Condition, generation int64, conditions []metav1.Condition) {
	for _, c := range conditions {
		c.ObservedGeneration = generation
		c.Message = cut(c.Message)
		c.LastTransitionTime = metav1.Time{} // Filled in where it is needed.
		meta.SetStatusCondition(into, c)
	}
}

// cut shortens a message to what the API server accepts: an error that carries a
// long answer of somebody else must not make the status unwritable.
func cut(message string) string {
	if utf8.RuneCountInString(message) <= maxMessage {
		return message
	}

	return string([]rune(message)[:maxMessage-1]) + "…"
}

// readiness is the status of Ready, empty while nothing is known.
func readiness(conditions []metav1.Condition) metav1.ConditionStatus {
	if c := meta.FindStatusCondition(conditions, TypeReady); c != nil {
		return c.Status
	}

	return ""
}

// fromRuntime translates conditions of crossplane-runtime. It marks every object
// Ready=False while it creates or deletes something outside; here Ready is what
// the gates say, so those marks are dropped.
func fromRuntime(conditions []xpv2.Condition) []metav1.Condition {
	generic := []xpv2.ConditionReason{xpv2.ReasonCreating, xpv2.ReasonDeleting, xpv2.ReasonAvailable, xpv2.ReasonUnavailable}

	out := make([]metav1.Condition, 0, len(conditions))
	for _, c := range conditions {
		if c.Type == xpv2.TypeReady && slices.Contains(generic, c.Reason) {
			continue
		}
		out = append(out, metav1.Condition{
			Type:    string(c.Type),
			Status:  metav1.ConditionStatus(c.Status),
			Reason:  string(c.Reason),
			Message: c.Message,
		})
	}

	return out
}

// runtimeCondition finds a condition and translates it for crossplane-runtime.
func runtimeCondition(conditions []metav1.Condition, t xpv2.ConditionType) xpv2.Condition {
	c := meta.FindStatusCondition(conditions, string(t))
	if c == nil {
		return xpv2.Condition{Type: t, Status: corev1.ConditionUnknown}
	}

	return xpv2.Condition{
		Type:               t,
		Status:             corev1.ConditionStatus(c.Status),
		LastTransitionTime: c.LastTransitionTime,
		Reason:             xpv2.ConditionReason(c.Reason),
		Message:            c.Message,
		ObservedGeneration: c.ObservedGeneration,
	}
}

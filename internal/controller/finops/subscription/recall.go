package subscription

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// recalled is said of one that has ended without its object knowing.
const recalled = "it ended at %s, as the database knows; the object was restored from an earlier copy"

// recall tells a Subscription what is recorded of its life and the object does not
// say, because it was restored from an earlier copy. What was written once is not
// written again with another time: it would be billed twice, or for longer than it
// lived. Without a database nothing is known.
func (e *external) recall(ctx context.Context, s *v1alpha1.Subscription) {
	stored, ok, err := e.mirror.Subscription(ctx, string(s.UID))
	if err != nil || !ok {
		return // A database that is away keeps nothing from being decided.
	}
	if at := stored.ActivatedAt; differs(s.Status.ActivatedAt, at) {
		s.Status.ActivatedAt = &metav1.Time{Time: *at}
	}
	if at := stored.DeactivatedAt; differs(s.Status.DeactivatedAt, at) {
		s.Status.DeactivatedAt = &metav1.Time{Time: *at}
		s.Report(ended(v1alpha1.ReasonEndRecorded), v1alpha1.Inactive(v1alpha1.ReasonEndRecorded, fmt.Sprintf(recalled, at.UTC().Format(time.RFC3339))))
	}
}

// tellsItsLife reports whether the version that has just been mirrored agrees with
// what was recorded before.
func (e *external) tellsItsLife(ctx context.Context, uid string) bool {
	stored, ok, err := e.mirror.Subscription(ctx, uid)
	return err != nil || !ok || !differs(instant(e.next.ActivatedAt), stored.ActivatedAt) && !differs(instant(e.next.DeactivatedAt), stored.DeactivatedAt)
}

// differs reports whether something is recorded, and not what is said.
func differs(said *metav1.Time, recorded *time.Time) bool {
	return recorded != nil && (said == nil || !said.Time.Equal(*recorded))
}

func instant(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t}
}

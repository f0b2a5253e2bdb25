package subscription

import (
	"context"
	"fmt"
	"strings"
	"time"

	kmeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

const (
	// recalled is said of one that has ended without its object knowing, or at
	// another time than that knows.
	recalled = "it ended at %s, as the database knows; the object was restored from an earlier copy"

	// begun is said of one that has begun at another time than its object knows.
	begun = "it was activated at %s, as the database knows, and is charged from then on; the object was restored from an earlier copy"
)

// recall tells a Subscription what is recorded of its life and the object does not
// say, because it was restored from an earlier copy. What was written once is not
// written again with another time: it would be billed twice, or for longer than it
// lived. Without a database nothing is known.
//
// An object that has begun or ended anew, before the database could be asked, keeps
// the time that it says. It is charged by the one that is recorded, and that is
// what is returned, to be said.
func (e *external) recall(ctx context.Context, s *v1alpha1.Subscription) (note string) {
	stored, ok, err := e.mirror.Subscription(ctx, string(s.UID))
	if err != nil || !ok {
		return "" // A database that is away keeps nothing from being decided.
	}
	if at := stored.ActivatedAt; untold(s.Status.ActivatedAt, at) {
		s.Status.ActivatedAt = &metav1.Time{Time: *at}
	} else if differs(s.Status.ActivatedAt, at) {
		note = fmt.Sprintf(begun, at.UTC().Format(time.RFC3339))
	}
	if at := stored.DeactivatedAt; untold(s.Status.DeactivatedAt, at) {
		s.Status.DeactivatedAt = &metav1.Time{Time: *at}
		s.Report(ended(v1alpha1.ReasonEndRecorded), v1alpha1.Inactive(v1alpha1.ReasonEndRecorded, fmt.Sprintf(recalled, at.UTC().Format(time.RFC3339))))
	} else if differs(s.Status.DeactivatedAt, at) {
		note = fmt.Sprintf(recalled, at.UTC().Format(time.RFC3339))
	}
	return note
}

// remark adds to what is said of a Subscription what its object cannot say.
func remark(s *v1alpha1.Subscription, note string) {
	said := kmeta.FindStatusCondition(s.Status.Conditions, v1alpha1.TypeReady)
	if note == "" || said == nil || strings.HasSuffix(said.Message, note) {
		return
	}
	c := *said
	c.Message += "; " + note
	s.Report(c)
}

// tellsItsLife reports whether the object says all that was recorded before the
// version that has just been mirrored.
func (e *external) tellsItsLife(ctx context.Context, uid string) bool {
	stored, ok, err := e.mirror.Subscription(ctx, uid)
	return err != nil || !ok || !untold(instant(e.next.ActivatedAt), stored.ActivatedAt) && !untold(instant(e.next.DeactivatedAt), stored.DeactivatedAt)
}

// untold reports whether something is recorded and nothing is said.
func untold(said *metav1.Time, recorded *time.Time) bool { return recorded != nil && said == nil }

// differs reports whether something is recorded, and another is said.
func differs(said *metav1.Time, recorded *time.Time) bool {
	return recorded != nil && said != nil && !said.Time.Equal(*recorded)
}

func instant(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t}
}

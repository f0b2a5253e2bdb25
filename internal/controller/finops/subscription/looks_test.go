package subscription_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/controller/finops/subscription"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// A look is what a user sees of a Subscription: status and reason of its
// conditions, and whether its facts are stamped.
type look struct {
	Ready, Active, Deleting, Synced string
	Activated, Deactivated          bool
}

func lookAt(s *v1alpha1.Subscription) look {
	l := look{Activated: s.Status.ActivatedAt != nil, Deactivated: s.Status.DeactivatedAt != nil}
	for _, c := range s.Status.Conditions {
		text := string(c.Status) + "/" + c.Reason
		switch c.Type {
		case v1alpha1.TypeReady:
			l.Ready = text
		case v1alpha1.TypeActive:
			l.Active = text
		case v1alpha1.TypeDeleting:
			l.Deleting = text
		case v1alpha1.TypeSynced:
			l.Synced = text
		}
	}
	return l
}

const synced = "True/ReconcileSuccess"

var (
	billed = look{Ready: "True/ActivationSucceeded", Active: "True/ActivationSucceeded", Activated: true, Synced: synced}
	gone   = look{
		Ready: "False/ValidationSucceeded", Active: "False/MarkedForDeletion", Deleting: "False/WaitingForCollectionJob",
		Activated: true, Deactivated: true, Synced: synced,
	}
)

func held(reason string) look { return look{Ready: "False/" + reason, Synced: synced} }

func ended(reason string) look {
	return look{Ready: "False/ValidationSucceeded", Active: "False/" + reason, Activated: true, Deactivated: true, Synced: synced}
}

// becomes waits until a Subscription looks as wanted.
func (r *rig) becomes(s *v1alpha1.Subscription, want look) {
	r.t.Helper()
	apitest.Eventually(r.t, "the wanted look of "+s.Name, func(ctx context.Context) error {
		if err := r.Get(ctx, client.ObjectKeyFromObject(s), s); err != nil {
			return err
		}
		if diff := cmp.Diff(want, lookAt(s)); diff != "" {
			return fmt.Errorf("-want +got:\n%s\n%v", diff, s.Status.Conditions)
		}
		return nil
	})
}

// says waits until the message of a condition is the one.
func (r *rig) says(s *v1alpha1.Subscription, condition, want string) {
	r.t.Helper()
	apitest.Eventually(r.t, "what "+s.Name+" says in "+condition, func(ctx context.Context) error {
		if err := r.Get(ctx, client.ObjectKeyFromObject(s), s); err != nil {
			return err
		}
		if got := message(s, condition); got != want {
			return fmt.Errorf("want %q, got %q", want, got)
		}
		return nil
	})
}

// goes waits until a Subscription is gone.
func (r *rig) goes(s *v1alpha1.Subscription) {
	r.t.Helper()
	apitest.Eventually(r.t, "the end of "+s.Name, func(ctx context.Context) error {
		if err := r.Get(ctx, client.ObjectKeyFromObject(s), s); !kerrors.IsNotFound(err) {
			return errors.Join(err, fmt.Errorf("it waits: %s", message(s, v1alpha1.TypeDeleting)))
		}
		return nil
	})
}

// message of a condition of a Subscription.
func message(s *v1alpha1.Subscription, condition string) string {
	for _, c := range s.Status.Conditions {
		if c.Type == condition {
			return c.Message
		}
	}
	return ""
}

// resyncs waits until the controller has looked at something so many times
// more.
func (r *rig) resyncs(n float64) {
	r.t.Helper()
	before := reconciles(r.t)
	apitest.Eventually(r.t, "more reconciles", func(context.Context) error {
		if done := reconciles(r.t) - before; done < n {
			return fmt.Errorf("%v of %v", done, n)
		}
		return nil
	})
}

// reconciles is how often the controller has looked at anything so far.
func reconciles(t *testing.T) float64 {
	t.Helper()
	return apitest.ByController(t, apitest.Reconciles)[subscription.Name]
}

// A row is a version of a Subscription in the mirror.
type row struct {
	Active      bool
	Ended       bool
	Root        *string
	ParentUID   *string
	OfferingUID *string
	Tenant      *string
}

func (r *rig) rows(ctx context.Context, s *v1alpha1.Subscription) []row {
	r.t.Helper()
	rows, err := r.pool.Query(ctx, `SELECT activated_at IS NOT NULL AS active, deactivated_at IS NOT NULL AS ended,
		compatibility_root AS root, parent_uid::text AS parent_uid, offering_uid::text AS offering_uid, tenant
		FROM subscriptions WHERE uid = $1::text::uuid ORDER BY id`, string(s.UID))
	if err != nil {
		r.t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByName[row])
	if err != nil {
		r.t.Fatal(err)
	}
	return all
}

// events counts the events of ours about a Subscription, by reason.
func (r *rig) events(s *v1alpha1.Subscription) map[string]int {
	r.t.Helper()
	list := &corev1.EventList{}
	if err := r.List(r.t.Context(), list, client.InNamespace(r.ns)); err != nil {
		r.t.Fatal(err)
	}
	runtime := map[string]bool{
		"CreatedExternalResource": true, "UpdatedExternalResource": true, "DeletedExternalResource": true, "CannotObserveExternalResource": true,
	}
	got := map[string]int{}
	for _, e := range list.Items {
		if e.InvolvedObject.UID == s.UID && !runtime[e.Reason] {
			got[e.Reason] += max(1, int(e.Count))
		}
	}
	return got
}

// eventOf returns the message of an event of a Subscription.
func (r *rig) eventOf(ctx context.Context, s *v1alpha1.Subscription, reason string) (string, error) {
	list := &corev1.EventList{}
	if err := r.List(ctx, list, client.InNamespace(s.Namespace)); err != nil {
		return "", err
	}
	for i := range list.Items {
		if e := &list.Items[i]; e.InvolvedObject.UID == s.UID && e.Reason == reason {
			return e.Message, nil
		}
	}
	return "", fmt.Errorf("none of %d", len(list.Items))
}

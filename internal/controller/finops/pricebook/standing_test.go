package pricebook

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
	"github.com/provider-finops/provider-finops/internal/testkit/apitest"
)

// A standing is what a user sees of a book.
type standing struct {
	Active        bool
	ActiveReason  string
	ActiveMessage string
	Ready         metav1.ConditionStatus
	ReadyReason   string
	Synced        metav1.ConditionStatus
	Priced        bool
}

func standingOf(book *v1alpha1.PriceBook) standing {
	s := standing{Active: book.Status.Active, Ready: book.Status.Ready, Priced: book.Status.ActivePricing != nil}
	for _, c := range book.Status.Conditions {
		switch c.Type {
		case v1alpha1.TypeActive:
			s.ActiveReason, s.ActiveMessage = c.Reason, c.Message
			if (c.Status == metav1.ConditionTrue) != s.Active {
				s.ActiveReason = fmt.Sprintf("condition %s and flag %t differ", c.Status, s.Active)
			}
		case v1alpha1.TypeReady:
			s.ReadyReason = c.Reason
			if c.Status != s.Ready {
				s.ReadyReason = fmt.Sprintf("condition %s and mirror %s differ", c.Status, s.Ready)
			}
		case v1alpha1.TypeSynced:
			s.Synced = c.Status
		}
	}

	return s
}

var winner = standing{Active: true, ActiveReason: "Activated", ActiveMessage: messageActive, Ready: "True", ReadyReason: "ValidationSucceeded", Synced: "True", Priced: true}

// The reasons for a loss that tests meet.
const (
	neverAnnotated = "it holds the slot, and none is annotated as active"
	notAnnotated   = "it is annotated as active, and this one is not"
	younger        = "both are annotated as active, and it is the younger one"
	first          = "both are annotated as active and equally old, and its name comes first"
)

// older is why one annotated book loses to another, be it by a second or not.
func older(book, to *v1alpha1.PriceBook) string {
	if book.CreationTimestamp.Equal(&to.CreationTimestamp) {
		return first
	}

	return younger
}

// lost is what the owner of a book sees that has lost to another.
func (*bench) lost(book, to *v1alpha1.PriceBook, why string) standing {
	if book.Namespace != to.Namespace {
		why += "; what CostJobs of this namespace measure is priced by a book of this namespace"
	}

	return standing{
		ActiveReason: "Demoted", ActiveMessage: "PriceBook " + to.Namespace + "/" + to.Name + " is the active one: " + why,
		Ready: "True", ReadyReason: "ValidationSucceeded", Synced: "True",
	}
}

// stands returns a check of what a user sees of a book, for its newest
// generation.
func (b *bench) stands(book *v1alpha1.PriceBook, want standing) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		if err := b.c.Get(ctx, client.ObjectKeyFromObject(book), book); err != nil {
			return err
		}
		if book.Status.ObservedGeneration != book.Generation {
			return fmt.Errorf("%s: generation %d is not observed yet", book.Name, book.Generation)
		}
		if got := standingOf(book); got != want {
			return fmt.Errorf("%s: want %+v, got %+v", book.Name, want, got)
		}
		return nil
	}
}

func (b *bench) await(t *testing.T, book *v1alpha1.PriceBook, want standing) {
	t.Helper()
	apitest.Eventually(t, "the standing of "+book.Name, b.stands(book, want))
}

func (b *bench) event(t *testing.T, book *v1alpha1.PriceBook, reason string) {
	t.Helper()
	apitest.Eventually(t, "event "+reason, func(ctx context.Context) error {
		events := &corev1.EventList{}
		if err := b.c.List(ctx, events, client.InNamespace(book.Namespace)); err != nil {
			return err
		}
		for _, e := range events.Items {
			if e.InvolvedObject.Name == book.Name && e.Reason == reason {
				return nil
			}
		}
		return fmt.Errorf("no such event among %d", len(events.Items))
	})
}

func message(book *v1alpha1.PriceBook, conditionType string) string {
	if c := meta.FindStatusCondition(book.Status.Conditions, conditionType); c != nil {
		return c.Message
	}

	return ""
}

func requestFor(book *v1alpha1.PriceBook) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(book)}
}

func (b *bench) configMapOrNil(ctx context.Context) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{}
	if err := b.c.Get(ctx, client.ObjectKey{Namespace: b.opencost.Namespace, Name: ConfigMapName}, cm); err != nil {
		return nil
	}

	return cm
}

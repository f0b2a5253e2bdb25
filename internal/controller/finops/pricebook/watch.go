package pricebook

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
)

// requests is the queue of the controller.
type requests = workqueue.TypedRateLimitingInterface[reconcile.Request]

// changed lets those events of a book through that an election can depend on.
// Deletions are among them, annotations too, and the slot, in case somebody has
// moved it by hand.
func changed() predicate.Predicate {
	return predicate.Or(resource.DesiredStateChanged(), predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.PriceBook)
		after, same := e.ObjectNew.(*v1alpha1.PriceBook)

		return ok && same && before.Status.Active != after.Status.Active
	}})
}

// toBooks makes those books reconcile that an event of another one is about. The
// winner always is: when the active one is deleted, or is held by an annotation
// that pauses it, its own reconcile cannot hand on the slot. The others are told
// who has won and why, so they follow if that may be different now.
func toBooks(c client.Reader, namespaces []string) handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, _ event.CreateEvent, q requests) { enqueueAll(ctx, c, q) },
		DeleteFunc: func(ctx context.Context, _ event.DeleteEvent, q requests) { enqueueAll(ctx, c, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requests) {
			before, ok := e.ObjectOld.(*v1alpha1.PriceBook)
			after, same := e.ObjectNew.(*v1alpha1.PriceBook)
			if ok && same && candidate(before, namespaces) == candidate(after, namespaces) {
				enqueueWinner(ctx, c, namespaces, q)
				return
			}
			enqueueAll(ctx, c, q)
		},
	}
}

// toWinner makes the winner reconcile when somebody has changed OpenCost's
// pricing document.
func toWinner(c client.Reader, namespaces []string) handler.TypedEventHandler[*corev1.ConfigMap, reconcile.Request] {
	return handler.TypedFuncs[*corev1.ConfigMap, reconcile.Request]{
		CreateFunc: func(ctx context.Context, _ event.TypedCreateEvent[*corev1.ConfigMap], q requests) {
			enqueueWinner(ctx, c, namespaces, q)
		},
		UpdateFunc: func(ctx context.Context, _ event.TypedUpdateEvent[*corev1.ConfigMap], q requests) {
			enqueueWinner(ctx, c, namespaces, q)
		},
		DeleteFunc: func(ctx context.Context, _ event.TypedDeleteEvent[*corev1.ConfigMap], q requests) {
			enqueueWinner(ctx, c, namespaces, q)
		},
	}
}

func enqueueWinner(ctx context.Context, c client.Reader, namespaces []string, q requests) {
	if o, err := electFrom(ctx, c, namespaces); err == nil && o.winner != nil { // The cache does not fail once it is filled.
		q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: o.winner.Namespace, Name: o.winner.Name}})
	}
}

func enqueueAll(ctx context.Context, c client.Reader, q requests) {
	books := &v1alpha1.PriceBookList{}
	if err := c.List(ctx, books); err != nil {
		return // As above.
	}
	for i := range books.Items {
		q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: books.Items[i].Namespace, Name: books.Items[i].Name}})
	}
}
